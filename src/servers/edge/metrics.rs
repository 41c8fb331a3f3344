//! Metrics of the node proxy.

use std::sync::Arc;

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric},
    metrics::{counter::Counter, family::Family, gauge::ConstGauge},
    registry::Registry,
};
use roster_engine::model::Resource;

use super::permissions::{CACHED, WITH_ENDPOINTS};
use crate::servers::edge::{
    cache::{edge_cache::EdgeCache, event_ring::WatchEventType},
    encoding::unencodable_objects::UnencodableObjects,
};
use crate::{kube_api::WatchMetrics, runtime::places::Places};

/// The name of the listener in metrics.
pub(super) const LISTENER: &str = "edge";

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EventLabels {
    kind: &'static str,
    r#type: &'static str,
}

/// Metrics of the node proxy. A clone counts into the same metrics.
#[derive(Clone, Debug, Default)]
pub(super) struct EdgeMetrics {
    events: Family<EventLabels, Counter>,
    pub(super) unencodable: UnencodableObjects,
    /// Of the watches of the API server.
    pub(super) upstream: WatchMetrics,
}

/// What is counted when somebody asks.
#[derive(Debug)]
struct EdgeCounts {
    cache: Arc<EdgeCache>,
    slots: Places,
}

impl EdgeMetrics {
    /// Registers all of them.
    pub(super) fn register(&self, registry: &mut Registry, cache: Arc<EdgeCache>, slots: Places) {
        registry.register("roster_edge_events_sent", "Events sent to clients", self.events.clone());
        self.unencodable.register(registry);
        self.upstream.register(registry);
        registry.register_collector(Box::new(EdgeCounts { cache, slots }));
    }

    /// Counts an event that was sent.
    pub(super) fn sent(&self, resource: Resource, kind: WatchEventType) {
        self.events.get_or_create(&EventLabels { kind: resource.plural(), r#type: kind.name() }).inc();
    }
}

impl Collector for EdgeCounts {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let watches = ConstGauge::new(i64::try_from(self.slots.held()).unwrap_or(i64::MAX));
        watches.encode(encoder.encode_descriptor(
            "roster_edge_watches",
            "Open watches of clients",
            None,
            watches.metric_type(),
        )?)?;
        let overlaid = ConstGauge::new(i64::try_from(self.cache.differing()).unwrap_or(i64::MAX));
        overlaid.encode(encoder.encode_descriptor(
            "roster_edge_overlaid_services",
            "Services whose endpoints on this node are served as the pods of the node are, not as the API server last had them",
            None,
            overlaid.metric_type(),
        )?)?;
        let mut objects = encoder.encode_descriptor(
            "roster_edge_objects",
            "Objects that clients can read",
            None,
            watches.metric_type(),
        )?;
        for resource in CACHED {
            let count = ConstGauge::new(i64::try_from(self.cache.count(resource)).unwrap_or(i64::MAX));
            count.encode(objects.encode_family(&[("kind", resource.plural())])?)?;
        }
        let mut removed = encoder.encode_descriptor(
            "roster_edge_removed_endpoints",
            "Endpoints that the scheme hides from clients of this node, by the code of the reason",
            None,
            watches.metric_type(),
        )?;
        for resource in WITH_ENDPOINTS {
            for (reason, count) in self.cache.removals(resource) {
                let count = ConstGauge::new(i64::try_from(count).unwrap_or(i64::MAX));
                count.encode(removed.encode_family(&[("kind", resource.plural()), ("reason", reason.code())])?)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode_registry;

    use super::*;
    use crate::servers::edge::{cache::scheme::EdgeScheme, tests::TestedEdge};

    #[test]
    fn what_clients_do_not_see_is_counted_by_its_reason() {
        let edge = TestedEdge::new(EdgeScheme::SuperEdge);
        let mut registry = Registry::default();
        EdgeMetrics::default().register(&mut registry, edge.cache.clone(), edge.slots.clone());
        let removed = || {
            let mut text = String::new();
            encode_registry(&mut text, &registry).unwrap();
            let lines = text.lines().filter(|line| line.starts_with("roster_edge_removed_endpoints"));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        let line = |kind: &str, reason: &str, count: u32| {
            format!(r#"roster_edge_removed_endpoints{{kind="{kind}",reason="{reason}"}} {count}"#)
        };
        assert_eq!(removed(), [line("endpointslices", "topology-label-differs", 1)]);
        // The text that clients see stays: the reason is another one.
        edge.delete(Resource::Node, "far");
        assert_eq!(removed(), [line("endpointslices", "endpoint-node-unknown", 1)]);
    }
}
