//! Which Services wait for a sync, and until when: a value that knows no clock.
//!
//! A Service is in the queue once, whatever happens to it. Of several times, the earliest counts, so that a stream of changes
//! never postpones it. While it is being synced, what happens to it waits for the end. After a failure it waits, and nothing
//! that happens meanwhile shortens or prolongs this: a storm of changes must not become a storm of requests. That nobody answers
//! is not the fault of a Service: such pauses stay short, so that it does not wait as long again as an outage took.

use std::{
    collections::{BTreeSet, HashMap},
    mem::take,
    time::Duration,
};

use roster_engine::model::{HashSeed, Text};
use tokio::time::Instant;

/// The pauses after failures: doubled from the first one up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The longest pause where nobody answered.
const LONGEST_UNANSWERED: Duration = Duration::from_secs(2);
/// After so many failures in a row the reference forgets a Service. Here it is counted, and tried again at the longest pause.
pub(super) const MANY_FAILURES: u32 = 15;

/// Namespace and name of a Service, which may not exist.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ServiceKey {
    pub(super) namespace: Text,
    pub(super) name: Text,
}

impl ServiceKey {
    pub(super) fn new(namespace: &Text, name: &Text) -> Self {
        Self { namespace: namespace.clone(), name: name.clone() }
    }
}

/// Why a Service is to be synced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Cause {
    /// Something that belongs to it has changed.
    #[default]
    Change,
    /// It may be gone: then what is left of it goes as well. Endpoints without a Service are not touched otherwise, because
    /// their Service may come later.
    Leftover,
}

impl Cause {
    fn and(self, other: Self) -> Self {
        if self == Self::Leftover { self } else { other }
    }
}

/// What has changed. It decides nothing: operators see it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Origin {
    Pods,
    Nodes,
    /// A Service, Endpoints, a slice, or a replica that begins to write.
    #[default]
    Other,
}

impl Origin {
    pub(super) const ALL: [Self; 3] = [Self::Pods, Self::Nodes, Self::Other];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Pods => "pods",
            Self::Nodes => "nodes",
            Self::Other => "other",
        }
    }
}

/// The changes that concern a Service since it was looked at last.
#[expect(clippy::struct_excessive_bools, reason = "what has changed does not depend on what the reference makes of it")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Notice {
    /// The Service, a pod or a node has changed.
    pub(super) cluster: bool,
    /// Its Endpoints were written or deleted.
    pub(super) endpoints: bool,
    /// One of its slices was written or deleted.
    pub(super) slices: bool,
    /// The reference has put the Service into its queue of Endpoints.
    pub(super) wakes_endpoints: bool,
    /// The same for slices.
    pub(super) wakes_slices: bool,
}

impl Notice {
    /// Both.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            cluster: self.cluster || other.cluster,
            endpoints: self.endpoints || other.endpoints,
            slices: self.slices || other.slices,
            wakes_endpoints: self.wakes_endpoints || other.wakes_endpoints,
            wakes_slices: self.wakes_slices || other.wakes_slices,
        }
    }
}

/// A Service that is to be synced now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DueService {
    pub(super) key: ServiceKey,
    pub(super) cause: Cause,
    /// What the reference has learnt of its changes.
    pub(super) notice: Notice,
    /// How many syncs have failed in a row.
    pub(super) failures: u32,
    /// What changed first of all that this sync includes, and when that was seen. After a failure, it includes what that sync did.
    pub(super) origin: Origin,
    pub(super) seen: Instant,
    /// How long it has been due.
    pub(super) late: Duration,
}

/// The end of a sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SyncEnd {
    /// The Service is as it should be.
    Settled,
    /// It is not; the API server may have said how long to wait.
    Failed(Option<Duration>),
    /// It is not: no API server has answered.
    Unanswered,
    /// It did not come to its end.
    Interrupted,
}

#[derive(Debug, Default)]
struct QueuedService {
    /// When it is due; `None` while nothing is to be done.
    due: Option<Instant>,
    /// Not before, because of a failure.
    held_until: Option<Instant>,
    cause: Cause,
    notice: Notice,
    /// How many syncs in a row have failed, with an answer of the API server and without one.
    refused: u32,
    unanswered: u32,
    /// What changed first since it was taken, and when that was seen.
    first: Option<(Origin, Instant)>,
    running_since: Option<Instant>,
}

impl QueuedService {
    /// Its sync has not done what it was for.
    fn take_back(&mut self, taken: &DueService) {
        self.cause = taken.cause.and(self.cause);
        self.notice = taken.notice.and(self.notice);
        self.first = Some((taken.origin, taken.seen));
    }

    fn failures(&self) -> u32 {
        self.refused.saturating_add(self.unanswered)
    }

    /// Its sync has failed, so that it waits.
    fn pause(&mut self, now: Instant, pause: Duration) {
        let held_until = now + pause;
        (self.held_until, self.due) = (Some(held_until), Some(held_until));
    }
}

/// The queue.
#[derive(Debug, Default)]
pub(super) struct Queue {
    services: HashMap<ServiceKey, QueuedService, HashSeed>,
    /// Those that are due and not running.
    waiting: BTreeSet<(Instant, ServiceKey)>,
    /// How many of these there are, by their origin.
    by_origin: [usize; Origin::ALL.len()],
    /// Those that are being synced.
    running: BTreeSet<(Instant, ServiceKey)>,
    /// How often a Service was added, and how often because its sync had failed.
    adds: u64,
    retries: u64,
}

/// The state of the queue as operators see it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct QueueReport {
    /// Those whose time has come.
    pub(super) due: usize,
    /// All that wait, by their origin: also those that are collected with other changes, and those that have failed.
    pub(super) waiting: [usize; Origin::ALL.len()],
    /// Those that have failed so often that the reference would have forgotten them.
    pub(super) failing: usize,
    pub(super) adds: u64,
    pub(super) retries: u64,
    /// How long the syncs that have not ended take already: together, and the longest of them.
    pub(super) unfinished: Duration,
    pub(super) longest: Duration,
}

/// The state of one Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QueuedReport {
    pub(super) due: Option<Instant>,
    pub(super) held_until: Option<Instant>,
    pub(super) running_since: Option<Instant>,
    pub(super) failures: u32,
    pub(super) first: Option<(Origin, Instant)>,
}

impl Queue {
    /// A Service is to be synced at `due`, or later after a failure.
    pub(super) fn wake(&mut self, key: &ServiceKey, due: Instant, cause: Cause) {
        self.wake_for(key, due, cause, (Origin::Other, due));
    }

    /// The same, for a change of this origin that was seen then.
    pub(super) fn wake_for(&mut self, key: &ServiceKey, due: Instant, cause: Cause, change: (Origin, Instant)) {
        if !self.services.contains_key(key) {
            self.services.insert(key.clone(), QueuedService::default());
        }
        let Some(service) = self.services.get_mut(key) else { return };
        service.cause = cause.and(service.cause);
        let due = service.held_until.map_or(due, |held| held.max(due));
        let earliest = service.due.map_or(due, |before| before.min(due));
        let before = service.due.replace(earliest);
        let (origin, _) = *service.first.get_or_insert(change);
        self.adds += u64::from(before.is_none());
        if service.running_since.is_some() || before == Some(earliest) {
            return;
        }
        match before {
            Some(before) => {
                self.waiting.remove(&(before, key.clone()));
            }
            None => self.by_origin[origin as usize] += 1,
        }
        self.waiting.insert((earliest, key.clone()));
    }

    /// What the reference has learnt of a change of a Service that waits.
    pub(super) fn note(&mut self, key: &ServiceKey, notice: Notice) {
        if let Some(service) = self.services.get_mut(key) {
            service.notice = service.notice.and(notice);
        }
    }

    /// Whether a Service is being synced.
    pub(super) fn is_running(&self, key: &ServiceKey) -> bool {
        self.services.get(key).is_some_and(|service| service.running_since.is_some())
    }

    /// The Service is not synced before this time.
    pub(super) fn hold(&mut self, key: &ServiceKey, until: Instant) {
        let Some(service) = self.services.get_mut(key) else { return };
        service.held_until = service.held_until.max(Some(until));
        if let Some(due) = service.due.filter(|due| *due < until) {
            service.due = Some(until);
            if self.waiting.remove(&(due, key.clone())) {
                self.waiting.insert((until, key.clone()));
            }
        }
    }

    /// When the next one is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.waiting.first().map(|(due, _)| *due)
    }

    /// Takes the next Service that is due `now`.
    pub(super) fn take(&mut self, now: Instant) -> Option<DueService> {
        self.next_due().filter(|due| *due <= now)?;
        let (due, key) = self.waiting.pop_first()?;
        let service = self.services.get_mut(&key)?;
        (service.due, service.held_until, service.running_since) = (None, None, Some(now));
        let (cause, notice) = (take(&mut service.cause), take(&mut service.notice));
        let (origin, seen) = service.first.take().unwrap_or((Origin::Other, due));
        let late = now.duration_since(due);
        self.by_origin[origin as usize] -= 1;
        self.running.insert((now, key.clone()));
        Some(DueService { key, cause, notice, failures: service.failures(), origin, seen, late })
    }

    /// The sync of a Service that was taken has ended.
    pub(super) fn end(&mut self, taken: &DueService, end: SyncEnd, now: Instant) {
        let Some(service) = self.services.get_mut(&taken.key) else { return };
        if let Some(since) = service.running_since.take() {
            self.running.remove(&(since, taken.key.clone()));
        }
        if end != SyncEnd::Settled {
            service.take_back(taken);
            self.adds += u64::from(service.due.is_none());
        }
        match end {
            SyncEnd::Settled => (service.refused, service.unanswered) = (0, 0),
            SyncEnd::Interrupted => service.due = Some(now),
            SyncEnd::Failed(wait) => {
                self.retries += 1;
                service.refused = service.refused.saturating_add(1);
                service.pause(now, wait.unwrap_or_default().max(doubled(service.refused, LONGEST_PAUSE)));
            }
            SyncEnd::Unanswered => {
                self.retries += 1;
                service.unanswered = service.unanswered.saturating_add(1);
                service.pause(now, unanswered_pause(service.unanswered));
            }
        }
        match service.due {
            Some(due) => {
                let (origin, _) = *service.first.get_or_insert((Origin::Other, due));
                self.by_origin[origin as usize] += 1;
                self.waiting.insert((due, taken.key.clone()));
            }
            None => {
                self.services.remove(&taken.key);
            }
        }
    }

    /// Forgets every Service. What was counted stays.
    pub(super) fn clear(&mut self) {
        let Self { adds, retries, .. } = *self;
        *self = Self { adds, retries, ..Self::default() };
    }

    /// The state of the queue now.
    pub(super) fn report(&self, now: Instant) -> QueueReport {
        let runs = self.running.iter().map(|(since, _)| now.saturating_duration_since(*since));
        QueueReport {
            due: self.waiting.iter().take_while(|(due, _)| *due <= now).count(),
            waiting: self.by_origin,
            failing: self.services.values().filter(|service| service.failures() > MANY_FAILURES).count(),
            adds: self.adds,
            retries: self.retries,
            unfinished: runs.clone().sum(),
            longest: runs.max().unwrap_or_default(),
        }
    }

    /// The state of a Service, if it is in the queue.
    pub(super) fn report_of(&self, key: &ServiceKey) -> Option<QueuedReport> {
        let service = self.services.get(key)?;
        let &QueuedService { due, held_until, running_since, first, .. } = service;
        Some(QueuedReport { due, held_until, running_since, failures: service.failures(), first })
    }
}

/// The pause after nobody has answered this many times in a row.
pub(super) fn unanswered_pause(times: u32) -> Duration {
    doubled(times, LONGEST_UNANSWERED)
}

/// The pause after this many failures in a row.
fn doubled(failures: u32, longest: Duration) -> Duration {
    let times = 1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
    FIRST_PAUSE.saturating_mul(times).min(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> ServiceKey {
        ServiceKey { namespace: "shop".into(), name: name.into() }
    }

    /// A queue, and a clock that stands still in between.
    struct Run {
        queue: Queue,
        start: Instant,
    }

    impl Run {
        fn new() -> Self {
            Self { queue: Queue::default(), start: Instant::now() }
        }

        fn at(&self, ms: u64) -> Instant {
            self.start + Duration::from_millis(ms)
        }

        fn wake(&mut self, name: &str, ms: u64) {
            self.queue.wake(&key(name), self.at(ms), Cause::Change);
        }

        fn take(&mut self, ms: u64) -> Option<DueService> {
            self.queue.take(self.at(ms))
        }

        /// The names that are taken, without an end of their syncs.
        fn taken(&mut self, ms: u64) -> String {
            let names = std::iter::from_fn(|| self.take(ms)).map(|due| due.key.name.to_string());
            names.collect::<Vec<_>>().join(" ")
        }
    }

    #[test]
    fn the_earliest_time_counts_and_each_service_waits_once() {
        let mut run = Run::new();
        for (name, ms) in [("a", 100), ("b", 50), ("a", 300), ("a", 70), ("a", 200), ("c", 0)] {
            run.wake(name, ms);
        }
        assert_eq!((run.queue.report(run.at(60)).due, run.queue.next_due()), (2, Some(run.at(0))));
        assert_eq!(run.queue.report(run.at(60)).waiting, [0, 0, 3]);
        assert_eq!(
            (run.taken(49), run.taken(69), run.taken(70), run.taken(1000)),
            ("c".into(), "b".into(), "a".into(), String::new())
        );
    }

    #[test]
    fn what_happens_during_a_sync_waits_for_its_end() {
        let mut run = Run::new();
        run.wake("a", 0);
        let taken = run.take(0).unwrap();
        run.wake("a", 5);
        assert_eq!(run.take(10), None, "one sync of a Service at a time");
        run.queue.end(&taken, SyncEnd::Settled, run.at(10));
        let taken = run.take(10).unwrap();
        run.queue.end(&taken, SyncEnd::Settled, run.at(11));
        assert!(run.queue.services.is_empty() && run.queue.waiting.is_empty(), "nothing is left of what is settled");
    }

    #[test]
    fn a_storm_of_changes_neither_shortens_nor_prolongs_a_pause() {
        let mut run = Run::new();
        run.wake("a", 0);
        let mut now = 0;
        let mut pauses = Vec::new();
        for failures in 1..=17 {
            let taken = run.take(now).unwrap();
            assert_eq!(taken.failures, failures - 1);
            run.queue.end(&taken, SyncEnd::Failed(None), run.at(now));
            for ms in 0..50 {
                run.wake("a", now + ms);
            }
            let due = run.queue.next_due().unwrap().duration_since(run.at(now));
            let ms = u64::try_from(due.as_millis()).unwrap();
            (now, pauses) = (now + ms, {
                pauses.push(ms);
                pauses
            });
        }
        assert_eq!(pauses[..11], [50, 100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000]);
        assert!(pauses[11..].iter().all(|pause| *pause == 30_000));
        assert_eq!(run.queue.report(run.at(now)).failing, 1, "it is not forgotten");
        let taken = run.take(now).unwrap();
        run.queue.end(&taken, SyncEnd::Settled, run.at(now));
        assert_eq!(run.queue.report(run.at(now)).failing, 0);
    }

    #[test]
    fn an_outage_prolongs_no_pause() {
        let mut run = Run::new();
        run.wake("a", 0);
        let (mut now, mut pauses) = (0, Vec::new());
        let ends = [(SyncEnd::Failed(None), 2), (SyncEnd::Unanswered, 20), (SyncEnd::Failed(None), 2)];
        for end in ends.into_iter().flat_map(|(end, times)| std::iter::repeat_n(end, times)) {
            let taken = run.take(now).unwrap();
            assert_eq!(taken.failures as usize, pauses.len(), "all are counted");
            run.queue.end(&taken, end, run.at(now));
            let due = run.queue.next_due().unwrap().duration_since(run.at(now));
            pauses.push(u64::try_from(due.as_millis()).unwrap());
            now += pauses[pauses.len() - 1];
        }
        assert_eq!(pauses[..8], [50, 100, 50, 100, 200, 400, 800, 1600]);
        assert!(pauses[8..22].iter().all(|pause| *pause == 2000), "{pauses:?}");
        assert_eq!(pauses[22..], [200, 400], "as if there had been no outage");
    }

    #[test]
    fn the_api_server_may_ask_for_more_time() {
        let mut run = Run::new();
        run.wake("a", 0);
        let taken = run.take(0).unwrap();
        run.queue.end(&taken, SyncEnd::Failed(Some(Duration::from_secs(7))), run.at(0));
        assert_eq!(run.queue.next_due(), Some(run.at(7000)));
    }

    /// Adds, retries, and those that wait by their origin.
    fn counted(run: &Run, ms: u64) -> (u64, u64, [usize; 3]) {
        let QueueReport { adds, retries, waiting, .. } = run.queue.report(run.at(ms));
        (adds, retries, waiting)
    }

    #[test]
    fn what_changed_first_is_counted_until_it_is_settled() {
        let mut run = Run::new();
        let change = |origin, ms| (origin, run.at(ms));
        let (pods, nodes, later) = (change(Origin::Pods, 0), change(Origin::Nodes, 1), change(Origin::Nodes, 30));
        run.queue.wake_for(&key("a"), run.at(10), Cause::Change, pods);
        run.queue.wake_for(&key("a"), run.at(5), Cause::Change, nodes);
        run.queue.wake_for(&key("b"), run.at(20), Cause::Change, nodes);
        assert_eq!(counted(&run, 7), (2, 0, [1, 1, 0]), "each is added once, by what changed first");
        let taken = run.take(7).unwrap();
        assert_eq!((taken.origin, taken.seen, taken.late), (Origin::Pods, run.at(0), Duration::from_millis(2)));
        run.queue.wake_for(&key("a"), run.at(30), Cause::Change, later);
        assert_eq!(counted(&run, 30), (3, 0, [0, 1, 0]), "what is added during a sync does not wait yet");
        let report = run.queue.report(run.at(40));
        assert_eq!((report.unfinished, report.longest), (Duration::from_millis(33), Duration::from_millis(33)));
        run.queue.end(&taken, SyncEnd::Failed(None), run.at(40));
        assert_eq!(counted(&run, 40), (3, 1, [1, 1, 0]));
        assert_eq!(run.queue.report(run.at(40)).longest, Duration::ZERO);
        assert_eq!(run.take(40).unwrap().key, key("b"));
        let again = run.take(90).unwrap();
        assert_eq!((again.origin, again.seen), (Origin::Pods, run.at(0)), "the first change still waits for its write");
        run.queue.end(&again, SyncEnd::Settled, run.at(91));
        assert_eq!(counted(&run, 91), (3, 1, [0, 0, 0]));
        run.wake("c", 92);
        run.queue.clear();
        assert_eq!(counted(&run, 92), (4, 1, [0, 0, 0]));
    }

    #[test]
    fn a_service_that_is_held_waits_until_then() {
        let mut run = Run::new();
        run.wake("a", 0);
        run.queue.hold(&key("a"), run.at(100));
        run.wake("a", 10);
        assert_eq!((run.taken(99), run.queue.next_due()), (String::new(), Some(run.at(100))));
        let taken = run.take(100).unwrap();
        run.queue.end(&taken, SyncEnd::Settled, run.at(100));
        run.wake("a", 101);
        assert_eq!(run.taken(101), "a");
    }

    #[test]
    fn an_interrupted_sync_is_repeated() {
        let mut run = Run::new();
        run.queue.wake(&key("a"), run.at(0), Cause::Leftover);
        let taken = run.take(0).unwrap();
        run.queue.end(&taken, SyncEnd::Interrupted, run.at(10));
        assert_eq!(run.take(10), Some(taken));
    }

    #[test]
    fn a_leftover_stays_one_until_it_is_gone() {
        let mut run = Run::new();
        run.queue.wake(&key("a"), run.at(0), Cause::Leftover);
        run.wake("a", 0);
        let taken = run.take(0).unwrap();
        assert_eq!(taken.cause, Cause::Leftover);
        run.wake("a", 0);
        run.queue.end(&taken, SyncEnd::Failed(None), run.at(0));
        let taken = run.take(50).unwrap();
        assert_eq!(taken.cause, Cause::Leftover);
        run.wake("a", 50);
        run.queue.end(&taken, SyncEnd::Settled, run.at(50));
        assert_eq!(run.take(50).unwrap().cause, Cause::Change);
    }
}
