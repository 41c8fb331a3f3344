//! Metrics of a TLS listener and its certificate.

use std::{fmt, sync::Arc};

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric},
    metrics::{
        counter::Counter,
        family::Family,
        gauge::{ConstGauge, Gauge},
    },
    registry::Registry,
};

use super::DynamicCertificate;
use crate::runtime::clock::Clock;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReloadLabels {
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct HandshakeErrorLabels {
    reason: &'static str,
}

/// Metrics of a TLS listener. A clone counts into the same metrics.
#[derive(Clone, Debug, Default)]
pub struct TlsMetrics {
    /// Open connections, with those in their handshake.
    pub connections: Gauge,
    reloads: Family<ReloadLabels, Counter>,
    handshake_errors: Family<HandshakeErrorLabels, Counter>,
}

impl TlsMetrics {
    /// Registers all of them but the expiration, which `Expiration` computes.
    pub fn register(&self, registry: &mut Registry, names: &TlsNames) {
        let of = names.listener;
        registry.register(
            names.connections,
            format!("Open TLS connections of {of}, with those in their handshake"),
            self.connections.clone(),
        );
        registry.register(
            names.reloads,
            format!("Loads of a changed certificate of {of}, by result: loaded, or kept where the previous one stays"),
            self.reloads.clone(),
        );
        registry.register(
            names.handshake_errors,
            format!("TLS handshakes of {of} that failed, by reason: untrusted (the client has another CA), not_tls, closed, timeout, version, incompatible, no_client_certificate, client_certificate, client_certificate_expired, alert, or other"),
            self.handshake_errors.clone(),
        );
    }

    pub(crate) fn reloaded(&self, result: &'static str) {
        self.reloads.get_or_create(&ReloadLabels { result }).inc();
    }

    pub(crate) fn handshake_failed(&self, reason: &'static str) {
        self.handshake_errors.get_or_create(&HandshakeErrorLabels { reason }).inc();
    }
}

/// The names of a TLS listener. Users have alerts on them: they are written out, so that they are found and stay.
#[derive(Debug)]
pub struct TlsNames {
    /// The listener, as in "the certificate of the REST API".
    pub listener: &'static str,
    /// The metric of open connections.
    pub connections: &'static str,
    /// The metric of loads of a changed certificate.
    pub reloads: &'static str,
    /// The metric of failed handshakes.
    pub handshake_errors: &'static str,
    /// The metric of the time until the certificate expires.
    pub expiration: &'static str,
    /// The readiness check of the certificate.
    pub certificate_check: &'static str,
    /// The readiness check that tries a handshake.
    pub handshake_check: &'static str,
}

/// The seconds until a certificate expires, computed for every scrape.
#[derive(Debug)]
pub(crate) struct Expiration {
    pub(crate) name: &'static str,
    pub(crate) certificate: Arc<DynamicCertificate>,
    pub(crate) clock: Clock,
}

impl Collector for Expiration {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let served = self.certificate.current();
        let seconds = served.map_or(0, |served| served.info.seconds_left(self.clock.now()));
        let gauge = ConstGauge::new(seconds);
        let metric = encoder.encode_descriptor(
            self.name,
            "Seconds until the served certificate expires; negative when it has",
            None,
            gauge.metric_type(),
        )?;
        gauge.encode(metric)
    }
}
