//! A Lease, and the replica that holds it, which may write.
//!
//! The rules are those of client-go (`tools/leaderelection`). The holder renews the Lease every two seconds. If it cannot for
//! ten, it stops, because others take a Lease that they have not seen renewed for fifteen ([`LeaseTimes`]). The
//! holder counts from before its last renewal, and others count from after they have read it, each on its own clock. So one
//! stops before another begins: neither the difference of clocks nor the time of a request matters, and 5 s are left for a
//! machine that stands still.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
};
use kube::Client;
use roster_engine::model::Resource;
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout_at},
};

use super::{
    failure_log::FailureLog,
    lease_refusals::LeaseRefusals,
    writer::{WriteError, WriteOutcome, Writer},
};
use crate::runtime::{back_off::BackOff, clock::Clock};

/// The times of a Lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseTimes {
    /// How long it lasts without being renewed.
    pub duration: Duration,
    /// How long its holder tries to renew it.
    pub renew_deadline: Duration,
    /// The pause between two attempts of its holder.
    pub retry: Duration,
    /// The longest pause between two attempts of others; each is of random length, from half of it.
    pub poll: Duration,
}

impl Default for LeaseTimes {
    fn default() -> Self {
        Self {
            duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry: Duration::from_secs(2),
            poll: Duration::from_secs(4),
        }
    }
}

/// The longest wait for an answer: one that does not come leaves time for another attempt.
const ANSWER: Duration = Duration::from_secs(5);

/// A Lease, and who takes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeaseChoice<'a> {
    /// Its namespace.
    pub(crate) namespace: &'a str,
    /// Its name.
    pub(crate) name: &'a str,
    /// The replica; each has another identity.
    pub(crate) identity: &'a str,
    /// The field manager of the replicas.
    pub(crate) manager: &'static str,
    /// Its times.
    pub(crate) times: LeaseTimes,
}

/// The holder of a Lease, as one replica knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum LeaseState {
    /// Nobody, or nothing is known yet.
    #[default]
    NotHeld,
    /// This replica.
    Held,
    /// Another replica, with this identity.
    HeldBy(String),
}

/// Until when a replica may write.
#[derive(Clone, Debug)]
pub(crate) struct LeaseDeadline(watch::Receiver<Option<Instant>>);

impl LeaseDeadline {
    /// Whether it is not over yet.
    pub(crate) fn is_ahead(&self) -> bool {
        self.0.borrow().is_some_and(|deadline| Instant::now() < deadline)
    }
}

/// What became of work under a Lease.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LeaseOutcome<T> {
    /// It ended, and the Lease is released.
    Done(T),
    /// It did not begin: another replica holds the Lease.
    NotTaken,
    /// It was dropped before its end: the Lease could not be renewed, or another replica has it.
    Lost,
}

/// A replica that may hold a Lease.
pub(crate) struct LeaseHolder {
    writer: Writer<Lease>,
    name: String,
    me: String,
    clock: Clock,
    times: LeaseTimes,
    state: watch::Sender<LeaseState>,
    deadline: watch::Sender<Option<Instant>>,
    seen: Option<LeaseObservation>,
    log: FailureLog,
    refusals: LeaseRefusals,
    /// The Lease as this replica wrote it last. `None`: it must be read first, as a request of which no answer is known may
    /// have changed it.
    written: Option<Lease>,
}

impl LeaseHolder {
    /// A replica that holds nothing yet.
    pub(crate) fn new(client: Client, choice: LeaseChoice<'_>, clock: Clock) -> Self {
        Self {
            writer: Writer::new(client, Resource::Lease, Some(choice.namespace), choice.manager).within(ANSWER),
            name: choice.name.to_owned(),
            me: choice.identity.to_owned(),
            clock,
            times: choice.times,
            state: watch::Sender::default(),
            deadline: watch::Sender::default(),
            seen: None,
            log: FailureLog::default(),
            refusals: LeaseRefusals::default(),
            written: None,
        }
    }

    /// The same, and keeps here that the API server refuses the Lease.
    pub(crate) fn with_refusals(self, refusals: LeaseRefusals) -> Self {
        Self { refusals, ..self }
    }

    /// Until when this replica may write. A task that stood still sees that it is over before the loss of the Lease ends it.
    pub(crate) fn deadline(&self) -> LeaseDeadline {
        LeaseDeadline(self.deadline.subscribe())
    }

    /// Who holds the Lease, now and later.
    pub(crate) fn state(&self) -> watch::Receiver<LeaseState> {
        self.state.subscribe()
    }

    /// Takes the Lease, for which it waits as long as `patience`, and holds it until `work` ends. An error means that the
    /// Lease could not be taken.
    ///
    /// Another replica may begin as soon as the Lease is released. So all that is done under the Lease must end with `work`;
    /// who only follows the [state](Self::state) may be a moment late.
    pub(crate) async fn hold<T>(
        &mut self,
        patience: Duration,
        work: impl Future<Output = T>,
    ) -> Result<LeaseOutcome<T>, WriteError> {
        let Some(taken) = self.take(patience).await? else { return Ok(LeaseOutcome::NotTaken) };
        let held = HeldState::begin(&self.state);
        let done = tokio::select! {
            // First: after the machine stood still, work must not go on under a Lease that is over.
            biased;
            () = self.renew_from(taken) => None,
            done = work => Some(done),
        };
        self.deadline.send_replace(None);
        let Some(done) = done else { return Ok(LeaseOutcome::Lost) };
        if let Err(error) = self.release().await {
            tracing::warn!(lease = self.name, %error, "the Lease is not released: it ends by itself");
        }
        // Who follows the state may drop this future as soon as it changes.
        drop(held);
        Ok(LeaseOutcome::Done(done))
    }

    /// Returns since when the Lease is held; `None`: another replica holds it.
    async fn take(&mut self, patience: Duration) -> Result<Option<Instant>, WriteError> {
        let began = Instant::now();
        let mut back_off = BackOff::new(self.times.poll, self.times.poll).with_jitter();
        loop {
            let taken = match self.attempt().await {
                Ok(Attempt::Held(since)) => return Ok(Some(since)),
                Ok(Attempt::HeldByAnother | Attempt::Late) => Ok(None),
                Err(error) => Err(error),
            };
            let mut pause = back_off.next();
            if taken.as_ref().is_err_and(WriteError::is_answer) {
                pause = pause.max(self.times.retry);
            }
            if began.elapsed() + pause > patience {
                return taken;
            }
            if let Err(error) = taken {
                self.log(&error, "the Lease cannot be taken");
            }
            sleep(pause).await;
        }
    }

    /// Renews the Lease, which was taken or renewed at `renewed`, until it is lost.
    async fn renew_from(&mut self, mut renewed: Instant) {
        loop {
            let deadline = renewed + self.times.renew_deadline;
            self.deadline.send_replace(Some(deadline));
            match timeout_at(deadline, self.renew()).await {
                Ok(Some(again)) => renewed = again,
                Ok(None) | Err(_) => return,
            }
        }
    }

    /// Renews the Lease once, after a pause. `None`: another replica has it.
    async fn renew(&mut self) -> Option<Instant> {
        loop {
            sleep(self.times.retry).await;
            match self.attempt().await {
                Ok(Attempt::Held(since)) => return Some(since),
                Ok(Attempt::HeldByAnother) => return None,
                Ok(Attempt::Late) => {}
                Err(error) => self.log(&error, "the Lease cannot be renewed"),
            }
        }
    }

    /// Takes or renews the Lease, and keeps whether the API server refuses it.
    async fn attempt(&mut self) -> Result<Attempt, WriteError> {
        let attempt = self.try_once().await;
        match &attempt {
            Ok(_) => {
                self.log.end();
                self.refusals.end();
            }
            Err(error) if error.is_refusal() => self.refusals.refused(&self.failure(error)),
            Err(_) => {}
        }
        attempt
    }

    /// Logs that an attempt has failed, each cause once a minute.
    fn log(&mut self, error: &WriteError, message: &'static str) {
        let text = self.failure(error);
        if self.log.is_due(&text, Instant::now()) {
            tracing::warn!(lease = self.name, error = %text, "{message}");
        }
    }

    /// Why an attempt has failed, and what to do about it.
    fn failure(&self, error: &WriteError) -> String {
        match error.status() {
            Some(status) if status.code == 403 => {
                format!("{error}; a Role must name the Lease {} (get, update) and allow create", self.name)
            }
            _ => error.to_string(),
        }
    }

    /// Takes or renews the Lease, unless another replica holds it.
    async fn try_once(&mut self) -> Result<Attempt, WriteError> {
        let now = Instant::now();
        if let Some(lease) = self.written.take()
            && self.write(lease).await?
        {
            return Ok(Attempt::Held(now));
        }
        let lease = self.writer.read(&self.name).await?.unwrap_or_default();
        let spec = lease.spec.clone().unwrap_or_default();
        let (is_free, seen) = observe(Instant::now(), &self.me, self.times.duration, spec, self.seen.take());
        if !is_free {
            self.publish_holder(seen.holder());
        }
        self.seen = Some(seen);
        if !is_free {
            return Ok(Attempt::HeldByAnother);
        }
        let now = Instant::now();
        Ok(if self.write(lease).await? { Attempt::Held(now) } else { Attempt::Late })
    }

    /// Writes this replica into the version of the Lease that was read. Of several replicas that do, one is quicker.
    async fn write(&mut self, mut lease: Lease) -> Result<bool, WriteError> {
        lease.spec = Some(renewed(&self.me, self.clock.now(), self.times.duration, &lease.spec.unwrap_or_default()));
        let written = if lease.metadata.resource_version.is_some() {
            self.writer.replace(&self.name, &lease).await?
        } else {
            lease.metadata = ObjectMeta { name: Some(self.name.clone()), ..ObjectMeta::default() };
            self.writer.create(&lease).await?
        };
        self.written = match written {
            WriteOutcome::Done(lease) => Some(lease),
            WriteOutcome::Conflict | WriteOutcome::Gone => None,
        };
        Ok(self.written.is_some())
    }

    /// Releases the Lease, so that others need not wait for its end.
    async fn release(&mut self) -> Result<(), WriteError> {
        // Once more where a renewal arrives late.
        for _ in 0..2 {
            let lease = match self.written.take() {
                Some(lease) => Some(lease),
                None => self.writer.read(&self.name).await?,
            };
            let Some(mut lease) = lease else { break };
            let Some(spec) = lease.spec.as_mut().filter(|s| s.holder_identity.as_ref() == Some(&self.me)) else {
                break;
            };
            spec.holder_identity = Some(String::new());
            if self.writer.replace(&self.name, &lease).await? != WriteOutcome::Conflict {
                break;
            }
        }
        Ok(())
    }

    /// Tells who follows the state, unless it is known already.
    fn publish_holder(&self, holder: &str) {
        self.state.send_if_modified(|state| {
            let is_new = !matches!(state, LeaseState::HeldBy(known) if known == holder);
            if is_new {
                *state = LeaseState::HeldBy(holder.to_owned());
            }
            is_new
        });
    }
}

/// The result of an attempt to take or renew a Lease.
enum Attempt {
    /// It was written by a request that began then.
    Held(Instant),
    HeldByAnother,
    /// Someone else has written the Lease since it was read.
    Late,
}

/// The state `Held`, until it is dropped: also where [`LeaseHolder::hold`] is dropped.
struct HeldState(watch::Sender<LeaseState>);

impl HeldState {
    fn begin(state: &watch::Sender<LeaseState>) -> Self {
        state.send_replace(LeaseState::Held);
        Self(state.clone())
    }
}

impl Drop for HeldState {
    fn drop(&mut self) {
        self.0.send_if_modified(|state| {
            let is_held = *state == LeaseState::Held;
            if is_held {
                *state = LeaseState::NotHeld;
            }
            is_held
        });
    }
}

/// A Lease as it was read, and since when it has not changed. Clocks of machines differ, so that the times in the Lease are
/// compared with themselves only.
#[derive(Clone, Debug, PartialEq)]
struct LeaseObservation {
    spec: LeaseSpec,
    since: Instant,
}

impl LeaseObservation {
    /// Empty: nobody.
    fn holder(&self) -> &str {
        self.spec.holder_identity.as_deref().unwrap_or_default()
    }

    /// For how long its holder has promised to renew it.
    fn lasts(&self, by_default: Duration) -> Duration {
        let seconds = self.spec.lease_duration_seconds.and_then(|s| u64::try_from(s).ok());
        seconds.map_or(by_default, Duration::from_secs)
    }
}

/// Whether `me` may take the Lease, which was read until `now`, and the observation to compare with next time.
fn observe(
    now: Instant,
    me: &str,
    duration: Duration,
    spec: LeaseSpec,
    before: Option<LeaseObservation>,
) -> (bool, LeaseObservation) {
    let seen = before.filter(|before| before.spec == spec).unwrap_or(LeaseObservation { spec, since: now });
    let is_over = now.duration_since(seen.since) >= seen.lasts(duration);
    (seen.holder().is_empty() || seen.holder() == me || is_over, seen)
}

/// What `me` writes into a Lease that it may take, or holds.
fn renewed(me: &str, now: Timestamp, duration: Duration, before: &LeaseSpec) -> LeaseSpec {
    let is_mine = before.holder_identity.as_deref() == Some(me);
    LeaseSpec {
        holder_identity: Some(me.to_owned()),
        lease_duration_seconds: i32::try_from(duration.as_secs()).ok(),
        acquire_time: before.acquire_time.clone().filter(|_| is_mine).or(Some(MicroTime(now))),
        renew_time: Some(MicroTime(now)),
        lease_transitions: Some(before.lease_transitions.unwrap_or(0).saturating_add((!is_mine).into())),
        ..LeaseSpec::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIFTEEN: Duration = Duration::from_secs(15);

    #[tokio::test(start_paused = true)]
    async fn a_lease_is_free_without_a_holder_or_when_it_is_not_renewed() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        // The clock of the holder is years behind, which must not matter.
        let held = |renewed: i64, seconds: i32| LeaseSpec {
            holder_identity: Some("other".to_owned()),
            lease_duration_seconds: (seconds > 0).then_some(seconds),
            renew_time: Some(MicroTime(Timestamp::from_second(renewed).unwrap())),
            ..LeaseSpec::default()
        };
        let of = |holder: &str| LeaseSpec { holder_identity: Some(holder.to_owned()), ..LeaseSpec::default() };
        for spec in [LeaseSpec::default(), of(""), of("me")] {
            assert!(observe(at(0), "me", FIFTEEN, spec, None).0);
        }
        for (name, reads) in [
            ("not renewed", vec![(0, held(0, 15), false), (14, held(0, 15), false), (15, held(0, 15), true)]),
            (
                "renewed",
                vec![
                    (0, held(0, 15), false),
                    (15, held(10, 15), false),
                    (29, held(10, 15), false),
                    (30, held(10, 15), true),
                ],
            ),
            (
                "of a holder with another promise",
                vec![(0, held(0, 60), false), (59, held(0, 60), false), (60, held(0, 60), true)],
            ),
            ("without a promise", vec![(0, held(0, 0), false), (14, held(0, 0), false), (15, held(0, 0), true)]),
            ("released", vec![(0, held(0, 15), false), (1, of(""), true)]),
        ] {
            let mut seen = None;
            for (seconds, spec, want) in reads {
                let (is_free, now) = observe(at(seconds), "me", FIFTEEN, spec, seen);
                assert_eq!(is_free, want, "{name} {seconds}");
                seen = Some(now);
            }
        }
    }

    #[test]
    fn a_renewal_is_not_another_acquisition() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let taken = renewed("a", at(1), FIFTEEN, &LeaseSpec::default());
        let again = renewed("a", at(3), FIFTEEN, &taken);
        let moved = renewed("b", at(20), FIFTEEN, &again);
        let written = [taken, again, moved].map(|spec| {
            let times = [spec.acquire_time, spec.renew_time].map(|time| time.map(|t| t.0.as_second()));
            (spec.holder_identity, spec.lease_duration_seconds, spec.lease_transitions, times)
        });
        let want = |holder: &str, transitions, acquired, renewed| {
            (Some(holder.to_owned()), Some(15), Some(transitions), [Some(acquired), Some(renewed)])
        };
        assert_eq!(written, [want("a", 1, 1, 1), want("a", 1, 1, 3), want("b", 2, 20, 20)]);
    }
}
