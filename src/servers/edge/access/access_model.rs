//! A model of who may read: nothing but what the proxy has seen, and the times in the documentation.

use std::time::Duration;

use tokio::time::Instant;

pub(super) const CALLERS: usize = 2;
pub(super) const QUESTIONS: usize = 3;

const MINUTES: Duration = Duration::from_mins(5);
const SECONDS: Duration = Duration::from_secs(10);
const DAY: Duration = Duration::from_hours(24);
/// A permission that was renewed is saved again after so long.
const RENEWED: Duration = Duration::from_hours(1);
/// How long it may take until a permission is saved.
const SAVED: Duration = Duration::from_secs(12);
/// How long it may take until the proxy notices that the API server is back: until a probe, and until a watch asks.
const NOTICED: Duration = Duration::from_secs(4);
const ASKED: Duration = Duration::from_secs(20);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadOutcome {
    Allowed,
    Refused,
    Unavailable,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Allowed,
    Denied,
    /// The token is not valid.
    Invalid,
}

/// In which way the API server is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outage {
    None,
    Refused,
    Silent,
    Gateway,
}

/// An answer that has reached the proxy.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(crate) caller: usize,
    pub(crate) question: usize,
    pub(super) verdict: Verdict,
    /// The place of the review, and of its answer, in the order of all of them.
    pub(crate) sent: u64,
    pub(crate) answered: u64,
    pub(crate) at: Instant,
}

/// A permission that no refusal follows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grant {
    /// When it was given last, and first.
    last: Instant,
    first: Instant,
    /// Whether it is of a former run, and whether it was saved for certain.
    is_restored: bool,
    is_certain: bool,
}

/// What is known of a question.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Belief {
    pub(super) grant: Option<Grant>,
    denied: Option<Instant>,
    /// The place of the last refusal.
    refusal: u64,
}

#[derive(Debug)]
pub(super) struct Model {
    beliefs: [[Belief; QUESTIONS]; CALLERS],
    /// Since when the API server is there.
    back: Instant,
    outage: Outage,
}

impl Model {
    pub(crate) fn new(now: Instant) -> Self {
        Self { beliefs: Default::default(), back: now, outage: Outage::None }
    }

    pub(super) fn belief(&self, caller: usize, question: usize) -> Belief {
        self.beliefs[caller][question]
    }

    pub(super) fn learn(&mut self, seen: &Seen) {
        let Seen { caller, question, verdict, sent, answered, at } = *seen;
        let belief = &mut self.beliefs[caller][question];
        match verdict {
            // It was decided before a refusal that has come since.
            Verdict::Allowed if sent <= belief.refusal => {}
            Verdict::Allowed => {
                let first = belief.grant.map_or(at, |grant| grant.first);
                belief.grant = Some(Grant { last: at, first, is_restored: false, is_certain: true });
                belief.denied = None;
            }
            Verdict::Denied => *belief = Belief { grant: None, denied: Some(at), refusal: answered },
            Verdict::Invalid => {
                self.beliefs[caller] = [Belief { grant: None, denied: None, refusal: answered }; QUESTIONS];
            }
        }
    }

    pub(super) fn outage(&mut self, outage: Outage, now: Instant) {
        if self.outage != Outage::None && outage == Outage::None {
            self.back = now;
        }
        self.outage = outage;
    }

    pub(crate) fn restart(&mut self, is_killed: bool, now: Instant) {
        for belief in self.beliefs.iter_mut().flatten() {
            belief.denied = None;
            if let Some(grant) = &mut belief.grant {
                grant.is_restored = true;
                grant.is_certain &= !is_killed || now - grant.first >= SAVED;
            }
        }
    }

    /// What a read may come to, if a review would come to `asked`.
    pub(crate) fn expected(
        &self,
        caller: usize,
        question: usize,
        asked: ReadOutcome,
        outage: Outage,
        now: Instant,
    ) -> Vec<ReadOutcome> {
        let Belief { grant, denied, .. } = self.belief(caller, question);
        let age = grant.map(|grant| now - grant.last);
        if grant.is_some_and(|grant| !grant.is_restored) && age.is_some_and(|age| age < MINUTES) {
            return vec![ReadOutcome::Allowed];
        }
        if denied.is_some_and(|denied| now - denied < SECONDS) {
            return vec![ReadOutcome::Refused];
        }
        let counts = age.is_some_and(|age| age < DAY);
        match (outage, grant) {
            (Outage::None, _) if counts && now - self.back < NOTICED => vec![asked, ReadOutcome::Allowed],
            (Outage::None, _) => vec![asked],
            (_, Some(grant)) if counts => {
                let is_certain = !grant.is_restored || (grant.is_certain && age.is_some_and(|age| age + RENEWED < DAY));
                if is_certain {
                    vec![ReadOutcome::Allowed]
                } else {
                    vec![ReadOutcome::Allowed, ReadOutcome::Unavailable]
                }
            }
            _ => vec![ReadOutcome::Unavailable],
        }
    }

    /// Whether a watch may be open.
    pub(super) fn may_watch(&self, caller: usize, question: usize, outage: Outage, now: Instant) -> bool {
        let Some(grant) = self.belief(caller, question).grant else { return false };
        let age = now - grant.last;
        let is_new = !grant.is_restored && age < MINUTES + SECONDS;
        is_new || (age < DAY + SECONDS && (outage != Outage::None || now - self.back < ASKED))
    }

    /// Whether a watch must be open that the API server allows, or allowed before it was away.
    pub(super) fn must_keep(&self, caller: usize, question: usize, now: Instant) -> bool {
        self.belief(caller, question).grant.is_some_and(|grant| now - grant.last + RENEWED < DAY)
    }
}
