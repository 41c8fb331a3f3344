//! The turns of whole clusters: a few are read at once, and clients take turns.

use std::{
    pin::pin,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use prometheus_client::metrics::counter::Counter;
use tokio::time::{Instant, sleep};

use super::RestLimits;
use crate::runtime::{
    background_thread,
    net::{Activity, Exchange},
    places::{NoPlace, Place, PlaceShare, Places},
};

/// How often a request that waits looks for one that takes too long.
const EVERY: Duration = Duration::from_millis(250);

/// The turns of whole clusters. A place has one cluster in memory, until it has dropped it: what is read and what is dropped
/// never are more than there are places.
#[derive(Debug)]
pub(super) struct ClusterTurns {
    places: Places,
    /// How long an upload may take while another request waits.
    turn: Duration,
    /// In the order in which they began.
    running: Mutex<Vec<Weak<RunningCluster>>>,
    evicted: Counter,
}

/// A cluster that is being read or answered, until it is dropped.
#[derive(Debug)]
struct RunningCluster {
    began: Instant,
    activity: Arc<Activity>,
    /// The next one begins when this is dropped.
    _place: Place,
}

impl ClusterTurns {
    /// Turns within these limits. `evicted` counts the uploads that others did not wait for.
    pub(super) fn new(limits: &RestLimits, evicted: Counter) -> Self {
        let places = Places::new(limits.cluster_requests, limits.requests, PlaceShare::All);
        Self { places, turn: limits.cluster_turn, running: Mutex::default(), evicted }
    }

    /// Resolves when `work` begins on a thread. The thread goes on with it afterwards.
    pub(super) async fn begin(&self, exchange: &Exchange, work: impl FnOnce() + Send + 'static) -> Result<(), NoPlace> {
        // The length of the body is not known yet.
        let mut place = pin!(self.places.wait(exchange.peer, (), 1));
        let place = loop {
            tokio::select! {
                biased;
                place = &mut place => break place?,
                () = sleep(EVERY) => self.evict_overdue(),
            }
        };
        let running =
            Arc::new(RunningCluster { began: Instant::now(), activity: exchange.activity.clone(), _place: place });
        self.running(|all| all.push(Arc::downgrade(&running)));
        let job = move || {
            let _held = running;
            work();
        };
        if let Err(error) = background_thread::spawn("roster-cluster", job) {
            tracing::error!(%error, "there is no thread for a cluster");
        }
        Ok(())
    }

    /// Evicts the upload that has taken the longest, if it has had its time: the next turn must come.
    fn evict_overdue(&self) {
        let running: Vec<Arc<RunningCluster>> = self.running(|all| all.iter().filter_map(Weak::upgrade).collect());
        // One that was evicted ends soon: its turn is the next one.
        if running.iter().any(|cluster| cluster.activity.is_evicted()) {
            return;
        }
        let now = Instant::now();
        let is_overdue = |cluster: &&Arc<RunningCluster>| {
            now.duration_since(cluster.began) > self.turn && cluster.activity.is_evictable(now)
        };
        if let Some(cluster) = running.iter().find(is_overdue) {
            cluster.activity.evict();
            self.evicted.inc();
        }
    }

    fn running<T>(&self, use_them: impl FnOnce(&mut Vec<Weak<RunningCluster>>) -> T) -> T {
        let mut all = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|cluster| cluster.strong_count() > 0);
        use_them(&mut all)
    }
}
