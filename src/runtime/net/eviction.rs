//! Eviction: the connections that have had no answer yet, of which the oldest is closed when the limit is reached.
//!
//! Anyone who can reach the port can use up all connections with clients that send nothing, or send it slowly. Each
//! ends at its own time-out, but until then an API server would wait in vain, and so would every write of its cluster.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

/// The connections without an answer, the oldest first.
#[derive(Clone, Default)]
pub(super) struct EvictionQueue(Arc<Mutex<EvictionOrder>>);

#[derive(Default)]
struct EvictionOrder {
    next: u64,
    waiting: BTreeMap<u64, Arc<Notify>>,
}

/// A connection in the queue, until it is dropped.
pub(super) struct EvictionEntry {
    queue: EvictionQueue,
    number: u64,
    evicted: Arc<Notify>,
}

impl EvictionQueue {
    /// Adds a connection.
    pub(super) fn add(&self) -> EvictionEntry {
        let mut order = self.lock();
        let (number, evicted) = (order.next, Arc::<Notify>::default());
        order.next += 1;
        order.waiting.insert(number, evicted.clone());
        EvictionEntry { queue: self.clone(), number, evicted }
    }

    /// Evicts the oldest connection. `false`: there is none.
    pub(super) fn evict_oldest(&self) -> bool {
        let oldest = self.lock().waiting.pop_first();
        oldest.inspect(|(_, evicted)| evicted.notify_one()).is_some()
    }

    fn lock(&self) -> MutexGuard<'_, EvictionOrder> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EvictionEntry {
    /// Removes the connection from the queue: it has had an answer and is not evicted any more.
    pub(super) fn remove(&self) {
        self.queue.lock().waiting.remove(&self.number);
    }

    /// Resolves when the connection is evicted.
    pub(super) async fn evicted(&self) {
        self.evicted.notified().await;
    }
}

impl Drop for EvictionEntry {
    fn drop(&mut self) {
        self.remove();
    }
}
