//! The holder of a Lease, which may write.
//!
//! It holds the Lease only while there is something to write: certificates change every few weeks, and a Lease that is
//! renewed every few seconds for that would be the busiest object of the cluster.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
};
use kube::{Api, Client, api::PostParams};

/// How long a holder may work before another replica takes over.
pub(crate) const LEASE_DURATION: SignedDuration = SignedDuration::from_secs(15);

/// The Lease as it was last read, and since when it has not changed. Clocks of machines differ, so that the time in the
/// Lease is only compared with itself.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LeaseObservation {
    holder: String,
    renewed: Option<Timestamp>,
    since: Timestamp,
}

/// Whether `me` may take the Lease at `now`, and the observation to compare with next time.
fn free(now: Timestamp, me: &str, spec: &LeaseSpec, before: Option<&LeaseObservation>) -> (bool, LeaseObservation) {
    let holder = spec.holder_identity.clone().unwrap_or_default();
    let renewed = spec.renew_time.as_ref().map(|t| t.0);
    let since = match before {
        Some(seen) if seen.holder == holder && seen.renewed == renewed => seen.since,
        _ => now,
    };
    let over = now.duration_since(since) >= LEASE_DURATION;
    (holder.is_empty() || holder == me || over, LeaseObservation { holder, renewed, since })
}

/// A replica that takes and releases a Lease.
pub(crate) struct LeaseHolder {
    api: Api<Lease>,
    name: String,
    me: String,
    seen: Option<LeaseObservation>,
}

impl LeaseHolder {
    /// The replica `me`, for the Lease `name`.
    pub(crate) fn new(client: Client, namespace: &str, name: &str, me: &str) -> Self {
        Self { api: Api::namespaced(client, namespace), name: name.to_owned(), me: me.to_owned(), seen: None }
    }

    /// Tries to take the Lease. `None`: another replica holds it.
    pub(crate) async fn take(&mut self, now: Timestamp) -> Result<Option<Lease>, kube::Error> {
        let Some(lease) = self.api.get_opt(&self.name).await? else {
            let metadata = ObjectMeta { name: Some(self.name.clone()), ..ObjectMeta::default() };
            let lease = Lease { metadata, spec: Some(self.mine(now, &LeaseSpec::default())) };
            return unless_conflict(self.api.create(&PostParams::default(), &lease).await);
        };
        let spec = lease.spec.clone().unwrap_or_default();
        let (free, seen) = free(now, &self.me, &spec, self.seen.as_ref());
        self.seen = Some(seen);
        if !free {
            return Ok(None);
        }
        // With its resourceVersion: of two replicas that try at once, one fails.
        let lease = Lease { spec: Some(self.mine(now, &spec)), ..lease };
        unless_conflict(self.api.replace(&self.name, &PostParams::default(), &lease).await)
    }

    /// Releases the Lease.
    pub(crate) async fn release(&self, lease: Lease) -> Result<(), kube::Error> {
        let spec = lease.spec.map(|s| LeaseSpec { holder_identity: Some(String::new()), ..s });
        let lease = Lease { spec, ..lease };
        unless_conflict(self.api.replace(&self.name, &PostParams::default(), &lease).await).map(drop)
    }

    fn mine(&self, now: Timestamp, before: &LeaseSpec) -> LeaseSpec {
        let another = before.holder_identity.as_ref() != Some(&self.me);
        LeaseSpec {
            holder_identity: Some(self.me.clone()),
            lease_duration_seconds: i32::try_from(LEASE_DURATION.as_secs()).ok(),
            acquire_time: Some(MicroTime(now)),
            renew_time: Some(MicroTime(now)),
            lease_transitions: Some(before.lease_transitions.unwrap_or(0).saturating_add(another.into())),
            ..LeaseSpec::default()
        }
    }
}

/// `None` where another replica was quicker, which is not an error.
fn unless_conflict<T>(result: Result<T, kube::Error>) -> Result<Option<T>, kube::Error> {
    match result {
        Ok(done) => Ok(Some(done)),
        Err(kube::Error::Api(status)) if status.is_conflict() || status.is_already_exists() => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_free_without_a_holder_or_when_it_is_not_renewed() {
        let at = |s: i64| Timestamp::from_second(1_000_000 + s).unwrap();
        // The holder's clock is an hour ahead, which must not matter.
        let held = |renewed: i64| LeaseSpec {
            holder_identity: Some("other".to_owned()),
            renew_time: Some(MicroTime(at(3600 + renewed))),
            ..LeaseSpec::default()
        };
        let nobody = LeaseSpec { holder_identity: Some(String::new()), ..LeaseSpec::default() };
        let mine = LeaseSpec { holder_identity: Some("me".to_owned()), ..LeaseSpec::default() };
        assert!(free(at(0), "me", &LeaseSpec::default(), None).0);
        assert!(free(at(0), "me", &nobody, None).0);
        assert!(free(at(0), "me", &mine, None).0);

        let (got, seen) = free(at(0), "me", &held(0), None);
        assert!(!got);
        assert!(!free(at(14), "me", &held(0), Some(&seen)).0);
        assert!(free(at(15), "me", &held(0), Some(&seen)).0);
        let (got, seen) = free(at(15), "me", &held(10), Some(&seen));
        assert!(!got, "it was renewed");
        assert!(!free(at(29), "me", &held(10), Some(&seen)).0);
        assert!(free(at(30), "me", &held(10), Some(&seen)).0);
    }
}
