//! The memory of the objects of a request: a part of what all requests share.

use std::sync::{Mutex, PoisonError};

use roster_manifests::decode::MemoryAccount;

use super::RestApp;
use crate::runtime::net::{Claim, Exchange};

/// The account of one request. What it holds is returned when it is dropped: drop the objects before.
#[derive(Debug)]
pub(super) struct ObjectMemory(Mutex<Held>);

#[derive(Debug)]
struct Held {
    bytes: u64,
    claim: Claim,
}

impl ObjectMemory {
    pub(super) fn new(app: &RestApp, exchange: &Exchange) -> Self {
        Self(Mutex::new(Held { bytes: 0, claim: Claim::new(&app.object_memory, exchange) }))
    }

    fn change(&self, change: impl FnOnce(u64) -> u64) -> bool {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = change(held.bytes);
        let changed = held.claim.resize(bytes);
        if changed {
            held.bytes = bytes;
        }
        changed
    }
}

impl MemoryAccount for ObjectMemory {
    fn take(&self, bytes: usize) -> bool {
        self.change(|held| held + bytes as u64)
    }

    fn give_back(&self, bytes: usize) {
        // Less is never refused; where it was evicted, nothing is held.
        self.change(|held| held.saturating_sub(bytes as u64));
    }
}
