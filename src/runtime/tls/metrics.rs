//! Metrics of a TLS listener and its certificate.

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReloadLabels {
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct HandshakeErrorLabels {
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ConfigurationLabels {
    configuration: String,
}

/// Metrics of a TLS listener. A clone counts into the same metrics.
#[derive(Clone, Debug, Default)]
pub struct TlsMetrics {
    /// Open connections, with those in their handshake.
    pub connections: Gauge,
    reloads: Family<ReloadLabels, Counter>,
    handshake_errors: Family<HandshakeErrorLabels, Counter>,
    mismatch: Family<ConfigurationLabels, Gauge>,
}

impl TlsMetrics {
    /// Registers all metrics of the webhook but the expiration, which `Expiration` computes.
    pub fn register(&self, registry: &mut Registry) {
        registry.register("roster_webhook_connections", "Open connections of the webhook", self.connections.clone());
        registry.register(
            "roster_certificate_reloads",
            "Loads of a changed certificate, by result: loaded, or kept where the previous one stays",
            self.reloads.clone(),
        );
        registry.register(
            "roster_tls_handshake_errors",
            "TLS handshakes that failed, by reason",
            self.handshake_errors.clone(),
        );
        registry.register(
            "roster_ca_bundle_mismatch",
            "1 where the caBundle of a configuration does not verify the served certificate",
            self.mismatch.clone(),
        );
    }

    /// Registers those of the REST API.
    pub fn register_rest(&self, registry: &mut Registry) {
        self.register_of(registry, "rest", "the REST API");
    }

    /// Registers those of the node proxy.
    pub fn register_edge(&self, registry: &mut Registry) {
        self.register_of(registry, "edge", "the node proxy");
    }

    fn register_of(&self, registry: &mut Registry, name: &str, of: &str) {
        registry.register(
            format!("roster_{name}_connections"),
            format!("Open TLS connections of {of}"),
            self.connections.clone(),
        );
        registry.register(
            format!("roster_{name}_certificate_reloads"),
            format!("Loads of a changed certificate of {of}, by result: loaded, or kept where the previous one stays"),
            self.reloads.clone(),
        );
        registry.register(
            format!("roster_{name}_tls_handshake_errors"),
            format!("TLS handshakes of {of} that failed, by reason"),
            self.handshake_errors.clone(),
        );
    }

    pub(crate) fn reloaded(&self, result: &'static str) {
        self.reloads.get_or_create(&ReloadLabels { result }).inc();
    }

    pub(crate) fn handshake_failed(&self, reason: &'static str) {
        self.handshake_errors.get_or_create(&HandshakeErrorLabels { reason }).inc();
    }

    /// Sets whether a `caBundle` of the configuration does not verify the certificate.
    pub fn mismatch(&self, configuration: &str, yes: bool) {
        let labels = ConfigurationLabels { configuration: configuration.to_owned() };
        self.mismatch.get_or_create(&labels).set(yes.into());
    }
}
