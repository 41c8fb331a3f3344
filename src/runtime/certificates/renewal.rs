//! When a certificate is due for renewal.

use jiff::{SignedDuration, Timestamp};

use crate::runtime::tls::CertificateInfo;

/// How long certificates are valid, and how long a change takes to spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CertificateLifetimes {
    /// The validity of a CA.
    pub ca: SignedDuration,
    /// The validity of a certificate.
    pub leaf: SignedDuration,
    /// The time after which every replica has loaded a change and every API server knows it: the least time between
    /// two steps of a rotation.
    pub settle: SignedDuration,
}

impl Default for CertificateLifetimes {
    fn default() -> Self {
        Self {
            ca: SignedDuration::from_hours(24 * 365),
            leaf: SignedDuration::from_hours(24 * 90),
            settle: SignedDuration::from_mins(5),
        }
    }
}

impl CertificateLifetimes {
    /// How often replicas check for a change: ten times before the next step.
    pub fn poll(&self) -> SignedDuration {
        (self.settle / 10).clamp(SignedDuration::from_millis(200), SignedDuration::from_secs(30))
    }
}

/// How long before its issue a certificate becomes valid, because clocks differ.
pub(super) const BACKDATE: SignedDuration = SignedDuration::from_mins(5);

/// The certificates that are stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredCertificates {
    /// CAs, the newest first.
    pub cas: Vec<CaCertificate>,
    /// Whether the key of the newest CA is stored.
    pub can_sign: bool,
    /// The certificate, if it and its key are stored and belong together.
    pub leaf: Option<LeafCertificate>,
    /// Whether every `caBundle` contains these CAs.
    pub published: bool,
}

/// A CA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaCertificate {
    /// What it contains.
    pub info: CertificateInfo,
}

/// A certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeafCertificate {
    /// What it contains.
    pub info: CertificateInfo,
    /// The position of the CA that issued it.
    pub signer: Option<usize>,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenewalAction {
    /// Nothing, until this time.
    Keep(Timestamp),
    /// Issue a new CA; the others stay in the bundle, and the certificate stays.
    NewCa,
    /// Issue a new certificate of the newest CA.
    NewLeaf,
    /// Remove all CAs but the newest from the bundle.
    DropOld,
}

/// The next action at `now` towards a certificate for `names` that every API server trusts.
pub fn next_action(
    now: Timestamp,
    stored: &StoredCertificates,
    names: &[String],
    life: &CertificateLifetimes,
) -> RenewalAction {
    let Some(ca) = stored.cas.first() else { return RenewalAction::NewCa };
    let ca_due = due(&ca.info);
    if !stored.can_sign || ca.info.valid(now).is_err() || now >= ca_due {
        return RenewalAction::NewCa;
    }
    let usable = stored.leaf.as_ref().filter(|leaf| {
        leaf.info.valid(now).is_ok()
            && names.iter().all(|n| leaf.info.names.contains(n))
            && leaf.signer.and_then(|s| stored.cas.get(s)).is_some_and(|ca| ca.info.valid(now).is_ok())
    });
    // No usable certificate: a new one can only be better.
    let Some(leaf) = usable else { return RenewalAction::NewLeaf };
    let mut next = ca_due;
    if leaf.signer == Some(0) {
        let leaf_due = due(&leaf.info);
        if now >= leaf_due {
            return RenewalAction::NewLeaf;
        }
        next = next.min(leaf_due);
        if stored.cas.len() > 1 {
            // Replicas that have not loaded it yet still serve a certificate of the old CA.
            let settled = settled(&leaf.info, life);
            if now >= settled && stored.published {
                return RenewalAction::DropOld;
            }
            next = next.min(settled);
        }
    } else {
        // Every API server must know the new CA first. If it cannot be published, the old one is used to its end.
        let settled = settled(&ca.info, life);
        if now >= settled && stored.published {
            return RenewalAction::NewLeaf;
        }
        next = next.min(settled);
    }
    RenewalAction::Keep(next.max(now))
}

/// When the certificate was issued.
fn issued_at(info: &CertificateInfo) -> Timestamp {
    later(info.not_before, BACKDATE)
}

/// When a certificate has spread. Its dates are whole seconds: it may have been issued at the end of the second.
fn settled(info: &CertificateInfo, life: &CertificateLifetimes) -> Timestamp {
    later(later(issued_at(info), SignedDuration::from_secs(1)), life.settle)
}

/// When two thirds of its validity are over.
fn due(info: &CertificateInfo) -> Timestamp {
    let issued = issued_at(info);
    let life = info.not_after.duration_since(issued).max(SignedDuration::ZERO);
    later(issued, life / 3 * 2)
}

fn later(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.checked_add(by).unwrap_or(Timestamp::MAX)
}
