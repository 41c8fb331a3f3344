//! One difference as long as it lasts: when it arose, what has caused it, and from when on it counts.

use std::time::Duration;

use roster_engine::compare::{Drift, DriftClass, PublishedList};
use tokio::time::Instant;

use super::shadow_class::ShadowClass;
use crate::servers::controller::queue::Notice;

/// kube-controller-manager refuses to plan with a cache that does not show its own last write, and tries again after a second
/// (upstream: `StaleInformerCache`). A difference that arose so shortly after a write, or before it, has this long besides.
pub(super) const AFTER_A_WRITE: Duration = Duration::from_secs(2);
/// It waits so long before it corrects what others have written (upstream: `endpointSliceChangeMinSyncDelay`).
pub(super) const CORRECTION: Duration = Duration::from_secs(1);
/// How long the garbage collector may take: it deletes some tens of objects a second.
const COLLECTION: Duration = Duration::from_secs(30);

/// A difference as long as it lasts.
#[expect(clippy::struct_excessive_bools, reason = "what is known of it at several times")]
#[derive(Clone, Debug)]
pub(super) struct FoundDrift {
    pub(super) since: Instant,
    /// How long it may last, as known when it began.
    pub(super) grace: Duration,
    /// When the reference was woken for it.
    pub(super) woken: Option<Instant>,
    /// The reference is not woken for what has caused it.
    is_forgotten: bool,
    /// It is left to the garbage collector, when its Service goes.
    is_collected: bool,
    /// It arose when the list was written.
    is_edited: bool,
    /// The list was written after it arose.
    is_written: bool,
    /// The Service was written shortly before it arose, or since then.
    follows_a_write: bool,
    /// It was reported as this.
    pub(super) named: Option<ShadowClass>,
    /// It was reported that the reference does nothing.
    pub(super) is_stuck: bool,
}

/// What the changes of a Service have to do with one of its differences.
#[expect(clippy::struct_excessive_bools, reason = "they do not depend on each other")]
#[derive(Clone, Copy, Debug)]
pub(super) struct DriftCause {
    /// The list in which it is was written.
    writes_it: bool,
    /// The reference was woken for that list.
    wakes: bool,
    /// The garbage collector deletes the slices of a Service that is gone.
    is_collected: bool,
    /// The Service, a pod or a node has changed, or must have changed before, and the reference is not woken for such changes.
    is_forgotten: bool,
}

impl DriftCause {
    /// The cause of a difference, after these changes. `was_forgotten` tells for one that was there before what may have caused it.
    pub(super) fn of(drift: &Drift, notice: Notice, was_forgotten: impl Fn(&Drift) -> bool) -> Self {
        let (writes_it, wakes) = match drift.list {
            PublishedList::Endpoints => (notice.endpoints, notice.wakes_endpoints),
            PublishedList::Slices => (notice.slices, notice.wakes_slices),
        };
        let is_collected = drift.class == DriftClass::Orphan && drift.list == PublishedList::Slices && !writes_it;
        let of_cluster = notice.cluster || (notice == Notice::default() && was_forgotten(drift));
        let is_forgotten = of_cluster && !writes_it && !is_collected;
        Self { writes_it, wakes: wakes && !is_collected, is_collected, is_forgotten }
    }
}

impl FoundDrift {
    pub(super) fn new(cause: DriftCause, follows_a_write: bool, grace: Duration, now: Instant) -> Self {
        let DriftCause { writes_it, wakes, is_collected, is_forgotten } = cause;
        Self {
            since: now,
            grace,
            woken: wakes.then_some(now),
            is_collected,
            is_forgotten,
            is_edited: writes_it,
            is_written: false,
            follows_a_write,
            named: None,
            is_stuck: false,
        }
    }

    pub(super) fn see_again(&mut self, cause: DriftCause, grace: Duration, now: Instant) {
        self.is_written |= cause.writes_it;
        self.follows_a_write |= cause.writes_it;
        self.is_stuck &= !self.is_written;
        if cause.wakes && self.woken.is_none() {
            self.woken = Some(now);
            self.grace = grace;
            // It is settled now, or something is wrong.
            self.named = self.named.filter(|class| *class != ShadowClass::Unsettled);
        }
    }

    /// The time from which it counts.
    pub(super) fn begin(&self) -> Instant {
        self.woken.unwrap_or(self.since).max(self.since)
    }

    pub(super) fn class(&self, drift: &Drift) -> ShadowClass {
        if self.is_forgotten && self.woken.is_none() { ShadowClass::Unsettled } else { drift.class.into() }
    }

    /// When it counts.
    pub(super) fn due(&self) -> Instant {
        let more = match (self.is_collected, self.follows_a_write) {
            (true, _) => COLLECTION,
            (false, true) => AFTER_A_WRITE,
            (false, false) => Duration::ZERO,
        };
        self.begin() + self.grace + more
    }

    /// How long the reference may wait of its own will.
    pub(super) fn own_delay(&self) -> Duration {
        match (self.follows_a_write, self.is_edited) {
            (true, _) => AFTER_A_WRITE,
            (false, true) => CORRECTION,
            (false, false) => Duration::ZERO,
        }
    }

    /// When the reference should have written, if it has not.
    pub(super) fn stuck_from(&self) -> Option<Instant> {
        (self.woken.is_some() && !self.is_written).then(|| self.begin() + self.grace + self.own_delay())
    }
}
