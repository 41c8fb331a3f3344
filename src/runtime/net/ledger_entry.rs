//! An entry of a ledger: who holds how much, and how far it is.

use std::sync::Arc;

use super::{activity::Activity, peer::Peer};

/// The peer, and the number of the entry.
pub(super) type EntryKey = (Peer, u64);

/// An amount that is held.
#[derive(Debug)]
pub(super) struct LedgerEntry {
    pub(super) amount: u64,
    pub(super) activity: Arc<Activity>,
}
