//! When which certificate is due.

use jiff::{SignedDuration, Timestamp};

use crate::runtime::tls::Facts;

/// How long certificates live, and how long a change takes to reach everybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life {
    /// Of a CA.
    pub ca: SignedDuration,
    /// Of a certificate.
    pub leaf: SignedDuration,
    /// So long after a change every replica has loaded it, and every API server knows it. Between two steps of a
    /// rotation passes at least this.
    pub settle: SignedDuration,
}

impl Default for Life {
    fn default() -> Self {
        Self {
            ca: SignedDuration::from_hours(24 * 365),
            leaf: SignedDuration::from_hours(24 * 90),
            settle: SignedDuration::from_mins(5),
        }
    }
}

impl Life {
    /// How often replicas look for a change: ten times before the next step.
    pub fn poll(&self) -> SignedDuration {
        (self.settle / 10).clamp(SignedDuration::from_millis(200), SignedDuration::from_secs(30))
    }
}

/// Certificates are valid from this long before they are made: clocks differ.
pub(super) const BACKDATE: SignedDuration = SignedDuration::from_mins(5);

/// What there is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// CAs, the newest first.
    pub cas: Vec<Ca>,
    /// Whether the key of the newest CA is there.
    pub can_sign: bool,
    /// The certificate, if it and its key are there and belong together.
    pub leaf: Option<Leaf>,
    /// Whether every `caBundle` holds these CAs.
    pub published: bool,
}

/// A CA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ca {
    /// What it says.
    pub facts: Facts,
}

/// A certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// What it says.
    pub facts: Facts,
    /// Which of the CAs made it.
    pub signer: Option<usize>,
}

/// What is to be done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing, until then.
    Keep(Timestamp),
    /// Make a new CA; the others stay in the bundle, and the certificate stays.
    NewCa,
    /// Make a new certificate of the newest CA.
    NewLeaf,
    /// Take all CAs but the newest out of the bundle.
    DropOld,
}

/// What is to be done at `now`, so that a certificate for `names` is served that everybody trusts.
pub fn plan(now: Timestamp, stored: &Stored, names: &[String], life: &Life) -> Action {
    let Some(ca) = stored.cas.first() else { return Action::NewCa };
    let ca_due = due(&ca.facts);
    if !stored.can_sign || ca.facts.valid(now).is_err() || now >= ca_due {
        return Action::NewCa;
    }
    let usable = stored.leaf.as_ref().filter(|leaf| {
        leaf.facts.valid(now).is_ok()
            && names.iter().all(|n| leaf.facts.names.contains(n))
            && leaf.signer.and_then(|s| stored.cas.get(s)).is_some_and(|ca| ca.facts.valid(now).is_ok())
    });
    // There is nothing to lose: whatever is made is better.
    let Some(leaf) = usable else { return Action::NewLeaf };
    let mut next = ca_due;
    if leaf.signer == Some(0) {
        let leaf_due = due(&leaf.facts);
        if now >= leaf_due {
            return Action::NewLeaf;
        }
        next = next.min(leaf_due);
        if stored.cas.len() > 1 {
            // Replicas that have not loaded it yet still serve one of the old CA.
            let settled = settled(&leaf.facts, life);
            if now >= settled && stored.published {
                return Action::DropOld;
            }
            next = next.min(settled);
        }
    } else {
        // The new CA must be known everywhere first. If it cannot be published, the old one is used to its end.
        let settled = settled(&ca.facts, life);
        if now >= settled && stored.published {
            return Action::NewLeaf;
        }
        next = next.min(settled);
    }
    Action::Keep(next.max(now))
}

/// When it was made.
fn made(facts: &Facts) -> Timestamp {
    later(facts.not_before, BACKDATE)
}

/// When everybody has it. A certificate tells only the second in which it was made: it may have been the end of it.
fn settled(facts: &Facts, life: &Life) -> Timestamp {
    later(later(made(facts), SignedDuration::from_secs(1)), life.settle)
}

/// When two thirds of its life are over.
fn due(facts: &Facts) -> Timestamp {
    let made = made(facts);
    let life = facts.not_after.duration_since(made).max(SignedDuration::ZERO);
    later(made, life / 3 * 2)
}

fn later(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.checked_add(by).unwrap_or(Timestamp::MAX)
}
