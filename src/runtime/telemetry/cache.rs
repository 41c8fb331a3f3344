//! Numbers of the copy of the cluster.

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{family::Family, gauge::Gauge},
    registry::Registry,
};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindLabels {
    kind: &'static str,
}

/// Numbers of the copy of the cluster. A clone counts into the same.
#[derive(Clone, Debug, Default)]
pub struct CacheMetrics {
    stale: Family<KindLabels, Gauge>,
}

impl CacheMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "roster_cache_stale",
            "1 where the copy of a kind is old: its watch has failed for a minute or more, or policies cannot be converted",
            self.stale.clone(),
        );
    }

    /// Whether what is kept of a kind is old. The kind is a plural, as in `kubectl get`.
    pub fn stale(&self, kind: &'static str, yes: bool) {
        self.stale.get_or_create(&KindLabels { kind }).set(yes.into());
    }
}
