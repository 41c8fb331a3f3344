//! The certificate that a listener serves, which changes without a restart.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use arc_swap::ArcSwapOption;
use jiff::Timestamp;
use rustls::{ServerConfig, pki_types::CertificateDer, server::danger::ClientCertVerifier};
use tokio::{
    sync::{Notify, watch},
    time::Instant,
};

use super::{
    CertificateInfo, CertificateKeyPair, KeyPairError, TlsMetrics, client_ca::ClientCa, client_chain::ClientChain,
    key_pair::LoadedKeyPair,
};

/// How often a warning is repeated at most: an API server may retry a hundred times a second.
const WARNING_INTERVAL: Duration = Duration::from_mins(1);

/// The certificate that new connections get. Handshakes read it, sources replace it; open connections keep theirs.
#[derive(Debug)]
pub struct DynamicCertificate {
    current: ArcSwapOption<ServedCertificate>,
    parts: Mutex<CertificateParts>,
    version: watch::Sender<u64>,
    /// A client did not trust the certificate: its caBundle may be wrong.
    untrusted: Notify,
    warned: Mutex<Option<Instant>>,
    metrics: TlsMetrics,
}

/// What the TLS configuration is built from; each part changes on its own.
#[derive(Debug, Default)]
struct CertificateParts {
    key_pair: Option<CertificateKeyPair>,
    client_ca: Option<ClientCa>,
}

/// A certificate that is served.
#[derive(Debug)]
pub struct ServedCertificate {
    pub(super) config: Arc<ServerConfig>,
    client_verifier: Option<Arc<dyn ClientCertVerifier>>,
    /// The certificate, and those between it and its CA.
    pub chain: Vec<CertificateDer<'static>>,
    /// What the certificate contains.
    pub info: CertificateInfo,
}

impl DynamicCertificate {
    /// No certificate yet.
    pub fn new(metrics: TlsMetrics) -> Arc<Self> {
        Arc::new(Self {
            current: ArcSwapOption::empty(),
            parts: Mutex::default(),
            version: watch::Sender::new(0),
            untrusted: Notify::new(),
            warned: Mutex::default(),
            metrics,
        })
    }

    /// Serves `key_pair` from now on. If it cannot be served, the previous certificate stays.
    pub fn replace(&self, key_pair: &CertificateKeyPair) -> Result<(), KeyPairError> {
        let mut parts = self.parts();
        let loaded = self.count(key_pair.load(parts.client_ca.as_ref()))?;
        let CertificateInfo { subject, names, not_after, .. } = &loaded.info;
        tracing::info!(subject, ?names, %not_after, "certificate loaded");
        parts.key_pair = Some(key_pair.clone());
        self.publish(loaded);
        Ok(())
    }

    /// Accepts clients with a certificate of `ca` from now on. If it cannot be read, the previous CA stays.
    pub(super) fn set_client_ca(&self, ca: ClientCa) -> Result<(), KeyPairError> {
        let mut parts = self.parts();
        match &parts.key_pair {
            Some(key_pair) => {
                let loaded = self.count(key_pair.load(Some(&ca)))?;
                self.publish(loaded);
            }
            None => drop(self.count(ca.verifier())?),
        }
        tracing::info!("client CA loaded");
        parts.client_ca = Some(ca);
        Ok(())
    }

    /// Whether a client with this certificate could connect at `now`; if not, why.
    pub(crate) fn verify_client(&self, client: &ClientChain, now: Timestamp) -> Result<(), String> {
        let current = self.current().ok_or("no certificate is served")?;
        let verifier = current.client_verifier.as_deref().ok_or("client certificates are not accepted")?;
        client.verify(verifier, now)
    }

    /// The certificate that is served now.
    pub fn current(&self) -> Option<Arc<ServedCertificate>> {
        self.current.load_full()
    }

    /// Resolves when there is a certificate.
    pub(crate) async fn first(&self) {
        // The sender is in `self`, so the channel is open.
        let _ = self.version.subscribe().wait_for(|v| *v > 0).await;
    }

    /// The number of certificates served so far: it changes with every new one.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    /// Reports that a client does not trust the certificate.
    pub(crate) fn report_untrusted(&self) {
        self.untrusted.notify_one();
    }

    /// Resolves when a client has not trusted the certificate since this last resolved.
    pub async fn untrusted(&self) {
        self.untrusted.notified().await;
    }

    /// Whether it is time to log again what happens with every connection.
    pub(crate) fn may_warn(&self) -> bool {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let may = warned.is_none_or(|at| now.duration_since(at) >= WARNING_INTERVAL);
        if may {
            *warned = Some(now);
        }
        may
    }

    /// The metrics of the listener.
    pub fn metrics(&self) -> &TlsMetrics {
        &self.metrics
    }

    fn publish(&self, loaded: LoadedKeyPair) {
        let LoadedKeyPair { config, chain, info, client_verifier } = loaded;
        self.current.store(Some(Arc::new(ServedCertificate { config, client_verifier, chain, info })));
        self.version.send_modify(|v| *v += 1);
    }

    fn count<T>(&self, result: Result<T, KeyPairError>) -> Result<T, KeyPairError> {
        self.metrics.reloaded(if result.is_ok() { "loaded" } else { "kept" });
        result
    }

    // A panic elsewhere leaves both parts as they were.
    fn parts(&self) -> MutexGuard<'_, CertificateParts> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
