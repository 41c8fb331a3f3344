//! The activity of a connection or a request: how far it is, and when it last moved on.

use std::{
    pin::pin,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};

use super::response_clock::ResponseClock;

/// How far a connection or a request is. The lower, the less is lost if it is evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ActivityStage {
    /// Nobody knows yet whether the caller is anybody: it has sent nothing, or is not authenticated.
    Unknown,
    /// The client has begun to speak, and the handshake or the first request head is incomplete.
    Opening,
    /// A connection between two requests.
    Idle,
    /// A request whose body is incomplete.
    Receiving,
    /// A request whose response is written.
    Responding,
    /// A complete request that waits for its response. It is never evicted: the server owes it a response, and knows how
    /// long that takes.
    Computing,
}

impl ActivityStage {
    const ALL: [Self; 6] =
        [Self::Unknown, Self::Opening, Self::Idle, Self::Receiving, Self::Responding, Self::Computing];
}

/// How long a new connection counts as one between two requests: the first one is on its way, and a flood of connections that
/// had a response would evict nothing but those that come after it.
pub(super) const ARRIVING: Duration = Duration::from_millis(100);
/// How long a client that has begun to speak counts as one with a request: a busy server needs that long for a handshake, and
/// meanwhile hundreds of connections that say nothing may arrive from the same address.
const SPEAKING: Duration = Duration::from_secs(1);

/// How long a response must have stood still, or how far it must be behind a usual reader, before it may be evicted.
pub(super) const STALLED: Duration = Duration::from_secs(1);

/// The activity of a connection or a request. Reading it never blocks the one whose activity it is.
#[derive(Debug)]
pub(crate) struct Activity {
    born: Instant,
    /// The own stage; that of a connection counts only while it has no request.
    own: AtomicU8,
    /// The requests of a connection by stage.
    requests: [AtomicU32; ActivityStage::ALL.len()],
    connection: Option<Arc<Activity>>,
    /// Milliseconds from `born` to the last byte or change of stage.
    moved: AtomicU64,
    evicted: AtomicBool,
    eviction: Notify,
    /// The clock of the response: an eviction ends it.
    response: OnceLock<(ResponseClock, u64)>,
}

/// The order of eviction among those of a peer: the lowest goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct EvictionRank {
    pub(super) progress: ActivityStage,
    pub(super) moved: Instant,
}

impl Activity {
    /// The activity of a new connection.
    pub(crate) fn connection() -> Arc<Self> {
        Arc::new(Self::new(ActivityStage::Unknown, None))
    }

    /// The activity of a new request of `connection`.
    pub(crate) fn request(connection: Arc<Self>) -> Arc<Self> {
        connection.count(ActivityStage::Receiving).fetch_add(1, Ordering::Relaxed);
        connection.own.store(ActivityStage::Idle as u8, Ordering::Relaxed);
        Arc::new(Self::new(ActivityStage::Receiving, Some(connection)))
    }

    fn new(own: ActivityStage, connection: Option<Arc<Self>>) -> Self {
        Self {
            born: Instant::now(),
            own: AtomicU8::new(own as u8),
            requests: std::array::from_fn(|_| AtomicU32::new(0)),
            connection,
            moved: AtomicU64::new(0),
            evicted: AtomicBool::new(false),
            eviction: Notify::new(),
            response: OnceLock::new(),
        }
    }

    /// Enters a stage, and moves on.
    pub(crate) fn set(&self, progress: ActivityStage) {
        self.enter(progress);
        // What is computed is not evicted, whenever it last moved: to read the clock costs as much as all the rest.
        if progress != ActivityStage::Computing {
            self.moved();
        }
    }

    /// Responds to a client that has come as far as a usual reader was at this time.
    pub(super) fn respond(&self, as_far_as: Instant) {
        self.enter(ActivityStage::Responding);
        self.moved_at(as_far_as);
    }

    fn enter(&self, progress: ActivityStage) {
        let before = self.own.swap(progress as u8, Ordering::Relaxed);
        if let Some(connection) = &self.connection
            && before != progress as u8
        {
            // First the new one: between the two, a complete request must not look evictable.
            connection.count(progress).fetch_add(1, Ordering::Relaxed);
            connection.requests[usize::from(before)].fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Notes that bytes were received or sent.
    pub(crate) fn moved(&self) {
        self.moved_at(Instant::now());
    }

    fn moved_at(&self, at: Instant) {
        self.moved.store(self.millis(at), Ordering::Relaxed);
        if let Some(connection) = &self.connection {
            // Another request of the connection may be further.
            connection.moved.fetch_max(connection.millis(at), Ordering::Relaxed);
        }
    }

    fn count(&self, progress: ActivityStage) -> &AtomicU32 {
        &self.requests[progress as usize]
    }

    fn millis(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.born).as_millis()).unwrap_or(u64::MAX)
    }

    /// The stage: that of the request which is furthest, if there is one.
    pub(super) fn progress(&self) -> ActivityStage {
        let of_request = ActivityStage::ALL.into_iter().rev().find(|p| self.count(*p).load(Ordering::Relaxed) > 0);
        of_request.unwrap_or(ActivityStage::ALL[usize::from(self.own.load(Ordering::Relaxed))])
    }

    /// The rank among those that may be evicted; `None` if this one may not.
    pub(super) fn rank(&self, now: Instant) -> Option<EvictionRank> {
        let moved = self.born + Duration::from_millis(self.moved.load(Ordering::Relaxed));
        let progress = self.progress();
        match progress {
            ActivityStage::Computing => None,
            ActivityStage::Responding if now.saturating_duration_since(moved) < STALLED => None,
            ActivityStage::Unknown if now.saturating_duration_since(self.born) < ARRIVING => {
                Some(EvictionRank { progress: ActivityStage::Idle, moved })
            }
            ActivityStage::Opening if now.saturating_duration_since(moved) < SPEAKING => {
                Some(EvictionRank { progress: ActivityStage::Receiving, moved })
            }
            _ => Some(EvictionRank { progress, moved }),
        }
    }

    /// Whether it may be evicted.
    pub(crate) fn is_evictable(&self, now: Instant) -> bool {
        self.rank(now).is_some()
    }

    /// Evicts it.
    pub(crate) fn evict(&self) {
        self.evicted.store(true, Ordering::Release);
        self.eviction.notify_waiters();
        if let Some((clock, response)) = self.response.get() {
            clock.expire(*response);
        }
    }

    /// Ties an eviction to this response on the clock.
    pub(super) fn ends(&self, clock: &ResponseClock, response: u64) {
        let _ = self.response.set((clock.clone(), response));
        // It may have been evicted a moment ago.
        if self.evicted.load(Ordering::Acquire) {
            clock.expire(response);
        }
    }

    /// Whether it was evicted.
    pub(crate) fn is_evicted(&self) -> bool {
        self.evicted.load(Ordering::Acquire)
    }

    /// Resolves when it is evicted.
    pub(crate) async fn evicted(&self) {
        let mut notified = pin!(self.eviction.notified());
        // Waiting begins before the flag is read: an eviction between the two is not missed.
        notified.as_mut().enable();
        if !self.evicted.load(Ordering::Acquire) {
            notified.await;
        }
    }
}

impl Drop for Activity {
    fn drop(&mut self) {
        if let Some(connection) = &self.connection {
            connection.requests[usize::from(*self.own.get_mut())].fetch_sub(1, Ordering::Relaxed);
        }
    }
}
