//! Connections that have had no answer yet, the oldest of which goes when every place is taken.
//!
//! Whoever can reach the port can take all places with connections that say nothing, or say it slowly. Each ends at a
//! limit of its own, but until then an API server would wait in vain, and so would every write of its cluster.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

/// All of them, the oldest first.
#[derive(Clone, Default)]
pub(super) struct Newcomers(Arc<Mutex<Waiting>>);

#[derive(Default)]
struct Waiting {
    next: u64,
    places: BTreeMap<u64, Arc<Notify>>,
}

/// One of them, until it is dropped.
pub(super) struct Newcomer {
    all: Newcomers,
    number: u64,
    out: Arc<Notify>,
}

impl Newcomers {
    /// One more.
    pub(super) fn add(&self) -> Newcomer {
        let mut waiting = self.lock();
        let (number, out) = (waiting.next, Arc::<Notify>::default());
        waiting.next += 1;
        waiting.places.insert(number, out.clone());
        Newcomer { all: self.clone(), number, out }
    }

    /// Asks the oldest to go; whether there was one.
    pub(super) fn push_out(&self) -> bool {
        let oldest = self.lock().places.pop_first();
        oldest.inspect(|(_, out)| out.notify_one()).is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Newcomer {
    /// It has had an answer: it is pushed out no more.
    pub(super) fn stays(&self) {
        self.all.lock().places.remove(&self.number);
    }

    /// Ready when it is to go.
    pub(super) async fn pushed_out(&self) {
        self.out.notified().await;
    }
}

impl Drop for Newcomer {
    fn drop(&mut self) {
        self.stays();
    }
}
