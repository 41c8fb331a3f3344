//! The certificate that is served now.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use rustls::{ServerConfig, pki_types::CertificateDer};
use tokio::sync::watch;

use super::{Facts, Pair, PairError};
use crate::telemetry::metrics::TlsMetrics;

/// What new connections get. Handshakes read it, one writer replaces it; connections that are open keep theirs.
#[derive(Debug)]
pub struct Served {
    current: ArcSwapOption<Current>,
    version: watch::Sender<u64>,
    metrics: TlsMetrics,
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
        Arc::new(Self { current: ArcSwapOption::empty(), version: watch::Sender::new(0), metrics })
    }

    /// Serves `pair` from now on. If it is bad, what was served before stays.
    pub fn replace(&self, pair: &Pair) -> Result<(), PairError> {
        match pair.check() {
            Ok(checked) => {
                let super::pair::Checked { config, chain, facts } = checked;
                tracing::info!(
                    subject = facts.subject,
                    names = ?facts.names,
                    not_after = %facts.not_after,
                    "certificate loaded",
                );
                self.metrics.reloaded("loaded");
                self.current.store(Some(Arc::new(Current { config, chain, facts })));
                self.version.send_modify(|v| *v += 1);
                Ok(())
            }
            Err(error) => {
                self.metrics.reloaded("kept");
                Err(error)
            }
        }
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

    /// The numbers.
    pub(crate) fn metrics(&self) -> &TlsMetrics {
        &self.metrics
    }
}
