//! The turns of whole clusters: a few are read at once, and clients take turns.

use std::{
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use prometheus_client::metrics::counter::Counter;
use tokio::{
    sync::oneshot,
    time::{Instant, sleep},
};

use super::RestLimits;
use crate::runtime::{
    net::{Activity, Exchange},
    workers::{WorkError, Workers},
};

/// How often a request that waits looks for one that takes too long.
const EVERY: Duration = Duration::from_millis(250);

/// The turns of whole clusters. A thread has one cluster in memory, until it has dropped it: what is read and what is dropped
/// never are more than there are threads.
#[derive(Debug)]
pub(super) struct ClusterTurns {
    workers: Workers,
    /// How long an upload may take while another request waits.
    turn: Duration,
    running: Arc<Mutex<RunningClusters>>,
    evicted: Counter,
}

#[derive(Debug, Default)]
struct RunningClusters {
    next: u64,
    /// In the order in which they began.
    all: Vec<RunningCluster>,
}

#[derive(Debug)]
struct RunningCluster {
    number: u64,
    began: Instant,
    activity: Arc<Activity>,
    is_evicted: bool,
}

impl ClusterTurns {
    /// Turns within these limits. `evicted` counts the uploads that others did not wait for.
    pub(super) fn new(limits: &RestLimits, evicted: Counter) -> Self {
        let workers = Workers::for_long_jobs(limits.cluster_requests, limits.requests);
        Self { workers, turn: limits.cluster_turn, running: Arc::default(), evicted }
    }

    /// Resolves when `work` has begun on a thread. The thread goes on with it afterwards.
    pub(super) async fn begin(
        &self,
        exchange: &Exchange,
        work: impl FnOnce() + Send + 'static,
    ) -> Result<(), WorkError> {
        let (begun, mut has_begun) = oneshot::channel();
        let (running, activity) = (self.running.clone(), exchange.activity.clone());
        // The length of the body is not known yet.
        let mut done = pin!(self.workers.run(exchange.peer, (), 0, move || {
            let _turn = Turn::begin(running, activity);
            // The receiver is gone when nobody waits any more; then the body is gone as well.
            let _ = begun.send(());
            work();
        }));
        loop {
            tokio::select! {
                biased;
                Ok(()) = &mut has_begun => return Ok(()),
                done = &mut done => return done,
                () = sleep(EVERY) => self.evict_overdue(),
            }
        }
    }

    /// Evicts the upload that has taken the longest, if it has had its time: the next turn must come.
    fn evict_overdue(&self) {
        let mut running = lock(&self.running);
        // One that was evicted ends soon: its turn is the next one.
        if running.all.iter().any(|cluster| cluster.is_evicted) {
            return;
        }
        let overdue = |cluster: &&mut RunningCluster| {
            cluster.began.elapsed() > self.turn && cluster.activity.is_evictable(Instant::now())
        };
        if let Some(cluster) = running.all.iter_mut().find(overdue) {
            cluster.is_evicted = true;
            cluster.activity.evict();
            self.evicted.inc();
        }
    }
}

/// A cluster that is being read or answered, until it is dropped.
struct Turn {
    running: Arc<Mutex<RunningClusters>>,
    number: u64,
}

impl Turn {
    fn begin(running: Arc<Mutex<RunningClusters>>, activity: Arc<Activity>) -> Self {
        let mut all = lock(&running);
        let number = all.next;
        all.next += 1;
        all.all.push(RunningCluster { number, began: Instant::now(), activity, is_evicted: false });
        drop(all);
        Self { running, number }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        lock(&self.running).all.retain(|cluster| cluster.number != self.number);
    }
}

fn lock(running: &Mutex<RunningClusters>) -> MutexGuard<'_, RunningClusters> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}
