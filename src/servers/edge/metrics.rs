//! Metrics of the node proxy.

use std::fmt;

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric},
    metrics::{MetricType, counter::Counter, family::Family, gauge::ConstGauge},
    registry::Registry,
};
use roster_engine::{model::Resource, reason::Reason};

use super::{
    part::TLS,
    permissions::{CACHED, WITH_ENDPOINTS},
};
use crate::servers::edge::{
    cache::{edge_cache::EdgeCache, event_ring::WatchEventType},
    encoding::unencodable_objects::UnencodableObjects,
};
use crate::{
    kube_api::WatchMetrics,
    runtime::{
        net::{Health, TlsOptions},
        places::Places,
    },
};

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
pub(super) struct EdgeCounts {
    watches: usize,
    overlaid: usize,
    objects: Vec<(Resource, usize)>,
    removed: Vec<(Resource, Reason, usize)>,
}

impl EdgeCounts {
    /// The counts of a cache and of the watches of clients.
    pub(super) fn of(cache: &EdgeCache, watches: &Places) -> Self {
        let removals = |resource| cache.removals(resource).into_iter().map(move |(why, count)| (resource, why, count));
        Self {
            watches: watches.held(),
            overlaid: cache.differing(),
            objects: CACHED.into_iter().map(|resource| (resource, cache.count(resource))).collect(),
            removed: WITH_ENDPOINTS.into_iter().flat_map(removals).collect(),
        }
    }

    fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        for (name, help, count) in [
            ("roster_edge_watches", "Open watches of clients", self.watches),
            (
                "roster_edge_overlaid_services",
                "Services whose endpoints on this node are served as the pods of the node are, not as the API server last had them",
                self.overlaid,
            ),
        ] {
            gauge(count).encode(encoder.encode_descriptor(name, help, None, MetricType::Gauge)?)?;
        }
        let help = "Objects that clients can read";
        let mut objects = encoder.encode_descriptor("roster_edge_objects", help, None, MetricType::Gauge)?;
        for (resource, count) in &self.objects {
            gauge(*count).encode(objects.encode_family(&[("kind", resource.plural())])?)?;
        }
        let help = "Endpoints that the scheme hides from clients of this node, by the code of the reason (see roster explain CODE)";
        let mut removed = encoder.encode_descriptor("roster_edge_removed_endpoints", help, None, MetricType::Gauge)?;
        for (resource, reason, count) in &self.removed {
            let labels = [("kind", resource.plural()), ("reason", reason.code())];
            gauge(*count).encode(removed.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

fn gauge(count: usize) -> ConstGauge<i64> {
    ConstGauge::new(i64::try_from(count).unwrap_or(i64::MAX))
}

/// Counts when somebody asks.
struct EdgeCounter<F>(F);

impl<F> fmt::Debug for EdgeCounter<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EdgeCounter")
    }
}

impl<F: Fn() -> EdgeCounts + Send + Sync + 'static> Collector for EdgeCounter<F> {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        (self.0)().encode(&mut encoder)
    }
}

impl EdgeMetrics {
    /// Registers all of them.
    pub(super) fn register(&self, registry: &mut Registry, counts: impl Fn() -> EdgeCounts + Send + Sync + 'static) {
        registry.register("roster_edge_events_sent", "Events sent to clients", self.events.clone());
        self.unencodable.register(registry);
        self.upstream.register(registry);
        registry.register_collector(Box::new(EdgeCounter(counts)));
    }

    /// Counts an event that was sent.
    pub(super) fn sent(&self, resource: Resource, kind: WatchEventType) {
        self.events.get_or_create(&EventLabels { kind: resource.plural(), r#type: kind.name() }).inc();
    }
}

/// Registers all metrics of a node proxy, each with a value: for their documentation.
pub fn example_metrics(health: &Health) {
    let metrics = EdgeMetrics::default();
    health.metrics.register(|registry| {
        metrics.register(registry, || EdgeCounts {
            watches: 0,
            overlaid: 0,
            objects: vec![(Resource::Service, 0)],
            removed: vec![(Resource::EndpointSlice, Reason::EndpointNodeUnknown, 0)],
        });
    });
    metrics.sent(Resource::Service, WatchEventType::Added);
    metrics.unencodable.example();
    metrics.upstream.stale(Resource::Service.plural(), false);
    TlsOptions::example(&TLS, health);
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
        let (cache, slots) = (edge.cache.clone(), edge.slots.clone());
        EdgeMetrics::default().register(&mut registry, move || EdgeCounts::of(&cache, &slots));
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
