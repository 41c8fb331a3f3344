//! Places of which one caller cannot have all: those of watches and of upgraded connections.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{caller::CallerDigest, options::EdgeOptions};
use crate::model::HashSeed;

/// The most watches, and those of one caller: all clients of a node may share a token.
const WATCHES: SlotLimits = SlotLimits { total: 1024, of_caller: 256 };
/// Each may have a connection, which is never taken from it while it waits for events: others must find one as well.
const _: () = assert!(2 * WATCHES.total <= EdgeOptions::MAX_CONNECTIONS);
/// The most connections that are upgraded at once: `kubectl exec`, `attach` and `port-forward`.
const UPGRADES: SlotLimits = SlotLimits { total: 256, of_caller: 64 };

#[derive(Clone, Copy, Debug)]
struct SlotLimits {
    total: usize,
    of_caller: usize,
}

/// Counts places. A clone counts the same ones.
#[derive(Clone, Debug)]
pub(super) struct CallerSlots {
    limits: SlotLimits,
    counts: Arc<Mutex<SlotCounts>>,
}

#[derive(Debug, Default)]
struct SlotCounts {
    total: usize,
    of_caller: HashMap<Option<CallerDigest>, usize, HashSeed>,
}

/// A place until it is dropped.
#[derive(Debug)]
pub(super) struct CallerSlot {
    slots: CallerSlots,
    caller: Option<CallerDigest>,
}

impl CallerSlots {
    /// The places of watches.
    pub(super) fn of_watches() -> Self {
        Self { limits: WATCHES, counts: Arc::default() }
    }

    /// The places of upgraded connections.
    pub(super) fn of_upgrades() -> Self {
        Self { limits: UPGRADES, counts: Arc::default() }
    }

    /// A place; `None`: there are too many. All callers without a digest are one.
    pub(super) fn take(&self, caller: Option<CallerDigest>) -> Option<CallerSlot> {
        let mut counts = self.counts();
        let of_caller = counts.of_caller.get(&caller).copied().unwrap_or_default();
        if counts.total >= self.limits.total || of_caller >= self.limits.of_caller {
            return None;
        }
        counts.total += 1;
        counts.of_caller.insert(caller, of_caller + 1);
        Some(CallerSlot { slots: self.clone(), caller })
    }

    /// The number of places that are taken.
    pub(super) fn count(&self) -> usize {
        self.counts().total
    }

    fn counts(&self) -> MutexGuard<'_, SlotCounts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for CallerSlot {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_caller_leaves_places_to_others() {
        let callers = ["a", "b", "c", "d", "e"].map(|name| CallerDigest::from_hex(&format!("{name}0").repeat(32)));
        for slots in [CallerSlots::of_watches(), CallerSlots::of_upgrades()] {
            let SlotLimits { total, of_caller } = slots.limits;
            let mut held: Vec<CallerSlot> = Vec::new();
            for caller in [None].into_iter().chain(callers) {
                held.extend((0..2 * of_caller).map_while(|_| slots.take(caller)));
                assert_eq!(held.len() % of_caller, 0, "{caller:?}");
            }
            assert_eq!((held.len(), slots.count()), (total, total));
            held.remove(0);
            assert!(slots.take(callers[4]).is_some());
            drop(held);
            assert_eq!((slots.count(), slots.counts().of_caller.len()), (0, 0));
        }
    }
}
