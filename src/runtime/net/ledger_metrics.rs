//! Metrics of ledgers: what was evicted and refused, by listener and resource.

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family},
    registry::Registry,
};

/// What a ledger counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct LedgerMetrics {
    /// Holders that were evicted.
    pub(super) evicted: Counter,
    /// Those that got nothing, because every other holder holds less or cannot be evicted.
    pub(super) refused: Counter,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResourceLabels {
    listener: &'static str,
    resource: &'static str,
}

/// The metrics of all ledgers of a server.
#[derive(Clone, Debug, Default)]
pub(super) struct LedgerMetricsFamily {
    evicted: Family<ResourceLabels, Counter>,
    refused: Family<ResourceLabels, Counter>,
}

impl LedgerMetricsFamily {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "roster_evictions",
            "Connections and requests that were ended because others needed what they held, by resource: connections, handshakes, requests, memory and others",
            self.evicted.clone(),
        );
        registry.register(
            "roster_refusals",
            "Connections and requests that were refused for lack of a resource, which are the same",
            self.refused.clone(),
        );
    }

    pub(super) fn of(&self, listener: &'static str, resource: &'static str) -> LedgerMetrics {
        let labels = ResourceLabels { listener, resource };
        let (evicted, refused) = (self.evicted.get_or_create(&labels), self.refused.get_or_create(&labels));
        LedgerMetrics { evicted: evicted.clone(), refused: refused.clone() }
    }
}
