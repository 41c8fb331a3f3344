//! The TLS of a listener: its certificate, the files behind it, and its names.

use std::sync::Arc;

use super::{health::Health, tasks::Tasks};
use crate::runtime::{
    clock::Clock,
    tls::{
        CertificateFileError, CertificateFiles, DynamicCertificate, Expiration, TlsFiles, TlsMetrics, TlsNames,
        TlsProbe,
    },
};

/// The TLS of a listener.
#[derive(Clone, Debug)]
pub struct TlsOptions {
    /// The certificate of the listener.
    pub certificate: Arc<DynamicCertificate>,
    /// The time against which readiness and metrics check the certificate.
    pub clock: Clock,
    pub(super) names: &'static TlsNames,
    pub(super) probe: Arc<TlsProbe>,
}

impl TlsOptions {
    /// TLS with this certificate.
    pub fn new(certificate: Arc<DynamicCertificate>, names: &'static TlsNames, clock: Clock) -> Self {
        Self { certificate, clock, names, probe: Arc::default() }
    }

    /// TLS without a certificate yet. Its metrics are those of the server.
    pub fn registered(names: &'static TlsNames, clock: &Clock, health: &Health) -> Self {
        let metrics = TlsMetrics::default();
        let tls = Self::new(DynamicCertificate::new(metrics.clone()), names, clock.clone());
        let expiration =
            Expiration { name: names.expiration, certificate: tls.certificate.clone(), clock: clock.clone() };
        health.metrics.register(|registry| {
            metrics.register(registry, names);
            registry.register_collector(Box::new(expiration));
        });
        tls
    }

    /// The same with the certificate in `files`, and the tasks that load them again at every change.
    pub async fn of_files(
        files: &TlsFiles,
        names: &'static TlsNames,
        clock: &Clock,
        health: &Health,
        tasks: &mut Tasks,
    ) -> Result<Self, CertificateFileError> {
        let tls = Self::registered(names, clock, health);
        let TlsFiles { certificate, key, client_ca } = files.clone();
        // Before the certificate: without one, no connection is accepted.
        if let Some(client_ca) = client_ca {
            tls.load(CertificateFiles::ClientCa(client_ca), tasks).await?;
        }
        tls.load(CertificateFiles::KeyPair { certificate, key }, tasks).await?;
        Ok(tls)
    }

    /// The same for the documentation of metrics: each of them has a value.
    pub(crate) fn example(names: &'static TlsNames, health: &Health) {
        let tls = Self::registered(names, &Clock::system(), health);
        let metrics = tls.certificate.metrics();
        metrics.reloaded("loaded");
        metrics.handshake_failed("untrusted");
        drop(health.evictions(names.listener, "connections"));
    }

    /// Loads files now, and again at every change.
    pub async fn load(&self, files: CertificateFiles, tasks: &mut Tasks) -> Result<(), CertificateFileError> {
        let contents = match files {
            CertificateFiles::KeyPair { .. } => "certificate",
            CertificateFiles::ClientCa(_) => "client CA",
        };
        let watch = files.serve(self.certificate.clone()).await?;
        tasks.endless(format!("the watch of the {contents} of {}", self.names.listener), watch);
        Ok(())
    }
}
