//! Reads of namespaces: those that wait, those that go on, and what the last ones found.
//!
//! A client can name any namespace in a review. So the reads of a peer wait in a queue of its own, and peers take turns:
//! one that names a thousand namespaces takes neither the time nor the room of another one.

use std::collections::{BTreeMap, HashMap, VecDeque};

use tokio::{sync::watch, time::Instant};

use crate::{
    model::{HashSeed, Labels},
    runtime::{
        net::Peer,
        turns::{Cost, Queue, Turns},
    },
};

/// Most reads that wait. Of more than that, the peer with the most loses one.
pub(super) const WAITING: usize = 1024;
/// Most results that are remembered.
pub(super) const RESULTS: usize = 1024;

/// The reads of namespaces that are not known.
#[derive(Debug, Default)]
pub(super) struct NamespaceReads {
    queue: Turns<Peer, VecDeque<QueuedRead>>,
    pending: HashMap<String, PendingRead, HashSeed>,
    results: BTreeMap<String, ReadResult>,
}

/// A read in the queue of a peer.
#[derive(Debug)]
struct QueuedRead {
    peer: Peer,
    namespace: String,
}

impl Cost for QueuedRead {
    fn cost(&self) -> u64 {
        1
    }
}

/// A read that waits or goes on.
#[derive(Debug)]
struct PendingRead {
    /// Reviews wait until it is dropped.
    end: watch::Sender<()>,
    /// The peers in whose queues it waits; none when it goes on.
    waits_for: Vec<Peer>,
}

/// What a read found.
#[derive(Debug)]
pub(super) struct ReadResult {
    /// `None`: it failed.
    pub(super) labels: Option<Labels>,
    /// How long it counts.
    pub(super) until: Instant,
}

impl NamespaceReads {
    /// What the last read of a namespace found, if that still counts.
    pub(super) fn result(&self, namespace: &str) -> Option<&ReadResult> {
        self.results.get(namespace).filter(|result| Instant::now() < result.until)
    }

    /// Joins the read of a namespace, which waits for the turn of any peer that joined before it began. Returns what ends
    /// with it.
    pub(super) fn join(&mut self, peer: Peer, namespace: &str) -> watch::Receiver<()> {
        let is_new = !self.pending.contains_key(namespace);
        let read = self
            .pending
            .entry(namespace.to_owned())
            .or_insert_with(|| PendingRead { end: watch::Sender::new(()), waits_for: Vec::new() });
        let end = read.end.subscribe();
        let goes_on = !is_new && read.waits_for.is_empty();
        if !goes_on && !read.waits_for.contains(&peer) {
            read.waits_for.push(peer);
            self.queue.change(peer, |reads| reads.push_back(QueuedRead { peer, namespace: namespace.to_owned() }));
        }
        end
    }

    /// Gives up a read if too many wait. Returns whether it did.
    pub(super) fn give_up_excess(&mut self) -> bool {
        if self.queue.count() <= WAITING {
            return false;
        }
        if let Some(QueuedRead { peer, namespace }) = self.queue.give_up()
            && let Some(read) = self.pending.get_mut(&namespace)
        {
            read.waits_for.retain(|other| *other != peer);
            if read.waits_for.is_empty() {
                self.pending.remove(&namespace);
            }
        }
        true
    }

    /// Begins the next read that somebody still waits for.
    pub(super) fn begin_next(&mut self) -> Option<String> {
        loop {
            let QueuedRead { peer, namespace } = self.queue.take_next()?;
            let Some(read) = self.pending.get_mut(&namespace) else { continue };
            let is_awaited = !read.end.is_closed();
            for other in std::mem::take(&mut read.waits_for).into_iter().filter(|other| *other != peer) {
                self.queue.change(other, |reads| reads.take_where(&|read| read.namespace == namespace));
            }
            if is_awaited {
                return Some(namespace);
            }
            self.pending.remove(&namespace);
        }
    }

    /// Ends a read.
    pub(super) fn end(&mut self, namespace: String, result: ReadResult) {
        if self.results.len() >= RESULTS {
            let now = Instant::now();
            self.results.retain(|_, result| now < result.until);
        }
        // Labels count for longer than failures: a peer that names missing namespaces displaces its own results.
        if self.results.len() >= RESULTS
            && let Some(first) =
                self.results.iter().min_by_key(|(_, result)| result.until).map(|(name, _)| name.clone())
        {
            self.results.remove(&first);
        }
        self.pending.remove(&namespace);
        self.results.insert(namespace, result);
    }
}
