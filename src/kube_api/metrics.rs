//! Metrics of the watches of a cluster.

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{family::Family, gauge::Gauge},
    registry::Registry,
};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WatchLabels {
    kind: &'static str,
}

/// Metrics of the watches of a cluster. A clone counts into the same metrics.
#[derive(Clone, Debug, Default)]
pub struct WatchMetrics {
    stale: Family<WatchLabels, Gauge>,
}

impl WatchMetrics {
    /// Registers all of them.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "roster_cache_stale",
            "1 where the watched objects of a resource are stale: the watch has failed for a minute or more, or policies cannot be converted",
            self.stale.clone(),
        );
    }

    /// Sets whether the watched objects of a resource are stale. `kind` is the plural, as in `kubectl get`.
    pub fn stale(&self, kind: &'static str, yes: bool) {
        self.stale.get_or_create(&WatchLabels { kind }).set(yes.into());
    }
}
