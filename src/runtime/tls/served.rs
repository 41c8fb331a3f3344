//! The certificate that is served now.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use arc_swap::ArcSwapOption;
use rustls::{ServerConfig, pki_types::CertificateDer};
use tokio::{
    sync::{Notify, watch},
    time::Instant,
};

use super::{
    Facts, Pair, PairError,
    pair::{Checked, client_verifier},
};
use crate::runtime::telemetry::metrics::TlsMetrics;

/// What new connections get. Handshakes read it, sources replace it; connections that are open keep theirs.
#[derive(Debug)]
pub struct Served {
    current: ArcSwapOption<Current>,
    parts: Mutex<Parts>,
    version: watch::Sender<u64>,
    /// A client did not trust it: its caBundle may be wrong.
    refused: Notify,
    warned: Mutex<Option<Instant>>,
    metrics: TlsMetrics,
}

/// So seldom a warning is repeated: an API server may try a hundred times a second.
const SELDOM: Duration = Duration::from_mins(1);

/// What it is made of, which changes piece by piece.
#[derive(Debug, Default)]
struct Parts {
    pair: Option<Pair>,
    client_ca: Option<Vec<u8>>,
}

/// A certificate that is served.
#[derive(Debug)]
pub struct Current {
    pub(super) config: Arc<ServerConfig>,
    /// The certificate, and those between it and its CA.
    pub chain: Vec<CertificateDer<'static>>,
    /// What it says.
    pub facts: Facts,
}

impl Served {
    /// Nothing yet.
    pub fn new(metrics: TlsMetrics) -> Arc<Self> {
        Arc::new(Self {
            current: ArcSwapOption::empty(),
            parts: Mutex::default(),
            version: watch::Sender::new(0),
            refused: Notify::new(),
            warned: Mutex::default(),
            metrics,
        })
    }

    /// Serves `pair` from now on. If it is bad, what was served before stays.
    pub fn replace(&self, pair: &Pair) -> Result<(), PairError> {
        let mut parts = self.parts();
        let checked = self.count(pair.check(parts.client_ca.as_deref()))?;
        let Facts { subject, names, not_after, .. } = &checked.facts;
        tracing::info!(subject, ?names, %not_after, "certificate loaded");
        parts.pair = Some(pair.clone());
        self.publish(checked);
        Ok(())
    }

    /// Lets in only clients of `ca` from now on. If it is bad, what held before stays.
    pub fn let_in(&self, ca: &[u8]) -> Result<(), PairError> {
        let mut parts = self.parts();
        match &parts.pair {
            Some(pair) => {
                let checked = self.count(pair.check(Some(ca)))?;
                self.publish(checked);
            }
            None => drop(self.count(client_verifier(ca))?),
        }
        tracing::info!("client CA loaded");
        parts.client_ca = Some(ca.to_vec());
        Ok(())
    }

    /// What is served.
    pub fn current(&self) -> Option<Arc<Current>> {
        self.current.load_full()
    }

    /// Ready when something is served.
    pub(crate) async fn first(&self) {
        // The sender is here, so the channel is open.
        let _ = self.version.subscribe().wait_for(|v| *v > 0).await;
    }

    /// Counts what was served: says when it changes.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    /// A client does not trust what is served.
    pub(crate) fn refuse(&self) {
        self.refused.notify_one();
    }

    /// Ready when a client has not trusted what is served, since the last time that this was ready.
    pub async fn refused(&self) {
        self.refused.notified().await;
    }

    /// Whether it is time to log again what happens with every connection.
    pub(crate) fn may_warn(&self) -> bool {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let may = warned.is_none_or(|at| now.duration_since(at) >= SELDOM);
        if may {
            *warned = Some(now);
        }
        may
    }

    /// The numbers.
    pub fn metrics(&self) -> &TlsMetrics {
        &self.metrics
    }

    fn publish(&self, checked: Checked) {
        let Checked { config, chain, facts } = checked;
        self.current.store(Some(Arc::new(Current { config, chain, facts })));
        self.version.send_modify(|v| *v += 1);
    }

    fn count<T>(&self, result: Result<T, PairError>) -> Result<T, PairError> {
        self.metrics.reloaded(if result.is_ok() { "loaded" } else { "kept" });
        result
    }

    // A panic elsewhere leaves both parts as they were.
    fn parts(&self) -> MutexGuard<'_, Parts> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
