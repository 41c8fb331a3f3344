//! The memory of the objects of a request: a part of what all requests share.

use std::sync::{Mutex, PoisonError};

use roster_manifests::decode::MemoryAccount;

use super::RestApp;
use crate::runtime::net::{Exchange, Holding, Ledger};

/// The account of one request. What it holds is returned when it is dropped: drop the objects before.
#[derive(Debug)]
pub(super) struct ObjectMemory {
    ledger: Ledger,
    exchange: Exchange,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    bytes: u64,
    /// `None` until something is charged.
    holding: Option<Holding>,
}

impl ObjectMemory {
    pub(super) fn new(app: &RestApp, exchange: &Exchange) -> Self {
        Self { ledger: app.object_memory.clone(), exchange: exchange.clone(), held: Mutex::default() }
    }

    fn change(&self, change: impl FnOnce(u64) -> u64) -> bool {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = change(held.bytes);
        let changed = if let Some(holding) = &held.holding {
            holding.resize(bytes)
        } else {
            held.holding = self.ledger.take(self.exchange.peer, bytes, &self.exchange.activity);
            held.holding.is_some()
        };
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
