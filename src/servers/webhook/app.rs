//! What the reviews of one webhook share.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::{AdmissionMetrics, FailureMode, SettingsSource, WebhookLimits, body::BodyMemory};
use crate::admission::Knowledge;

/// What the reviews of one webhook share.
pub struct Webhook {
    pub(super) cluster: Arc<dyn Knowledge>,
    pub(super) settings: Arc<dyn SettingsSource>,
    pub(super) metrics: AdmissionMetrics,
    pub(super) limits: WebhookLimits,
    pub(super) failure_mode: FailureMode,
    pub(super) large: WorkQueue,
    pub(super) conversions: WorkQueue,
    pub(super) memory: BodyMemory,
}

/// A limit of concurrent work, with a bounded queue.
pub(super) struct WorkQueue {
    /// The permits of work that is computed.
    pub(super) workers: Arc<Semaphore>,
    /// The permits of work that is computed or waits.
    pub(super) places: Arc<Semaphore>,
}

impl WorkQueue {
    fn new(at_once: usize, waiting: usize) -> Self {
        Self { workers: Arc::new(Semaphore::new(at_once)), places: Arc::new(Semaphore::new(at_once + waiting)) }
    }
}

impl std::fmt::Debug for Webhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Webhook").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl Webhook {
    /// A webhook that knows `cluster` and takes its settings from `settings`.
    pub fn new(
        cluster: Arc<dyn Knowledge>,
        settings: Arc<dyn SettingsSource>,
        metrics: AdmissionMetrics,
        limits: WebhookLimits,
        failure_mode: FailureMode,
    ) -> Arc<Self> {
        let large = WorkQueue::new(limits.large, limits.queue);
        let conversions = WorkQueue::new(limits.conversions, limits.queue);
        let memory = BodyMemory::new(limits.memory);
        Arc::new(Self { cluster, settings, metrics, limits, failure_mode, large, conversions, memory })
    }
}
