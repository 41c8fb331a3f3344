//! Numbers of the TLS listener and its certificates.

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabels {
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabels {
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ConfigurationLabels {
    configuration: String,
}

/// Numbers of the TLS listener. A clone counts into the same.
#[derive(Clone, Debug, Default)]
pub struct TlsMetrics {
    /// Open connections, with those in their handshake.
    pub connections: Gauge,
    /// Connections that ended for a new one since every place was taken, before they had an answer.
    pub displaced: Counter,
    /// Seconds until the served certificate ends; negative when it has. Set before every scrape.
    pub expiry: Gauge,
    reloads: Family<ResultLabels, Counter>,
    handshake_errors: Family<ReasonLabels, Counter>,
    mismatch: Family<ConfigurationLabels, Gauge>,
}

impl TlsMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register("roster_webhook_connections", "Open connections of the webhook", self.connections.clone());
        registry.register(
            "roster_webhook_connections_displaced",
            "Connections without an answer yet that ended for a new one, since every place was taken",
            self.displaced.clone(),
        );
        registry.register(
            "roster_certificate_expiration_seconds",
            "Seconds until the served certificate ends, negative when it has",
            self.expiry.clone(),
        );
        registry.register(
            "roster_certificate_reloads",
            "Certificates read anew: loaded, or kept since the new ones are bad",
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

    pub(crate) fn reloaded(&self, result: &'static str) {
        self.reloads.get_or_create(&ResultLabels { result }).inc();
    }

    pub(crate) fn handshake_failed(&self, reason: &'static str) {
        self.handshake_errors.get_or_create(&ReasonLabels { reason }).inc();
    }

    /// Whether a `caBundle` of the configuration does not verify the certificate.
    pub fn mismatch(&self, configuration: &str, yes: bool) {
        let labels = ConfigurationLabels { configuration: configuration.to_owned() };
        self.mismatch.get_or_create(&labels).set(yes.into());
    }
}
