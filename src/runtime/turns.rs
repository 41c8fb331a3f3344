//! Weighted fair queuing: items wait until they are served once, and their senders take turns.
//!
//! It is as if all senders were served at once, and each got the same share of the work. Who sends a
//! hundred items delays another sender by one of them; who sends large ones delays small ones the least. When there are too
//! many, the sender whose last item would be served the latest loses it. Senders may consist of senders: then both rules
//! hold among the parts of each as well. Senders that hold something already have their turns after those that hold less.
//!
//! Every operation takes time proportional to the logarithm of the number of senders, or of items of a sender.

use std::collections::{BTreeMap, BTreeSet};

/// A queue of items.
pub(crate) trait Queue: Default {
    /// What waits.
    type Item;

    /// How many items wait.
    fn count(&self) -> usize;

    /// The work of all items.
    fn cost(&self) -> u128;

    /// The item whose turn it is; of an empty queue, one without work.
    fn first(&self) -> FirstItem;

    /// Takes out the item whose turn it is.
    fn take_first(&mut self) -> Option<Self::Item>;

    /// Takes out the item to give up when there are too many.
    fn give_up(&mut self) -> Option<Self::Item>;
}

/// What decides when the first item of a queue has its turn.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FirstItem {
    /// How much its sender holds already.
    pub(crate) held: usize,
    /// How much work it is.
    cost: u64,
}

/// The items of one sender: first in, first out.
#[derive(Debug)]
pub(crate) struct Items<T> {
    /// The work of each, and the item.
    by_number: BTreeMap<u64, (u64, T)>,
    cost: u128,
    /// How much the sender holds already.
    pub(crate) held: usize,
}

impl<T> Default for Items<T> {
    fn default() -> Self {
        Self { by_number: BTreeMap::new(), cost: 0, held: 0 }
    }
}

impl<T> Items<T> {
    /// Adds an item, whose number is higher than those of all others. `cost` is its work, compared with others: at least 1.
    pub(crate) fn push(&mut self, number: u64, cost: u64, item: T) {
        self.cost += u128::from(cost);
        self.by_number.insert(number, (cost, item));
    }

    /// Takes out the item with this number, if it still waits.
    pub(crate) fn remove(&mut self, number: u64) -> Option<T> {
        let item = self.by_number.remove(&number);
        self.taken(item)
    }

    fn taken(&mut self, item: Option<(u64, T)>) -> Option<T> {
        let (cost, item) = item?;
        self.cost -= u128::from(cost);
        Some(item)
    }
}

impl<T> Queue for Items<T> {
    type Item = T;

    fn count(&self) -> usize {
        self.by_number.len()
    }

    fn cost(&self) -> u128 {
        self.cost
    }

    fn first(&self) -> FirstItem {
        let cost = self.by_number.first_key_value().map_or(0, |(_, (cost, _))| *cost);
        FirstItem { held: self.held, cost }
    }

    fn take_first(&mut self) -> Option<T> {
        let first = self.by_number.pop_first();
        self.taken(first.map(|(_, item)| item))
    }

    fn give_up(&mut self) -> Option<T> {
        let last = self.by_number.pop_last();
        self.taken(last.map(|(_, item)| item))
    }
}

/// How many units of virtual time a unit of work takes one sender that is alone: with many senders, the share of each is a
/// small part of it.
const UNITS: u128 = 1 << 16;

/// The queues of all senders that have any items.
#[derive(Debug)]
pub(crate) struct Turns<K, Q> {
    senders: BTreeMap<K, Sender<Q>>,
    /// The first is served first: how much it holds, when the work on its first item ends, and since when it waits.
    by_turn: BTreeSet<(usize, u128, u64, K)>,
    /// The last gives up first: when the work on its last item ends, and since when it waits.
    by_end: BTreeSet<(u128, u64, K)>,
    count: usize,
    cost: u128,
    /// How much work each sender could have got since there was none.
    now: u128,
    /// The number of the next sender that begins to wait.
    next: u64,
}

#[derive(Debug)]
struct Sender<Q> {
    queue: Q,
    /// The virtual time at which the work on its first item begins.
    begins: u128,
    /// With equal turns, the lowest is served first.
    since: u64,
}

impl<Q: Queue> Sender<Q> {
    fn turn<K>(&self, key: K) -> (usize, u128, u64, K) {
        let FirstItem { held, cost } = self.queue.first();
        (held, self.begins + u128::from(cost) * UNITS, self.since, key)
    }

    fn end<K>(&self, key: K) -> (u128, u64, K) {
        (self.begins + self.queue.cost() * UNITS, self.since, key)
    }
}

impl<K, Q> Default for Turns<K, Q> {
    fn default() -> Self {
        let (senders, by_turn, by_end) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        Self { senders, by_turn, by_end, count: 0, cost: 0, now: 0, next: 0 }
    }
}

impl<K: Copy + Ord, Q: Queue> Turns<K, Q> {
    /// Changes the queue of a sender. A sender that had none begins now.
    pub(crate) fn change<T>(&mut self, key: K, change: impl FnOnce(&mut Q) -> T) -> T {
        let mut sender = self.remove(key).unwrap_or_else(|| {
            let since = self.number();
            Sender { queue: Q::default(), begins: self.now, since }
        });
        let result = change(&mut sender.queue);
        // A sender is behind only if it holds too much for a turn. It gets no credit for that: otherwise senders that wait for
        // less would give up before it.
        let cost = u128::from(sender.queue.first().cost);
        sender.begins = sender.begins.max(self.now.saturating_sub(cost * UNITS));
        self.insert(key, sender);
        result
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn remove(&mut self, key: K) -> Option<Sender<Q>> {
        let sender = self.senders.remove(&key)?;
        self.by_turn.remove(&sender.turn(key));
        self.by_end.remove(&sender.end(key));
        self.count -= sender.queue.count();
        self.cost -= sender.queue.cost();
        Some(sender)
    }

    fn insert(&mut self, key: K, sender: Sender<Q>) {
        if sender.queue.count() > 0 {
            self.by_turn.insert(sender.turn(key));
            self.by_end.insert(sender.end(key));
            self.count += sender.queue.count();
            self.cost += sender.queue.cost();
            self.senders.insert(key, sender);
        } else if self.senders.is_empty() {
            self.now = 0;
        }
    }
}

impl<K: Copy + Ord, Q: Queue> Queue for Turns<K, Q> {
    type Item = Q::Item;

    fn count(&self) -> usize {
        self.count
    }

    fn cost(&self) -> u128 {
        self.cost
    }

    fn first(&self) -> FirstItem {
        let sender = self.by_turn.first().and_then(|(.., key)| self.senders.get(key));
        sender.map_or_else(FirstItem::default, |sender| sender.queue.first())
    }

    fn take_first(&mut self) -> Option<Q::Item> {
        let (.., key) = *self.by_turn.first()?;
        let share = UNITS / self.senders.len() as u128;
        let mut sender = self.remove(key)?;
        let cost = u128::from(sender.queue.first().cost);
        let item = sender.queue.take_first();
        // Every sender has come as far as if each had got its share of this work.
        self.now += cost * share;
        (sender.begins, sender.since) = (sender.begins + cost * UNITS, self.number());
        self.insert(key, sender);
        item
    }

    fn give_up(&mut self) -> Option<Q::Item> {
        let (.., key) = *self.by_end.last()?;
        self.change(key, Queue::give_up)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type OfSenders = Turns<char, Items<char>>;

    fn add(turns: &mut OfSenders, sender: char, cost: u64) {
        let number = turns.number();
        turns.change(sender, |queue| queue.push(number, cost, sender));
    }

    fn turns(items: &[(char, u64)]) -> OfSenders {
        let mut turns = OfSenders::default();
        for (sender, cost) in items {
            add(&mut turns, *sender, *cost);
        }
        turns
    }

    fn order(turns: &mut OfSenders) -> String {
        std::iter::from_fn(|| turns.take_first()).collect()
    }

    #[test]
    fn equal_senders_get_equal_work() {
        for (items, want, given_up) in [
            (&[('a', 1), ('a', 1), ('b', 1)][..], "aba", 'a'),
            // A small item waits for no large one, wherever it came from.
            (&[('a', 9), ('b', 9), ('c', 1)], "cab", 'b'),
            // Nine small ones are as much work as a large one.
            (&[('a', 4), ('b', 2), ('b', 2), ('b', 2)], "babb", 'b'),
            // What would be served last is given up, not the sender with the most items.
            (&[('a', 1), ('a', 1), ('a', 1), ('b', 9)], "aaab", 'b'),
        ] {
            assert_eq!(order(&mut turns(items)), want);
            assert_eq!(turns(items).give_up(), Some(given_up), "{items:?}");
        }
    }

    #[test]
    fn who_holds_less_is_served_first() {
        let mut all = turns(&[('a', 1), ('a', 1), ('b', 9), ('c', 1)]);
        for (sender, held) in [('a', 2), ('b', 1), ('c', 1)] {
            all.change(sender, |queue| queue.held = held);
        }
        assert_eq!(all.first().held, 1);
        assert_eq!(order(&mut all), "cbaa");
    }

    /// A sender that gets no turn for a while, because of what it holds, does not gain on others.
    #[test]
    fn who_holds_the_most_and_waits_for_the_most_gives_up() {
        let mut all = turns(&[('a', 1); 10]);
        all.change('a', |queue| queue.held = 4);
        for _ in 0..40 {
            add(&mut all, 'b', 1);
            assert_eq!(all.take_first(), Some('b'));
        }
        add(&mut all, 'a', 1);
        add(&mut all, 'c', 1);
        assert_eq!(all.give_up(), Some('a'));
    }

    /// Senders that are new each time, as those of a hostile client with many addresses, delay a large item by no more than
    /// an equal share.
    #[test]
    fn small_items_without_end_do_not_starve_a_large_one() {
        let mut all = turns(&[('a', 100)]);
        let mut before = 0;
        loop {
            for sender in 'b'..='k' {
                add(&mut all, sender, 1);
            }
            if all.take_first().unwrap() == 'a' {
                break;
            }
            before += 1;
            assert!(before < 2000);
        }
        // Eleven senders: ten get as much as this one.
        assert!((900..1200).contains(&before), "{before}");
    }

    #[test]
    fn virtual_time_neither_overflows_nor_lasts() {
        let mut all = turns(&[('a', u64::MAX), ('b', u64::MAX), ('b', 1)]);
        assert_eq!(order(&mut all).len(), 3);
        assert_eq!((all.now, all.cost, all.count), (0, 0, 0));
    }

    #[test]
    fn an_item_that_is_taken_out_leaves_nothing_behind() {
        let mut all = turns(&[('a', 3), ('b', 1), ('a', 1)]);
        let (first, last) = (all.senders[&'a'].queue.by_number.keys().copied().min(), 9);
        assert_eq!(all.change('a', |queue| queue.remove(first.unwrap())), Some('a'));
        assert_eq!(all.change('c', |queue| queue.remove(last)), None);
        assert_eq!((all.count(), all.cost()), (2, 2));
        assert_eq!(order(&mut all), "ab");
        assert!(all.senders.is_empty() && all.by_turn.is_empty() && all.by_end.is_empty());
    }
}
