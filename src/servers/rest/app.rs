//! What the requests of one REST server share.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::{RestLimits, metrics::RestMetrics};
use crate::runtime::net::Health;

/// What the requests of one REST server share: limits, metrics, and the permits behind the limits.
#[derive(Debug)]
pub struct RestApp {
    /// The limits of a request.
    pub limits: RestLimits,
    /// What the handlers count.
    pub metrics: RestMetrics,
    /// Readiness and all metrics of the server.
    pub health: Health,
    pub(super) requests: Arc<Semaphore>,
    pub(super) large: Arc<Semaphore>,
    /// Mebibytes that bodies may still take in memory.
    pub(super) memory: Arc<Semaphore>,
    pub(super) cluster_requests: Arc<Semaphore>,
}

impl RestApp {
    /// An app with these limits. It registers its metrics with `health`.
    pub fn new(limits: RestLimits, health: Health) -> Arc<Self> {
        let metrics = RestMetrics::default();
        health.metrics.register(|registry| metrics.register(registry));
        Arc::new(Self {
            requests: Arc::new(Semaphore::new(limits.requests)),
            large: Arc::new(Semaphore::new(limits.large)),
            memory: Arc::new(Semaphore::new(limits.memory())),
            cluster_requests: Arc::new(Semaphore::new(limits.cluster_requests)),
            metrics,
            health,
            limits,
        })
    }
}
