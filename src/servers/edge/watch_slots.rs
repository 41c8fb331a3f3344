//! How many watches there may be, in all and of one client.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{caller::TokenDigest, options::EdgeOptions};

/// The most watches.
const TOTAL: usize = 1024;
/// Each may have a connection, which is never taken from it while it waits for events: others must find one as well.
const _: () = assert!(2 * TOTAL <= EdgeOptions::MAX_CONNECTIONS);
/// The most watches with one token: all clients of a node may share one.
const OF_TOKEN: usize = 256;

/// Counts watches.
#[derive(Clone, Debug, Default)]
pub(super) struct WatchSlots(Arc<Mutex<SlotCounts>>);

#[derive(Debug, Default)]
struct SlotCounts {
    total: usize,
    of_token: BTreeMap<TokenDigest, usize>,
}

/// The place of a watch until it is dropped.
#[derive(Debug)]
pub(super) struct WatchSlot {
    slots: WatchSlots,
    token: TokenDigest,
}

impl WatchSlots {
    /// A place for a watch; `None`: there are too many.
    pub(super) fn take(&self, token: TokenDigest) -> Option<WatchSlot> {
        let mut counts = self.counts();
        if counts.total >= TOTAL || counts.of_token.get(&token).is_some_and(|count| *count >= OF_TOKEN) {
            return None;
        }
        counts.total += 1;
        *counts.of_token.entry(token).or_default() += 1;
        Some(WatchSlot { slots: self.clone(), token })
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
        if let Some(count) = counts.of_token.get_mut(&self.token) {
            *count -= 1;
            if *count == 0 {
                counts.of_token.remove(&self.token);
            }
        }
    }
}
