//! Reads of namespaces: those that wait, those that go on, and what the last ones found.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use roster_engine::model::{HashSeed, Labels};
use tokio::{sync::watch, task::AbortHandle, time::Instant};

use crate::runtime::net::Peer;

/// Most results that are remembered.
pub(super) const RESULTS: usize = 1024;

/// The reads of namespaces that are not known.
#[derive(Debug, Default)]
pub(super) struct NamespaceReads {
    pending: HashMap<String, PendingRead, HashSeed>,
    results: HashMap<String, ReadResult, HashSeed>,
    /// Until when each result counts.
    ends: BTreeSet<(Instant, String)>,
}

/// A read that waits or goes on.
#[derive(Debug)]
struct PendingRead {
    /// Reviews wait until it is dropped.
    end: watch::Sender<()>,
    /// The peers for whose turn it waits, with the tasks that wait; none when it goes on.
    waits_for: BTreeMap<Peer, AbortHandle>,
}

/// What a read found.
#[derive(Debug)]
pub(super) struct ReadResult {
    /// `None`: it failed.
    pub(super) labels: Option<Arc<Labels>>,
    /// How long it counts.
    pub(super) until: Instant,
}

impl NamespaceReads {
    /// What the last read of a namespace found, if that still counts.
    pub(super) fn result(&self, namespace: &str) -> Option<&ReadResult> {
        self.results.get(namespace).filter(|result| Instant::now() < result.until)
    }

    /// Joins the read of a namespace, which waits for the turn of any peer that joined before it began: `wait` begins a task
    /// that does. Returns what ends with it.
    pub(super) fn join(
        &mut self,
        peer: Peer,
        namespace: &str,
        wait: impl FnOnce() -> AbortHandle,
    ) -> watch::Receiver<()> {
        let Some(read) = self.pending.get_mut(namespace) else {
            let (end, ends) = watch::channel(());
            let read = PendingRead { end, waits_for: [(peer, wait())].into() };
            self.pending.insert(namespace.to_owned(), read);
            return ends;
        };
        let goes_on = read.waits_for.is_empty();
        if !goes_on && !read.waits_for.contains_key(&peer) {
            read.waits_for.insert(peer, wait());
        }
        read.end.subscribe()
    }

    /// Gives up to wait for the turn of a peer, and the read with the last one.
    pub(super) fn leave(&mut self, peer: Peer, namespace: &str) {
        if let Some(read) = self.pending.get_mut(namespace)
            && read.waits_for.remove(&peer).is_some()
            && read.waits_for.is_empty()
        {
            self.pending.remove(namespace);
        }
    }

    /// Begins the read of a namespace in the turn of a peer; `false`: it has begun before, or nobody waits for it any more.
    pub(super) fn begin(&mut self, peer: Peer, namespace: &str) -> bool {
        let Some(read) = self.pending.get_mut(namespace) else { return false };
        if read.waits_for.remove(&peer).is_none() {
            return false;
        }
        for task in std::mem::take(&mut read.waits_for).into_values() {
            task.abort();
        }
        let is_awaited = !read.end.is_closed();
        if !is_awaited {
            self.pending.remove(namespace);
        }
        is_awaited
    }

    /// Ends a read. Returns what is not remembered any more: the result that ends first makes room.
    pub(super) fn end(&mut self, namespace: String, result: ReadResult) -> Option<ReadResult> {
        self.pending.remove(&namespace);
        self.ends.insert((result.until, namespace.clone()));
        if let Some(before) = self.results.insert(namespace.clone(), result) {
            self.ends.remove(&(before.until, namespace));
            return Some(before);
        }
        // Labels count for longer than failures: a peer that names missing namespaces displaces its own results.
        if self.results.len() <= RESULTS {
            return None;
        }
        let (_, first) = self.ends.pop_first()?;
        self.results.remove(&first)
    }
}
