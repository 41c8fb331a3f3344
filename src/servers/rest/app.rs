//! What the requests of one REST server share.

use std::sync::Arc;

use super::{RestLimits, cluster_turns::ClusterTurns, live::LiveCluster, metrics::RestMetrics};
use crate::runtime::{
    net::{Health, Ledger},
    workers::Workers,
};

/// The name of the REST listener in metrics.
pub(super) const LISTENER: &str = "rest";

/// What the requests of one REST server share: limits, metrics, and what is scarce.
#[derive(Debug)]
pub struct RestApp {
    /// The limits of a request.
    pub limits: RestLimits,
    /// What the handlers count.
    pub metrics: RestMetrics,
    /// Readiness and all metrics of the server.
    pub health: Health,
    /// The threads that compute.
    pub(super) workers: Workers,
    /// The memory of bodies and responses.
    pub(super) memory: Ledger,
    /// The memory of the objects in bodies.
    pub(super) object_memory: Ledger,
    /// The turns of whole clusters.
    pub(super) cluster_turns: ClusterTurns,
    /// The cluster that the page shows, if it shows one.
    pub(super) live: Option<LiveCluster>,
}

impl RestApp {
    /// An app with these limits. It registers its metrics with `health`.
    pub fn new(limits: RestLimits, health: Health) -> Arc<Self> {
        Self::with_cluster(limits, health, None)
    }

    /// The same, with a cluster that the page shows.
    pub(super) fn with_cluster(limits: RestLimits, health: Health, live: Option<LiveCluster>) -> Arc<Self> {
        let metrics = RestMetrics::default();
        health.metrics.register(|registry| metrics.register(registry));
        Arc::new(Self {
            workers: Workers::new(limits.threads, limits.requests),
            memory: health.ledger(LISTENER, "memory", limits.memory as u64),
            object_memory: health.ledger(LISTENER, "objects", limits.object_memory as u64),
            cluster_turns: ClusterTurns::new(&limits, health.evictions(LISTENER, "clusters")),
            live,
            metrics,
            health,
            limits,
        })
    }
}
