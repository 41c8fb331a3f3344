//! The metric of `caBundle`s that do not verify the certificate.

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{family::Family, gauge::Gauge},
    registry::Registry,
};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ConfigurationLabels {
    configuration: String,
}

/// Whether the `caBundle`s of each configuration verify the certificate. A clone counts into the same metric.
#[derive(Clone, Debug, Default)]
pub(super) struct BundleMetrics {
    mismatch: Family<ConfigurationLabels, Gauge>,
}

impl BundleMetrics {
    /// Registers it.
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "roster_ca_bundle_mismatch",
            "1 where the caBundle of a configuration does not verify the served certificate",
            self.mismatch.clone(),
        );
    }

    /// Sets whether a `caBundle` of the configuration does not verify the certificate.
    pub(super) fn mismatch(&self, configuration: &str, yes: bool) {
        let labels = ConfigurationLabels { configuration: configuration.to_owned() };
        self.mismatch.get_or_create(&labels).set(yes.into());
    }
}
