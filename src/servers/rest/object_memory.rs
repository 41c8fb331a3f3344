//! The memory of the objects of a request: a part of what all requests share.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::RestApp;
use crate::{
    decode::MemoryAccount,
    runtime::net::{Exchange, Holding, Ledger},
};

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

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MemoryAccount for ObjectMemory {
    fn take(&self, bytes: usize) -> bool {
        let mut held = self.lock();
        let wanted = held.bytes + bytes as u64;
        let taken = if let Some(holding) = &held.holding {
            holding.resize(wanted)
        } else {
            held.holding = self.ledger.take(self.exchange.peer, wanted, &self.exchange.activity);
            held.holding.is_some()
        };
        if taken {
            held.bytes = wanted;
        }
        taken
    }

    fn give_back(&self, bytes: usize) {
        let mut held = self.lock();
        held.bytes = held.bytes.saturating_sub(bytes as u64);
        if let Some(holding) = &held.holding {
            // Less is never refused; where it was evicted, nothing is held.
            let _ = holding.resize(held.bytes);
        }
    }
}
