//! The differences of each Service, since when they are there, and which of them are to be reported: a value without a clock.
//!
//! A change of a pod is followed by a write of the controllers, and the two are never seen at once. So a difference counts when
//! it is older than a grace. Differences that kube-controller-manager has not been woken for stay as long as nothing else happens
//! to the Service: they are reported apart, as unsettled.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    time::Duration,
};

use roster_engine::{
    compare::{Drift, PublishedList},
    model::HashSeed,
};
use tokio::time::Instant;

use super::{
    found_drift::{AFTER_A_WRITE, CORRECTION, DriftCause, FoundDrift},
    grace::Latencies,
    shadow_class::ShadowClass,
};
use crate::servers::controller::queue::{Notice, ServiceKey};

/// How long past differences are reported.
const RECENT: Duration = Duration::from_mins(10);
/// How many past differences are reported.
const MANY: usize = 200;
/// A Service that was healed so often within [`RECENT`] is left alone: someone disagrees.
const HEALINGS: usize = 3;

/// The differences of all Services.
#[derive(Debug, Default)]
pub(super) struct DriftBook {
    services: HashMap<ServiceKey, DriftRecord, HashSeed>,
    latencies: Latencies,
    past: VecDeque<PastDrift>,
    /// How many were reported, and how many were healed, since the start.
    named: BTreeMap<ShadowClass, u64>,
    healed: BTreeMap<ShadowClass, u64>,
    /// After how long a difference is healed, if it is.
    heal_after: Option<Duration>,
}

#[derive(Debug, Default)]
struct DriftRecord {
    found: BTreeMap<Drift, FoundDrift>,
    /// The last write of its Endpoints or slices.
    written: Option<Instant>,
    healed: Vec<Instant>,
}

/// What follows from a look at a Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Look {
    /// A difference is due to be reported or healed: the Service is to be read from the API server.
    pub(super) is_due: bool,
    /// When to look again, if nothing happens.
    pub(super) again: Option<Instant>,
}

/// A difference that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PastDrift {
    pub(super) key: ServiceKey,
    pub(super) class: ShadowClass,
    pub(super) drift: Drift,
    pub(super) lasted: Duration,
    pub(super) ended: Instant,
    /// This program has put it right.
    pub(super) is_healed: bool,
}

/// Differences of one Service, class and list, that are reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedDrifts {
    pub(super) class: ShadowClass,
    pub(super) list: PublishedList,
    /// The oldest of them.
    pub(super) since: Instant,
    /// The first few of them.
    pub(super) sample: Vec<Drift>,
    pub(super) count: usize,
}

/// How many differences of a class are named one by one.
const SAMPLE: usize = 3;

impl DriftBook {
    pub(super) fn new(heal_after: Option<Duration>) -> Self {
        Self { heal_after, ..Self::default() }
    }

    /// How long a difference may last.
    pub(super) fn grace(&self) -> Duration {
        self.latencies.grace()
    }

    /// What this part of a hundred differences takes at most.
    pub(super) fn percentile(&self, percent: usize) -> Option<Duration> {
        self.latencies.percentile(percent)
    }

    /// A Service was compared, after these changes. `was_forgotten` tells of a difference without one whether it comes of a change
    /// that wakes nobody.
    pub(super) fn looked(
        &mut self,
        key: &ServiceKey,
        drifts: &[Drift],
        notice: Notice,
        was_forgotten: impl Fn(&Drift) -> bool,
        now: Instant,
    ) -> Look {
        let is_written = notice.endpoints || notice.slices;
        if drifts.is_empty() && !is_written && !self.services.contains_key(key) {
            return Look { is_due: false, again: None };
        }
        let grace = self.grace();
        let mut record = self.services.remove(key).unwrap_or_default();
        let was_written = record.written.is_some_and(|at| now.duration_since(at) < AFTER_A_WRITE);
        if is_written {
            record.written = Some(now);
        }
        let over: Vec<(Drift, FoundDrift)> =
            record.found.extract_if(.., |drift, _| drifts.binary_search(drift).is_err()).collect();
        for (drift, found) in over {
            self.ended(key, drift, &found, now);
        }
        for drift in drifts {
            let cause = DriftCause::of(drift, notice, &was_forgotten);
            match record.found.get_mut(drift) {
                Some(found) => found.see_again(cause, grace, now),
                None => {
                    record.found.insert(drift.clone(), FoundDrift::new(cause, was_written, grace, now));
                }
            }
        }
        let look = self.look(&record, now);
        self.services.insert(key.clone(), record);
        look
    }

    /// What is due of a record, and when it is to be looked at again.
    fn look(&self, record: &DriftRecord, now: Instant) -> Look {
        let heal_after = self.heal_after.filter(|_| !is_contested(record, now));
        let times = record.found.values().flat_map(|found| match found.named {
            None => [Some(found.due()), None],
            Some(_) => [found.stuck_from().filter(|_| !found.is_stuck), heal_after.map(|after| found.since + after)],
        });
        let next = times.flatten().min();
        let is_due = next.is_some_and(|at| at <= now);
        Look { is_due, again: next.filter(|_| !is_due) }
    }

    /// The Service was read from the API server, and has these differences. Returns what is to be reported now, and whether
    /// it is to be healed.
    pub(super) fn confirm(&mut self, key: &ServiceKey, drifts: &[Drift], now: Instant) -> (Vec<NamedDrifts>, bool) {
        let heal_after = self.heal_after;
        let Some(record) = self.services.get_mut(key) else { return (Vec::new(), false) };
        // The watch was late.
        record.found.retain(|drift, _| drifts.binary_search(drift).is_ok());
        let mut new = Vec::new();
        for (drift, found) in &mut record.found {
            if found.named.is_none() && found.due() <= now {
                let class = found.class(drift);
                found.named = Some(class);
                new.push((drift, class, found.since));
            }
            if !found.is_stuck && found.named.is_some() && found.stuck_from().is_some_and(|from| from <= now) {
                found.is_stuck = true;
                new.push((drift, ShadowClass::Stuck, found.since));
            }
        }
        for (_, class, _) in &new {
            *self.named.entry(*class).or_default() += 1;
        }
        let new = grouped(new.into_iter());
        let is_over = |found: &FoundDrift| heal_after.is_some_and(|after| found.since + after <= now);
        let heals = !is_contested(record, now) && record.found.values().any(|f| f.named.is_some() && is_over(f));
        (new, heals)
    }

    /// When the Service is to be looked at again after it was confirmed, if nothing happens.
    pub(super) fn again(&self, key: &ServiceKey, now: Instant) -> Option<Instant> {
        let look = self.look(self.services.get(key)?, now);
        // What is due still could not be healed, and its time has come before.
        look.again.or_else(|| look.is_due.then(|| now + self.grace()))
    }

    /// It was tried to write what was wrong with the Service, and this many writes were accepted. Returns how long the oldest
    /// difference was there, if that has put it right.
    pub(super) fn healed(&mut self, key: &ServiceKey, writes: usize, now: Instant) -> Option<Duration> {
        let record = self.services.get_mut(key)?;
        record.healed.retain(|at| now.duration_since(*at) < RECENT);
        record.healed.push(now);
        if writes == 0 {
            return None;
        }
        let found = std::mem::take(&mut record.found);
        let oldest = found.values().map(|found| now.duration_since(found.since)).max();
        for (drift, found) in found {
            let class = found.named.unwrap_or(drift.class.into());
            *self.healed.entry(class).or_default() += 1;
            let (key, lasted) = (key.clone(), now.duration_since(found.since));
            self.past.push_back(PastDrift { key, class, drift, lasted, ended: now, is_healed: true });
        }
        self.forget_past(now);
        oldest
    }

    /// A difference is gone without this program.
    fn ended(&mut self, key: &ServiceKey, drift: Drift, found: &FoundDrift, now: Instant) {
        let lasted = now.duration_since(found.begin());
        let own = found.own_delay();
        let is_slow = found.woken.is_some() && lasted > found.grace + own;
        if found.woken.is_some() {
            // Not all of them wait of their own will.
            let took = if lasted < CORRECTION { lasted } else { lasted.saturating_sub(own) };
            self.latencies.add(took, is_slow.then_some(found.grace), now);
        }
        if let Some(class) = found.named {
            if is_slow {
                *self.named.entry(ShadowClass::Slow).or_default() += 1;
            }
            let class = if is_slow { ShadowClass::Slow } else { class };
            self.past.push_back(PastDrift { key: key.clone(), class, drift, lasted, ended: now, is_healed: false });
            self.forget_past(now);
        }
    }

    fn forget_past(&mut self, now: Instant) {
        while self.past.len() > MANY || self.past.front().is_some_and(|past| now.duration_since(past.ended) > RECENT) {
            self.past.pop_front();
        }
    }

    /// Forgets what does not count any more.
    pub(super) fn sweep(&mut self, now: Instant) {
        let is_over = |at: &Instant, time: Duration| now.duration_since(*at) >= time;
        self.services.retain(|_, record| {
            record.healed.retain(|at| !is_over(at, RECENT));
            record.written = record.written.filter(|at| !is_over(at, AFTER_A_WRITE));
            !record.found.is_empty() || !record.healed.is_empty() || record.written.is_some()
        });
        self.latencies.sweep(now);
        self.forget_past(now);
    }

    /// What is reported of each Service, and whether it is not healed because someone disagrees: sorted by Service.
    pub(super) fn named(&self, now: Instant) -> Vec<(&ServiceKey, Vec<NamedDrifts>, bool)> {
        let mut all: Vec<_> = self
            .services
            .iter()
            .map(|(key, record)| {
                let named = record.found.iter();
                let named = named.filter_map(|(drift, found)| Some((drift, found.named?, found.since)));
                let stuck = record.found.iter().filter(|(_, found)| found.is_stuck);
                let stuck = stuck.map(|(drift, found)| (drift, ShadowClass::Stuck, found.since));
                (key, grouped(named.chain(stuck)), self.heal_after.is_some() && is_contested(record, now))
            })
            .filter(|(_, named, is_contested)| !named.is_empty() || *is_contested)
            .collect();
        all.sort_unstable_by_key(|(key, ..)| *key);
        all
    }

    /// Whether a Service is left alone, because someone disagrees with what was healed.
    pub(super) fn leaves_alone(&self, key: &ServiceKey, now: Instant) -> bool {
        self.services.get(key).is_some_and(|record| is_contested(record, now))
    }

    /// How many Services are left alone.
    pub(super) fn left_alone(&self, now: Instant) -> usize {
        self.services.values().filter(|record| is_contested(record, now)).count()
    }

    /// What is over, the oldest first.
    pub(super) fn past(&self) -> impl Iterator<Item = &PastDrift> {
        self.past.iter()
    }

    /// How many differences of a class were reported and healed since the start.
    pub(super) fn totals(&self, class: ShadowClass) -> (u64, u64) {
        let of = |all: &BTreeMap<ShadowClass, u64>| all.get(&class).copied().unwrap_or_default();
        (of(&self.named), of(&self.healed))
    }
}

fn is_contested(record: &DriftRecord, now: Instant) -> bool {
    record.healed.iter().filter(|at| now.duration_since(**at) < RECENT).count() >= HEALINGS
}

/// Differences by class and list.
fn grouped<'a>(drifts: impl Iterator<Item = (&'a Drift, ShadowClass, Instant)>) -> Vec<NamedDrifts> {
    let mut groups: BTreeMap<(ShadowClass, PublishedList), NamedDrifts> = BTreeMap::new();
    for (drift, class, since) in drifts {
        let new = || NamedDrifts { class, list: drift.list, since, sample: Vec::new(), count: 0 };
        let group = groups.entry((class, drift.list)).or_insert_with(new);
        group.since = group.since.min(since);
        group.count += 1;
        if group.sample.len() < SAMPLE {
            group.sample.push(drift.clone());
        }
    }
    groups.into_values().collect()
}

#[cfg(test)]
mod tests {
    use roster_engine::compare::DriftClass;

    use super::*;

    const NOTHING: Notice =
        Notice { cluster: false, endpoints: false, slices: false, wakes_endpoints: false, wakes_slices: false };
    const PHASE_ONLY: Notice = Notice { cluster: true, ..NOTHING };
    const POD_READY: Notice = Notice { wakes_endpoints: true, wakes_slices: true, ..PHASE_ONLY };
    const SLICE_WRITTEN: Notice = Notice { slices: true, wakes_slices: true, ..NOTHING };
    const ENDPOINTS_WRITTEN: Notice = Notice { endpoints: true, ..NOTHING };

    /// A book about one Service, and a clock.
    struct Run {
        book: DriftBook,
        start: Instant,
        /// What the Service lacks.
        drifts: Vec<Drift>,
    }

    fn key() -> ServiceKey {
        ServiceKey { namespace: "shop".into(), name: "web".into() }
    }

    fn drift(what: &str) -> Drift {
        Drift {
            class: DriftClass::ReadyPodMissing,
            list: PublishedList::Slices,
            what: what.into(),
            pod: "web-0".into(),
            ports: "http 80/TCP".into(),
        }
    }

    impl Run {
        fn new(heal_after: Option<u64>) -> Self {
            let book = DriftBook::new(heal_after.map(Duration::from_millis));
            Self { book, start: Instant::now(), drifts: Vec::new() }
        }

        fn at(&self, ms: u64) -> Instant {
            self.start + Duration::from_millis(ms)
        }

        /// After this change, these addresses are missing. When it is looked at again, in ms; 0: at once.
        fn look(&mut self, ms: u64, missing: &[&str], notice: Notice) -> Option<u64> {
            self.drifts = missing.iter().map(|what| drift(what)).collect();
            let look = self.book.looked(&key(), &self.drifts.clone(), notice, |_| false, self.at(ms));
            let again = look.again.map(|at| u64::try_from(at.duration_since(self.start).as_millis()).unwrap());
            if look.is_due { Some(0) } else { again }
        }

        /// Looks after nothing, and confirms what is due: classes with the number of their differences.
        fn confirm(&mut self, ms: u64) -> (String, bool) {
            let at = self.at(ms);
            let drifts = self.drifts.clone();
            assert!(self.book.looked(&key(), &drifts, NOTHING, |_| false, at).is_due, "nothing is due");
            let (named, heals) = self.book.confirm(&key(), &drifts, at);
            (named.iter().map(|n| format!("{}={}", n.class.name(), n.count)).collect::<Vec<_>>().join(" "), heals)
        }

        fn named(&self, ms: u64) -> String {
            let all = self.book.named(self.at(ms));
            all.iter().flat_map(|(_, named, _)| named).map(|n| n.class.name()).collect::<Vec<_>>().join(" ")
        }
    }

    #[test]
    fn what_the_controllers_put_right_in_time_is_not_reported() {
        let mut run = Run::new(None);
        assert_eq!(run.look(0, &[], POD_READY), None);
        assert_eq!(run.look(10, &["10.0.0.1"], POD_READY), Some(810));
        assert_eq!(run.look(500, &["10.0.0.1", "10.0.0.2"], POD_READY), Some(810));
        assert_eq!(run.look(700, &["10.0.0.2"], SLICE_WRITTEN), Some(500 + 800 + 2000), "as it was when it began");
        assert_eq!(run.look(900, &[], SLICE_WRITTEN), None);
        assert_eq!((run.named(900), run.book.past().count()), (String::new(), 0));
        assert_eq!(run.book.percentile(0), Some(Duration::from_millis(400)));
        assert_eq!(run.book.percentile(100), Some(Duration::from_millis(690)));
        assert_eq!(run.book.grace(), Duration::from_millis(2070));
    }

    #[test]
    fn a_controller_that_does_nothing_is_stuck() {
        let mut run = Run::new(None);
        run.look(0, &["10.0.0.1", "10.0.0.2"], POD_READY);
        assert_eq!(run.confirm(800).0, "ready-pod-missing=2 stuck=2");
        assert_eq!(run.named(800), "ready-pod-missing stuck");
        assert_eq!(run.look(5000, &["10.0.0.1"], SLICE_WRITTEN), None);
        assert_eq!(run.named(5000), "ready-pod-missing", "it does something");
        run.look(6000, &[], SLICE_WRITTEN);
        assert_eq!(run.named(6000), "");
        let past: Vec<_> = run.book.past().map(|past| (past.class, past.lasted.as_secs())).collect();
        assert_eq!(past, [(ShadowClass::Slow, 5), (ShadowClass::Slow, 6)]);
        assert_eq!((run.book.grace().as_millis(), run.book.totals(ShadowClass::Slow)), (800, (2, 0)));
    }

    #[test]
    fn what_the_reference_forgets_is_unsettled_until_it_is_woken() {
        let mut run = Run::new(None);
        run.look(0, &["10.0.0.1"], PHASE_ONLY);
        assert_eq!(run.confirm(800).0, "unsettled=1");
        assert_eq!(run.look(10_000, &["10.0.0.1"], POD_READY), Some(10_800));
        assert_eq!(run.named(10_000), "");
        assert_eq!(run.confirm(10_800).0, "ready-pod-missing=1 stuck=1");
    }

    #[test]
    fn what_was_forgotten_before_the_start_is_unsettled() {
        let mut run = Run::new(None);
        run.drifts = vec![Drift { class: DriftClass::StaleAddress, ..drift("10.0.0.1") }];
        let (drifts, key) = (run.drifts.clone(), key());
        run.book.looked(&key, &drifts, NOTHING, |drift| drift.what == "10.0.0.1", run.at(0));
        assert_eq!(run.confirm(800).0, "unsettled=1");
        run.book.looked(&key, &drifts, POD_READY, |_| true, run.at(1000));
        assert_eq!(run.confirm(1800).0, "stale-address=1 stuck=1");
    }

    #[test]
    fn after_a_stall_the_next_one_is_reported_as_soon() {
        let mut run = Run::new(None);
        let all = ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6"];
        run.look(0, &all, POD_READY);
        run.confirm(800);
        for (n, ms) in (0..all.len()).zip(10_000..) {
            run.look(ms, &all[n + 1..], SLICE_WRITTEN);
        }
        let slow = run.book.past().filter(|past| past.class == ShadowClass::Slow).count();
        assert_eq!((slow, run.look(20_000, &["10.0.0.1"], POD_READY)), (6, Some(20_800)));
    }

    #[test]
    fn a_correction_takes_a_second_more() {
        let mut run = Run::new(None);
        run.look(0, &["10.0.0.1"], SLICE_WRITTEN);
        assert_eq!(run.confirm(800).0, "ready-pod-missing=1");
        assert_eq!(run.look(801, &["10.0.0.1"], NOTHING), Some(1800));
        assert_eq!(run.confirm(1800).0, "stuck=1");
    }

    #[test]
    fn the_reference_may_wait_for_its_own_write() {
        let mut run = Run::new(None);
        run.look(0, &[], SLICE_WRITTEN);
        assert_eq!(run.look(100, &["10.0.0.1"], POD_READY), Some(2900));
        run.look(200, &[], SLICE_WRITTEN);
        assert_eq!(run.look(5000, &["10.0.0.1"], POD_READY), Some(5800));
        assert_eq!(run.look(5010, &["10.0.0.1"], SLICE_WRITTEN), Some(7800), "it has planned before");
    }

    #[test]
    fn what_is_there_at_the_start_counts_and_a_late_watch_does_not() {
        let mut run = Run::new(None);
        run.look(0, &["10.0.0.1"], NOTHING);
        assert_eq!(run.book.confirm(&key(), &[], run.at(800)), (Vec::new(), false));
        run.look(1000, &["10.0.0.1"], NOTHING);
        assert_eq!(run.confirm(1800).0, "ready-pod-missing=1");
    }

    #[test]
    fn a_service_is_healed_until_someone_disagrees() {
        let mut run = Run::new(Some(2000));
        for ms in [0, 10_000, 20_000] {
            assert_eq!(run.look(ms, &["10.0.0.1"], POD_READY), Some(ms + 800));
            assert_eq!(run.confirm(ms + 800), ("ready-pod-missing=1 stuck=1".to_owned(), false));
            assert_eq!(run.look(ms + 801, &["10.0.0.1"], NOTHING), Some(ms + 2000));
            assert_eq!(run.confirm(ms + 2000), (String::new(), true));
            assert_eq!(run.book.healed(&key(), 1, run.at(ms + 2000)), Some(Duration::from_secs(2)));
            assert_eq!((run.look(ms + 2001, &[], SLICE_WRITTEN), run.named(ms + 2001)), (None, String::new()));
        }
        run.look(30_000, &["10.0.0.1"], POD_READY);
        assert_eq!(run.confirm(30_800), ("ready-pod-missing=1 stuck=1".to_owned(), false));
        assert!(run.book.named(run.at(30_800))[0].2, "it is left alone");
        assert_eq!((run.book.leaves_alone(&key(), run.at(30_800)), run.book.left_alone(run.at(30_800))), (true, 1));
        assert_eq!(run.look(30_801, &["10.0.0.1"], NOTHING), None);
        let later = 2000 + RECENT.as_secs() * 1000;
        assert_eq!(run.look(later, &["10.0.0.1"], NOTHING), Some(0));
        assert_eq!(run.book.totals(ShadowClass::ReadyPodMissing), (4, 3));
    }

    #[test]
    fn the_garbage_collector_has_more_time_and_is_not_stuck() {
        for (notice, due, named) in [(POD_READY, 30_800, "orphan=1"), (SLICE_WRITTEN, 800, "orphan=1")] {
            let mut run = Run::new(None);
            run.drifts = vec![Drift { class: DriftClass::Orphan, ..drift("web-1") }];
            let look = run.book.looked(&key(), &run.drifts.clone(), notice, |_| false, run.at(0));
            assert_eq!(look.again, Some(run.at(due)));
            assert_eq!(run.confirm(due).0, named);
        }
    }

    #[test]
    fn a_write_of_one_list_says_nothing_of_the_other() {
        let mut run = Run::new(None);
        run.look(0, &["10.0.0.1"], PHASE_ONLY);
        assert_eq!(run.look(10, &["10.0.0.1"], ENDPOINTS_WRITTEN), Some(800));
        assert_eq!(run.confirm(800).0, "unsettled=1");
    }

    #[test]
    fn what_cannot_be_healed_stays_in_the_report() {
        let mut run = Run::new(Some(1000));
        run.look(0, &["10.0.0.1"], POD_READY);
        run.confirm(800);
        for ms in [1000, 2000, 3000] {
            assert_eq!(run.confirm(ms), (String::new(), true));
            assert_eq!(run.book.healed(&key(), 0, run.at(ms)), None);
        }
        assert_eq!(run.named(3000), "ready-pod-missing stuck");
        assert_eq!(run.look(3001, &["10.0.0.1"], NOTHING), None, "it is left alone");
    }

    #[test]
    fn nothing_is_left_of_what_is_over() {
        let mut run = Run::new(None);
        run.look(0, &["10.0.0.1"], POD_READY);
        run.look(10, &[], SLICE_WRITTEN);
        run.book.sweep(run.at(10));
        assert_eq!(run.book.services.len(), 1);
        run.book.sweep(run.at(3000));
        assert!(run.book.services.is_empty());
    }
}
