//! Which Services wait for a sync, and until when: a value that knows no clock.
//!
//! A Service is in the queue once, whatever happens to it. Of several times, the earliest counts, so that a stream of changes
//! never postpones it. While it is being synced, what happens to it waits for the end. After a failure it waits, and nothing
//! that happens meanwhile shortens or prolongs this: a storm of changes must not become a storm of requests.

use std::{
    collections::{BTreeSet, HashMap},
    mem::take,
    time::Duration,
};

use roster_engine::model::{HashSeed, Text};
use tokio::time::Instant;

use super::shadow::Notice;

/// The pauses after failures: doubled from the first one up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
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

/// A Service that is to be synced now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DueService {
    pub(super) key: ServiceKey,
    pub(super) cause: Cause,
    /// What the reference has learnt of its changes.
    pub(super) notice: Notice,
    /// How many syncs have failed in a row.
    pub(super) failures: u32,
}

/// The end of a sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SyncEnd {
    /// The Service is as it should be.
    Settled,
    /// It is not; the API server may have said how long to wait.
    Failed(Option<Duration>),
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
    failures: u32,
    is_running: bool,
}

impl QueuedService {
    /// Its sync has not done what it was for.
    fn take_back(&mut self, taken: &DueService) {
        self.cause = taken.cause.and(self.cause);
        self.notice = taken.notice.and(self.notice);
    }
}

/// The queue.
#[derive(Debug, Default)]
pub(super) struct Queue {
    services: HashMap<ServiceKey, QueuedService, HashSeed>,
    /// Those that are due and not running.
    waiting: BTreeSet<(Instant, ServiceKey)>,
}

impl Queue {
    /// A Service is to be synced at `due`, or later after a failure.
    pub(super) fn wake(&mut self, key: &ServiceKey, due: Instant, cause: Cause) {
        if !self.services.contains_key(key) {
            self.services.insert(key.clone(), QueuedService::default());
        }
        let Some(service) = self.services.get_mut(key) else { return };
        service.cause = cause.and(service.cause);
        let due = service.held_until.map_or(due, |held| held.max(due));
        let earliest = service.due.map_or(due, |before| before.min(due));
        let before = service.due.replace(earliest);
        if service.is_running || before == Some(earliest) {
            return;
        }
        if let Some(before) = before {
            self.waiting.remove(&(before, key.clone()));
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
        self.services.get(key).is_some_and(|service| service.is_running)
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
        let (_, key) = self.waiting.pop_first()?;
        let service = self.services.get_mut(&key)?;
        (service.due, service.held_until, service.is_running) = (None, None, true);
        let (cause, notice) = (take(&mut service.cause), take(&mut service.notice));
        Some(DueService { key, cause, notice, failures: service.failures })
    }

    /// The sync of a Service that was taken has ended.
    pub(super) fn end(&mut self, taken: &DueService, end: SyncEnd, now: Instant) {
        let Some(service) = self.services.get_mut(&taken.key) else { return };
        service.is_running = false;
        match end {
            SyncEnd::Settled => service.failures = 0,
            SyncEnd::Interrupted => {
                service.take_back(taken);
                service.due = Some(now);
            }
            SyncEnd::Failed(wait) => {
                service.failures = service.failures.saturating_add(1);
                service.take_back(taken);
                let held_until = now + wait.unwrap_or_default().max(pause(service.failures));
                (service.held_until, service.due) = (Some(held_until), Some(held_until));
            }
        }
        match service.due {
            Some(due) => {
                self.waiting.insert((due, taken.key.clone()));
            }
            None => {
                self.services.remove(&taken.key);
            }
        }
    }

    /// How many Services wait.
    pub(super) fn depth(&self) -> usize {
        self.waiting.len()
    }

    /// How many have failed so often that the reference would have forgotten them.
    pub(super) fn failing(&self) -> usize {
        self.services.values().filter(|service| service.failures > MANY_FAILURES).count()
    }
}

/// The pause after this many failures in a row.
fn pause(failures: u32) -> Duration {
    let doubled = 1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
    FIRST_PAUSE.saturating_mul(doubled).min(LONGEST_PAUSE)
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
        assert_eq!((run.queue.depth(), run.queue.next_due()), (3, Some(run.at(0))));
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
        assert_eq!(run.queue.failing(), 1, "it is not forgotten");
        let taken = run.take(now).unwrap();
        run.queue.end(&taken, SyncEnd::Settled, run.at(now));
        assert_eq!(run.queue.failing(), 0);
    }

    #[test]
    fn the_api_server_may_ask_for_more_time() {
        let mut run = Run::new();
        run.wake("a", 0);
        let taken = run.take(0).unwrap();
        run.queue.end(&taken, SyncEnd::Failed(Some(Duration::from_secs(7))), run.at(0));
        assert_eq!(run.queue.next_due(), Some(run.at(7000)));
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
