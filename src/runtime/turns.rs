//! Queues whose senders take turns.
//!
//! This is weighted fair queuing: as if all senders were served at once, and each got the same share of the work. Who sends a
//! hundred items delays another sender by one of them; who sends large ones delays small ones the least. When there are too
//! many, the sender whose last item would be served the latest loses it. Senders may consist of senders: then both rules
//! hold among the parts of each as well.

use std::collections::VecDeque;

/// An item that waits.
pub(crate) trait Cost {
    /// How much work it is, compared with others: at least 1.
    fn cost(&self) -> u64;
}

/// A queue of items.
pub(crate) trait Queue: Default {
    /// What waits.
    type Item: Cost;

    /// How many items wait.
    fn count(&self) -> usize;

    /// The work of all items.
    fn total_cost(&self) -> u64;

    /// The work of the item whose turn it is; 0 if there is none.
    fn next_cost(&self) -> u64;

    /// Takes out the item whose turn it is.
    fn take_next(&mut self) -> Option<Self::Item>;

    /// Takes out the item to give up when there are too many.
    fn give_up(&mut self) -> Option<Self::Item>;

    /// Takes out the first item for which `matches` is true.
    fn take_where(&mut self, matches: &dyn Fn(&Self::Item) -> bool) -> Option<Self::Item>;
}

/// The items of one sender: first in, first out.
impl<T: Cost> Queue for VecDeque<T> {
    type Item = T;

    fn count(&self) -> usize {
        self.len()
    }

    fn total_cost(&self) -> u64 {
        self.iter().fold(0, |sum, item| sum.saturating_add(item.cost()))
    }

    fn next_cost(&self) -> u64 {
        self.front().map_or(0, Cost::cost)
    }

    fn take_next(&mut self) -> Option<T> {
        self.pop_front()
    }

    fn give_up(&mut self) -> Option<T> {
        self.pop_back()
    }

    fn take_where(&mut self, matches: &dyn Fn(&T) -> bool) -> Option<T> {
        self.iter().position(matches).and_then(|at| self.remove(at))
    }
}

/// How many units of virtual time a unit of work takes one sender that is alone: with many senders, the share of each is a
/// small part of it.
const UNITS: u64 = 1 << 16;

/// The queues of all senders that have any items.
#[derive(Debug)]
pub(crate) struct Turns<K, Q> {
    /// With equal turns, the first is served first.
    senders: VecDeque<Sender<K, Q>>,
    /// How much work each sender could have got since there was none.
    now: u64,
}

#[derive(Debug)]
struct Sender<K, Q> {
    key: K,
    queue: Q,
    /// The virtual time at which the work on its first item begins.
    begins: u64,
}

impl<K, Q: Queue> Sender<K, Q> {
    /// When the work on its first item ends.
    fn next_end(&self) -> u64 {
        self.begins.saturating_add(self.queue.next_cost().saturating_mul(UNITS))
    }

    /// When the work on its last item ends.
    fn last_end(&self) -> u64 {
        self.begins.saturating_add(self.queue.total_cost().saturating_mul(UNITS))
    }
}

impl<K, Q> Default for Turns<K, Q> {
    fn default() -> Self {
        Self { senders: VecDeque::new(), now: 0 }
    }
}

impl<K: PartialEq, Q: Queue> Turns<K, Q> {
    /// Changes the queue of a sender. A sender that had none begins now.
    pub(crate) fn change<T>(&mut self, sender: K, change: impl FnOnce(&mut Q) -> T) -> T {
        let at = self.senders.iter().position(|other| other.key == sender).unwrap_or_else(|| {
            self.senders.push_back(Sender { key: sender, queue: Q::default(), begins: self.now });
            self.senders.len() - 1
        });
        let result = change(&mut self.senders[at].queue);
        self.drop_if_empty(at);
        result
    }
}

impl<K, Q: Queue> Turns<K, Q> {
    fn drop_if_empty(&mut self, at: usize) {
        if self.senders[at].queue.count() == 0 {
            self.senders.remove(at);
        }
        if self.senders.is_empty() {
            self.now = 0;
        }
    }

    fn next(&self) -> Option<usize> {
        let ends = self.senders.iter().map(Sender::next_end).enumerate();
        ends.min_by_key(|(_, end)| *end).map(|(at, _)| at)
    }
}

impl<K, Q: Queue> Queue for Turns<K, Q> {
    type Item = Q::Item;

    fn count(&self) -> usize {
        self.senders.iter().map(|sender| sender.queue.count()).sum()
    }

    fn total_cost(&self) -> u64 {
        self.senders.iter().fold(0, |sum, sender| sum.saturating_add(sender.queue.total_cost()))
    }

    fn next_cost(&self) -> u64 {
        self.next().map_or(0, |at| self.senders[at].queue.next_cost())
    }

    fn take_next(&mut self) -> Option<Q::Item> {
        let at = self.next()?;
        let share = UNITS / self.senders.len() as u64;
        let mut sender = self.senders.remove(at)?;
        let (end, cost) = (sender.next_end(), sender.queue.next_cost());
        let item = sender.queue.take_next();
        // Every sender has come as far as if each had got its share of this work.
        self.now = self.now.saturating_add(cost.saturating_mul(share));
        sender.begins = end;
        self.senders.push_back(sender);
        self.drop_if_empty(self.senders.len() - 1);
        item
    }

    fn give_up(&mut self) -> Option<Q::Item> {
        let ends = self.senders.iter().map(Sender::last_end).enumerate();
        let (at, _) = ends.max_by_key(|(_, end)| *end)?;
        let item = self.senders[at].queue.give_up();
        self.drop_if_empty(at);
        item
    }

    fn take_where(&mut self, matches: &dyn Fn(&Q::Item) -> bool) -> Option<Q::Item> {
        let found = self.senders.iter_mut().enumerate();
        let (at, item) = found.into_iter().find_map(|(at, sender)| Some((at, sender.queue.take_where(matches)?)))?;
        self.drop_if_empty(at);
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Work(char, u64);

    impl Cost for Work {
        fn cost(&self) -> u64 {
            self.1
        }
    }

    type OfSenders = Turns<char, VecDeque<Work>>;

    fn add(turns: &mut OfSenders, sender: char, cost: u64) {
        turns.change(sender, |queue| queue.push_back(Work(sender, cost)));
    }

    fn turns(items: &[(char, u64)]) -> OfSenders {
        let mut turns = OfSenders::default();
        for (sender, cost) in items {
            add(&mut turns, *sender, *cost);
        }
        turns
    }

    #[test]
    fn equal_senders_get_equal_work() {
        for (items, order, given_up) in [
            (&[('a', 1), ('a', 1), ('b', 1)][..], "aba", 'a'),
            // A small item waits for no large one, wherever it came from.
            (&[('a', 9), ('b', 9), ('c', 1)], "cab", 'b'),
            // Nine small ones are as much work as a large one.
            (&[('a', 4), ('b', 2), ('b', 2), ('b', 2)], "babb", 'b'),
            // What would be served last is given up, not the sender with the most items.
            (&[('a', 1), ('a', 1), ('a', 1), ('b', 9)], "aaab", 'b'),
        ] {
            let mut all = turns(items);
            assert_eq!(std::iter::from_fn(|| all.take_next()).map(|work| work.0).collect::<String>(), order);
            assert_eq!(turns(items).give_up().map(|work| work.0), Some(given_up), "{items:?}");
        }
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
            let work = all.take_next().unwrap();
            if work.0 == 'a' {
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
        assert_eq!(std::iter::from_fn(|| all.take_next()).count(), 3);
        assert_eq!(all.now, 0);
    }
}
