//! Places for which senders wait in turn: each holds a place until it drops it.
//!
//! There are so many places, and so many may wait. A sender consists of parts, such as the users of a peer: senders take turns,
//! and the parts of each. If too many wait, the sender that waits for the most loses its last one.

use std::{
    collections::BTreeMap,
    hash::{BuildHasher, Hash, RandomState},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::oneshot;

use super::turns::{Items, Queue, Turns};

/// Places. A clone has the same ones.
#[derive(Clone, Debug)]
pub(crate) struct Places(Arc<PlacesShared>);

/// How many places a part of a sender may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlaceShare {
    /// All of them.
    All,
    /// As many as are free, so that one that comes later finds some: if there are eight, the first gets four and the second
    /// two.
    AsManyAsFree,
    /// At most this many.
    AtMost(usize),
}

#[derive(Debug)]
struct PlacesShared {
    total: usize,
    /// How many may wait.
    capacity: usize,
    share: PlaceShare,
    /// Names of senders and parts are of any length: the queue holds their hashes.
    names: RandomState,
    state: Mutex<PlacesState>,
}

/// The hashes of a sender and its part.
type SenderKey = (u64, u64);

#[derive(Debug)]
struct PlacesState {
    free: usize,
    next: u64,
    /// How many places each holds, where that matters.
    held: BTreeMap<SenderKey, usize>,
    waiting: Turns<u64, Turns<u64, Items<Waiter>>>,
}

#[derive(Debug)]
struct Waiter {
    key: SenderKey,
    /// Dropped, it tells that the request is given up.
    place: oneshot::Sender<Place>,
}

/// A place until it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    places: Places,
    key: SenderKey,
}

/// Too many wait, and its sender waits for the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoPlace;

impl Places {
    /// This many places, for which at most `capacity` requests wait.
    pub(crate) fn new(total: usize, capacity: usize, share: PlaceShare) -> Self {
        let state = PlacesState { free: total, next: 0, held: BTreeMap::new(), waiting: Turns::default() };
        Self(Arc::new(PlacesShared { total, capacity, share, names: RandomState::new(), state: Mutex::new(state) }))
    }

    /// A place, if there is one at once.
    pub(crate) fn take(&self, sender: impl Hash, part: impl Hash) -> Option<Place> {
        let key = self.key(sender, part);
        self.lock().take(key, self.0.share).then(|| Place { places: self.clone(), key })
    }

    /// A place, once it is the turn of `sender`, and that of `part` among its parts. `cost` tells how much work will be done
    /// there, compared with others: at least 1. A request whose future is dropped does not wait any more.
    pub(crate) async fn wait(&self, sender: impl Hash, part: impl Hash, cost: u64) -> Result<Place, NoPlace> {
        let key = self.key(sender, part);
        let (place, given) = oneshot::channel();
        let _waits = self.join(Waiter { key, place }, cost);
        given.await.map_err(|_| NoPlace)
    }

    /// How many requests wait.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.lock().waiting.count()
    }

    /// How many places are held.
    pub(crate) fn held(&self) -> usize {
        self.0.total - self.lock().free
    }

    fn key(&self, sender: impl Hash, part: impl Hash) -> SenderKey {
        (self.0.names.hash_one(sender), self.0.names.hash_one(part))
    }

    fn lock(&self) -> MutexGuard<'_, PlacesState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a request wait, unless there is a place at once. If too many do, one is given up.
    fn join(&self, waiter: Waiter, cost: u64) -> Option<WaitingRequest<'_>> {
        let PlacesShared { capacity, share, .. } = *self.0;
        let key = waiter.key;
        let mut state = self.lock();
        if state.take(key, share) {
            drop(state);
            self.give(waiter);
            return None;
        }
        let number = state.add(waiter, cost);
        let given_up = if state.waiting.count() > capacity { state.waiting.give_up() } else { None };
        drop(state);
        drop(given_up);
        Some(WaitingRequest { places: self, key, number })
    }

    /// Gives a place that was taken for this request. If nobody waits for it any more, it is free again.
    fn give(&self, Waiter { key, place }: Waiter) {
        let _ = place.send(Place { places: self.clone(), key });
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.lock().give_back(self.key);
        loop {
            let next = self.places.lock().next(self.places.0.share);
            let Some(waiter) = next else { return };
            self.places.give(waiter);
        }
    }
}

impl PlacesState {
    /// Takes a place, if there is one for this sender. Those that wait come first: there is none for them.
    fn take(&mut self, key: SenderKey, share: PlaceShare) -> bool {
        let is_free = share.allows(self.held_by(key), self.free);
        if is_free {
            self.free -= 1;
            if share != PlaceShare::All {
                *self.held.entry(key).or_default() += 1;
            }
        }
        is_free
    }

    fn give_back(&mut self, key: SenderKey) {
        self.free += 1;
        let Some(held) = self.held.get_mut(&key) else { return };
        *held -= 1;
        let left = *held;
        if left == 0 {
            self.held.remove(&key);
        }
        self.change(key, |items| items.held = left);
    }

    fn held_by(&self, key: SenderKey) -> usize {
        self.held.get(&key).copied().unwrap_or_default()
    }

    fn add(&mut self, waiter: Waiter, cost: u64) -> u64 {
        let (number, key, held) = (self.next, waiter.key, self.held_by(waiter.key));
        self.next += 1;
        self.change(key, |items| {
            items.held = held;
            items.push(number, cost, waiter);
        });
        number
    }

    /// The request whose turn it is, with its place taken, if there is a place for it.
    fn next(&mut self, share: PlaceShare) -> Option<Waiter> {
        // Those after the first hold as much, or more.
        if self.waiting.count() == 0 || !share.allows(self.waiting.first().held, self.free) {
            return None;
        }
        let waiter = self.waiting.take_first()?;
        let key = waiter.key;
        self.take(key, share);
        let held = self.held_by(key);
        self.change(key, |items| items.held = held);
        Some(waiter)
    }

    fn change<T>(&mut self, (sender, part): SenderKey, change: impl FnOnce(&mut Items<Waiter>) -> T) -> T {
        self.waiting.change(sender, |parts| parts.change(part, change))
    }
}

impl PlaceShare {
    /// Whether one that holds so many may have another one.
    fn allows(self, held: usize, free: usize) -> bool {
        free > 0
            && match self {
                Self::All => true,
                Self::AsManyAsFree => held < free,
                Self::AtMost(most) => held < most,
            }
    }
}

/// A request that waits. It leaves the queue when nobody waits for it any more.
struct WaitingRequest<'a> {
    places: &'a Places,
    key: SenderKey,
    number: u64,
}

impl Drop for WaitingRequest<'_> {
    fn drop(&mut self) {
        let gone = self.places.lock().change(self.key, |items| items.remove(self.number));
        // Without the lock: it may hold a waker.
        drop(gone);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::{FutureExt, future::join_all};
    use tokio::{
        task::JoinHandle,
        time::{sleep, timeout},
    };

    use super::*;

    const TOTAL: usize = 8;
    const CAPACITY: usize = 32;

    fn places(total: usize) -> Places {
        Places::new(total, CAPACITY, PlaceShare::AsManyAsFree)
    }

    /// The number of places that are free, of requests that wait, and of senders that hold places.
    fn counts(places: &Places) -> (usize, usize, usize) {
        let state = places.lock();
        (state.free, state.waiting.count(), state.held.len())
    }

    /// Takes places for senders, one after the other, as far as there are some at once.
    fn held(places: &Places, senders: &str) -> (Vec<Place>, String) {
        let taken = senders.chars().filter_map(|c| Some((places.wait(c, (), 1).now_or_never()?.ok()?, c)));
        taken.unzip()
    }

    #[tokio::test]
    async fn a_sender_holds_no_more_than_its_share() {
        use PlaceShare::{All, AsManyAsFree, AtMost};
        for (share, senders, want) in [
            (AsManyAsFree, "aaaaaaaa", "aaaa"),
            (AsManyAsFree, "aaaaaaaabbbb", "aaaabb"),
            (AsManyAsFree, "aaaaaaaabbbbccc", "aaaabbc"),
            (AsManyAsFree, "aaaaaaaabbbbcccd", "aaaabbcd"),
            (AsManyAsFree, "aaaaaaaabbbbcccde", "aaaabbcd"),
            (AsManyAsFree, "abcdefghi", "abcdefgh"),
            (All, "aaaaaaaaab", "aaaaaaaa"),
            (AtMost(3), "aaaabbbbcccc", "aaabbbcc"),
        ] {
            let places = Places::new(TOTAL, CAPACITY, share);
            let (held, names) = held(&places, senders);
            assert_eq!((names.as_str(), places.held()), (want, want.len()), "{share:?} {senders}");
            drop(held);
            assert_eq!(counts(&places), (TOTAL, 0, 0), "{share:?} {senders}");
        }
    }

    /// Waits for a place for three seconds, and holds it for one.
    fn work(places: &Places, sender: char) -> JoinHandle<Option<Duration>> {
        let places = places.clone();
        tokio::spawn(async move {
            let begin = tokio::time::Instant::now();
            let _place = timeout(Duration::from_secs(3), places.wait(sender, (), 1)).await.ok()?.ok()?;
            let waited = begin.elapsed();
            sleep(Duration::from_secs(1)).await;
            Some(waited)
        })
    }

    #[tokio::test(start_paused = true)]
    async fn senders_take_turns_however_many_wait() {
        let places = places(TOTAL);
        let greedy: Vec<_> = (0..900).map(|_| work(&places, 'a')).collect();
        // Paused time goes on when no task can.
        sleep(Duration::from_millis(1)).await;
        assert_eq!(counts(&places), (TOTAL / 2, CAPACITY, 1));
        // It finds places, and later ones wait for one turn and not for those before them.
        let others: Vec<_> = ['b', 'b', 'b', 'c'].into_iter().map(|sender| work(&places, sender)).collect();
        let waited: Vec<_> = join_all(others).await.into_iter().map(|waited| waited.unwrap().unwrap()).collect();
        assert!(waited.iter().all(|waited| *waited <= Duration::from_secs(1)), "{waited:?}");
        // Four at once, in three seconds; the others are refused, most of them at once.
        let served = join_all(greedy).await.into_iter().filter(|waited| waited.as_ref().unwrap().is_some()).count();
        assert!((10..=16).contains(&served), "{served}");
        assert_eq!(counts(&places), (TOTAL, 0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn of_too_many_the_sender_with_the_most_loses_its_last_one() {
        let places = places(1);
        let place = places.wait('z', (), 1).await.unwrap();
        let (modest, greedy) = (work(&places, 'a'), (0..2 * CAPACITY).map(|_| work(&places, 'b')).collect::<Vec<_>>());
        let late = work(&places, 'c');
        sleep(Duration::from_millis(1)).await;
        assert_eq!(greedy.iter().filter(|work| work.is_finished()).count(), CAPACITY + 2);
        assert!(!greedy[0].is_finished());
        drop(place);
        assert!(modest.await.unwrap().is_some() && late.await.unwrap().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_ends_while_it_waits_keeps_no_place() {
        let places = places(1);
        let place = places.wait('a', (), 1).await.unwrap();
        let gone: Vec<_> = (0..CAPACITY).map(|_| work(&places, 'b')).collect();
        sleep(Duration::from_millis(1)).await;
        gone.iter().for_each(JoinHandle::abort);
        sleep(Duration::from_millis(1)).await;
        assert_eq!(counts(&places), (0, 0, 1));
        let other = work(&places, 'b');
        sleep(Duration::from_millis(1)).await;
        drop(place);
        assert_eq!(other.await.unwrap(), Some(Duration::from_millis(1)));
        assert_eq!(counts(&places), (1, 0, 0));
    }

    /// A place that was given to a request in the moment in which it ends.
    #[tokio::test]
    async fn a_place_that_nobody_takes_is_free_again() {
        let places = places(1);
        let place = places.wait('a', (), 1).await.unwrap();
        let mut request = Box::pin(places.wait('b', (), 1));
        assert!(request.as_mut().now_or_never().is_none());
        drop(place);
        assert_eq!(counts(&places), (0, 0, 1));
        drop(request);
        assert_eq!(counts(&places), (1, 0, 0));
    }
}
