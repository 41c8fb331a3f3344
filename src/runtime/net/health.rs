//! The health of a server: whether it accepts requests, its metrics, and the ledgers of what is scarce.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use prometheus_client::metrics::counter::Counter;
use tokio::sync::watch;

use super::{
    ledger::{Ledger, LedgerLimits},
    ledger_metrics::LedgerMetricsFamily,
    standings::Standings,
    tasks::Tasks,
};
use crate::runtime::{
    clock::Clock,
    telemetry::{
        registry::MetricsRegistry,
        traces::{TraceExporter, TraceOptions, Tracer},
    },
};

/// What a server tells about itself: whether it accepts requests, its metrics, and its traces. A clone shares them.
#[derive(Clone, Debug)]
pub struct Health {
    running: Arc<watch::Sender<bool>>,
    /// The metrics of the server.
    pub metrics: Arc<MetricsRegistry>,
    /// Makes the spans of the server, if it sends traces.
    pub(crate) tracer: Tracer,
    ledgers: LedgerMetricsFamily,
    /// By listener: who may call the REST API without a certificate must not earn a standing with the webhook.
    standings: Arc<Mutex<BTreeMap<&'static str, Standings>>>,
}

impl Default for Health {
    fn default() -> Self {
        let (running, metrics, ledgers) =
            (Arc::default(), Arc::<MetricsRegistry>::default(), LedgerMetricsFamily::default());
        metrics.register(|registry| ledgers.register(registry));
        Self { running, metrics, tracer: Tracer::default(), ledgers, standings: Arc::default() }
    }
}

impl Health {
    /// The health of a server that sends traces if there are options for them, with the task that sends them.
    pub fn with_traces(options: Option<&TraceOptions>, clock: &Clock) -> anyhow::Result<(Self, Tasks)> {
        let (mut health, mut tasks) = (Self::default(), Tasks::default());
        if let Some(options) = options {
            let (tracer, exporter) = TraceExporter::new(options.clone(), clock, &health.metrics)?;
            health.tracer = tracer;
            tasks.endless("the sending of traces", exporter.run());
        }
        Ok((health, tasks))
    }

    /// A ledger of `total` of a resource of a listener, which counts what it evicts and refuses.
    pub(crate) fn ledger(&self, listener: &'static str, resource: &'static str, total: u64) -> Ledger {
        self.ledger_of(listener, resource, LedgerLimits::of(total))
    }

    /// The same with limits of its own.
    pub(super) fn ledger_of(&self, listener: &'static str, resource: &'static str, limits: LedgerLimits) -> Ledger {
        Ledger::new(limits, self.standings(listener), self.ledgers.of(listener, resource))
    }

    /// The counter of what is evicted for want of a resource of a listener.
    pub(crate) fn evictions(&self, listener: &'static str, resource: &'static str) -> Counter {
        self.ledgers.of(listener, resource).evicted
    }

    /// The standings of the peers of a listener.
    pub(super) fn standings(&self, listener: &'static str) -> Standings {
        self.standings.lock().unwrap_or_else(PoisonError::into_inner).entry(listener).or_default().clone()
    }

    /// Whether the server accepts requests: from the first accept to the begin of the shutdown.
    pub fn is_running(&self) -> bool {
        *self.running.borrow()
    }

    /// Resolves when the shutdown begins: for responses that would not end by themselves.
    pub(crate) fn stopping(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut running = self.running.subscribe();
        // Now, and not when the future is polled first: the shutdown may begin before.
        let is_running = *running.borrow();
        async move {
            // The sender is part of this health, which may be gone: then nothing stops any more.
            if (!is_running && running.wait_for(|running| *running).await.is_err())
                || running.wait_for(|running| !running).await.is_err()
            {
                std::future::pending::<()>().await;
            }
        }
    }

    pub(crate) fn set_running(&self, running: bool) {
        self.running.send_replace(running);
    }
}
