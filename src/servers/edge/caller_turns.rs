//! Places that callers take in turn: one that wants many of them delays another by what is in progress, and not by what waits.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::oneshot, time::timeout};

use super::caller::CallerDigest;

/// The longest wait.
pub(super) const WAIT: Duration = Duration::from_secs(3);

/// A number of places. A caller may hold as many as are free, so that one that comes later finds some: if there are eight, the
/// first caller gets four and the second one two. A clone has the same places.
#[derive(Clone, Debug)]
pub(super) struct CallerTurns(Arc<Mutex<TurnQueues>>);

#[derive(Debug)]
struct TurnQueues {
    free: usize,
    /// How many may wait, of all callers.
    most_waiting: usize,
    /// Callers that hold a place or wait for one. The one whose turn was the longest ago is the first.
    callers: VecDeque<CallerQueue>,
}

/// A caller: what it holds, and its requests that wait.
#[derive(Debug)]
struct CallerQueue {
    caller: CallerDigest,
    held: usize,
    waiting: VecDeque<oneshot::Sender<CallerTurn>>,
}

/// A place until it is dropped.
#[derive(Debug)]
pub(super) struct CallerTurn {
    turns: CallerTurns,
    caller: CallerDigest,
}

impl CallerTurns {
    pub(super) fn new(places: usize, most_waiting: usize) -> Self {
        Self(Arc::new(Mutex::new(TurnQueues { free: places, most_waiting, callers: VecDeque::new() })))
    }

    /// A place, once it is the turn of the caller. `None`: too many wait, and this caller has the most of them; or it took too
    /// long.
    pub(super) async fn take(&self, caller: CallerDigest) -> Option<CallerTurn> {
        let (waiter, turn) = oneshot::channel();
        self.change(|queues| queues.join(caller, waiter));
        timeout(WAIT, turn).await.ok()?.ok()
    }

    /// Changes the queues, and gives out the places that are free then.
    fn change(&self, change: impl FnOnce(&mut TurnQueues)) {
        let mut unclaimed = Vec::new();
        {
            let mut queues = self.lock();
            change(&mut queues);
            while let Some((caller, waiter)) = queues.next() {
                if let Err(turn) = waiter.send(CallerTurn { turns: self.clone(), caller }) {
                    unclaimed.push(turn);
                }
            }
        }
        // Only now: a place that is given back locks the queues.
        drop(unclaimed);
    }

    fn lock(&self) -> MutexGuard<'_, TurnQueues> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for CallerTurn {
    fn drop(&mut self) {
        self.turns.change(|queues| queues.give_back(self.caller));
    }
}

impl TurnQueues {
    /// Lets a request wait. If too many do, the caller with the most loses its last one.
    fn join(&mut self, caller: CallerDigest, waiter: oneshot::Sender<CallerTurn>) {
        if self.waiting() >= self.most_waiting {
            self.forget_gone();
        }
        let known = self.callers.iter_mut().find(|queue| queue.caller == caller);
        match known {
            Some(queue) => queue.waiting.push_back(waiter),
            None => self.callers.push_back(CallerQueue { caller, held: 0, waiting: [waiter].into() }),
        }
        if self.waiting() > self.most_waiting
            && let Some(most) = self.callers.iter_mut().max_by_key(|queue| queue.waiting.len())
        {
            most.waiting.pop_back();
            self.forget_idle();
        }
    }

    /// The request whose turn it is, if there is a place for it.
    fn next(&mut self) -> Option<(CallerDigest, oneshot::Sender<CallerTurn>)> {
        let free = self.free;
        let at = self.callers.iter_mut().position(|queue| queue.held < free && queue.is_waiting())?;
        let mut queue = self.callers.remove(at)?;
        let waiter = queue.waiting.pop_front()?;
        queue.held += 1;
        self.free -= 1;
        let caller = queue.caller;
        self.callers.push_back(queue);
        Some((caller, waiter))
    }

    fn give_back(&mut self, caller: CallerDigest) {
        self.free += 1;
        if let Some(queue) = self.callers.iter_mut().find(|queue| queue.caller == caller) {
            queue.held -= 1;
        }
        self.forget_idle();
    }

    fn waiting(&self) -> usize {
        self.callers.iter().map(|queue| queue.waiting.len()).sum()
    }

    /// Forgets requests that have ended while they waited.
    fn forget_gone(&mut self) {
        for queue in &mut self.callers {
            queue.waiting.retain(|waiter| !waiter.is_closed());
        }
        self.forget_idle();
    }

    fn forget_idle(&mut self) {
        self.callers.retain(|queue| queue.held > 0 || !queue.waiting.is_empty());
    }
}

impl CallerQueue {
    /// Whether its first request still waits. Those before that have ended meanwhile are forgotten.
    fn is_waiting(&mut self) -> bool {
        while self.waiting.front().is_some_and(oneshot::Sender::is_closed) {
            self.waiting.pop_front();
        }
        !self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt, future::join_all};
    use tokio::{task::JoinHandle, time::sleep};

    use super::*;

    const PLACES: usize = 8;
    const WAITING: usize = 32;

    fn caller(name: char) -> CallerDigest {
        CallerDigest::from_hex(&format!("{:02x}", u32::from(name)).repeat(32)).unwrap()
    }

    /// The number of places that are free, of requests that wait, and of callers.
    fn counts(turns: &CallerTurns) -> (usize, usize, usize) {
        let mut queues = turns.lock();
        queues.forget_gone();
        (queues.free, queues.waiting(), queues.callers.len())
    }

    /// Takes places for callers, one after the other, as far as there are some at once.
    fn held(turns: &CallerTurns, callers: &str) -> (Vec<CallerTurn>, String) {
        let taken: Vec<_> = callers.chars().filter_map(|c| Some((turns.take(caller(c)).now_or_never()??, c))).collect();
        let names = taken.iter().map(|(_, name)| name).collect();
        (taken.into_iter().map(|(turn, _)| turn).collect(), names)
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_may_hold_as_many_as_are_free() {
        for (callers, want) in [
            ("aaaaaaaa", "aaaa"),
            ("aaaaaaaabbbb", "aaaabb"),
            ("aaaaaaaabbbbccc", "aaaabbc"),
            ("aaaaaaaabbbbcccd", "aaaabbcd"),
            ("aaaaaaaabbbbcccde", "aaaabbcd"),
            ("abcdefghi", "abcdefgh"),
        ] {
            let turns = CallerTurns::new(PLACES, WAITING);
            let (places, names) = held(&turns, callers);
            assert_eq!(names, want, "{callers}");
            drop(places);
            assert_eq!(counts(&turns), (PLACES, 0, 0), "{callers}");
        }
    }

    /// Waits for a place, and holds it for a second.
    fn work(turns: &CallerTurns, name: char) -> JoinHandle<Option<Duration>> {
        let turns = turns.clone();
        tokio::spawn(async move {
            let begin = tokio::time::Instant::now();
            let _turn = turns.take(caller(name)).await?;
            let waited = begin.elapsed();
            sleep(Duration::from_secs(1)).await;
            Some(waited)
        })
    }

    #[tokio::test(start_paused = true)]
    async fn callers_take_turns_however_many_wait() {
        let turns = CallerTurns::new(PLACES, WAITING);
        let greedy: Vec<_> = (0..900).map(|_| work(&turns, 'a')).collect();
        // Paused time goes on when no task can.
        sleep(Duration::from_millis(1)).await;
        assert_eq!(counts(&turns), (PLACES / 2, WAITING, 1));
        // It finds places, and later ones wait for one turn and not for those before them.
        let others: Vec<_> = ['b', 'b', 'b', 'c'].into_iter().map(|name| work(&turns, name)).collect();
        let waited: Vec<_> = join_all(others).await.into_iter().map(|waited| waited.unwrap().unwrap()).collect();
        assert!(waited.iter().all(|waited| *waited <= Duration::from_secs(1)), "{waited:?}");
        // Four at once, in three seconds; the others are refused, most of them at once.
        let served = join_all(greedy).await.into_iter().filter(|waited| waited.as_ref().unwrap().is_some()).count();
        assert!((10..=16).contains(&served), "{served}");
        assert_eq!(counts(&turns), (PLACES, 0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn of_too_many_the_caller_with_the_most_loses_its_last_one() {
        let turns = CallerTurns::new(1, WAITING);
        let place = turns.take(caller('z')).await.unwrap();
        let (modest, greedy) = (work(&turns, 'a'), (0..2 * WAITING).map(|_| work(&turns, 'b')).collect::<Vec<_>>());
        let late = work(&turns, 'c');
        sleep(Duration::from_millis(1)).await;
        assert_eq!(greedy.iter().filter(|work| work.is_finished()).count(), WAITING + 2);
        assert!(!greedy[0].is_finished());
        drop(place);
        assert!(modest.await.unwrap().is_some() && late.await.unwrap().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_ends_while_it_waits_keeps_no_place() {
        let turns = CallerTurns::new(1, WAITING);
        let place = turns.take(caller('a')).await.unwrap();
        let gone: Vec<_> = (0..WAITING).map(|_| work(&turns, 'b')).collect();
        sleep(Duration::from_millis(1)).await;
        gone.iter().for_each(JoinHandle::abort);
        sleep(Duration::from_millis(1)).await;
        let other = work(&turns, 'b');
        sleep(Duration::from_millis(1)).await;
        drop(place);
        assert_eq!(other.await.unwrap(), Some(Duration::from_millis(1)));
        assert_eq!(counts(&turns), (1, 0, 0));
    }
}
