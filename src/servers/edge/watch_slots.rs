//! How many watches there may be, in all and of one client.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{caller::CallerDigest, options::EdgeOptions};

/// The most watches.
const TOTAL: usize = 1024;
/// Each may have a connection, which is never taken from it while it waits for events: others must find one as well.
const _: () = assert!(2 * TOTAL <= EdgeOptions::MAX_CONNECTIONS);
/// The most watches of one caller: all clients of a node may share a token.
const OF_CALLER: usize = 256;

/// Counts watches.
#[derive(Clone, Debug, Default)]
pub(super) struct WatchSlots(Arc<Mutex<SlotCounts>>);

#[derive(Debug, Default)]
struct SlotCounts {
    total: usize,
    of_caller: BTreeMap<CallerDigest, usize>,
}

/// The place of a watch until it is dropped.
#[derive(Debug)]
pub(super) struct WatchSlot {
    slots: WatchSlots,
    caller: CallerDigest,
}

impl WatchSlots {
    /// A place for a watch; `None`: there are too many.
    pub(super) fn take(&self, caller: CallerDigest) -> Option<WatchSlot> {
        let mut counts = self.counts();
        if counts.total >= TOTAL || counts.of_caller.get(&caller).is_some_and(|count| *count >= OF_CALLER) {
            return None;
        }
        counts.total += 1;
        *counts.of_caller.entry(caller).or_default() += 1;
        Some(WatchSlot { slots: self.clone(), caller })
    }

    /// The number of watches.
    pub(super) fn count(&self) -> usize {
        self.counts().total
    }

    fn counts(&self) -> MutexGuard<'_, SlotCounts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for WatchSlot {
    fn drop(&mut self) {
        let mut counts = self.slots.counts();
        counts.total -= 1;
        if let Some(count) = counts.of_caller.get_mut(&self.caller) {
            *count -= 1;
            if *count == 0 {
                counts.of_caller.remove(&self.caller);
            }
        }
    }
}
