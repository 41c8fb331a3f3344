//! Queues whose senders take turns.
//!
//! Who sends a hundred items delays another sender by one of them. When there are too many, the sender with the most loses
//! one. Senders may consist of senders: then both rules hold among the parts of each as well.

use std::collections::VecDeque;

/// A queue of items.
pub(crate) trait Queue: Default {
    /// What waits.
    type Item;

    /// How many items wait.
    fn count(&self) -> usize;

    /// Takes out the item whose turn it is.
    fn take_next(&mut self) -> Option<Self::Item>;

    /// Takes out the item to give up when there are too many.
    fn give_up(&mut self) -> Option<Self::Item>;

    /// Takes out the first item for which `matches` is true.
    fn take_where(&mut self, matches: &dyn Fn(&Self::Item) -> bool) -> Option<Self::Item>;
}

/// The items of one sender: first in, first out.
impl<T> Queue for VecDeque<T> {
    type Item = T;

    fn count(&self) -> usize {
        self.len()
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

/// The queues of all senders that have any items, in the order of their turns.
#[derive(Debug)]
pub(crate) struct Turns<K, Q>(VecDeque<(K, Q)>);

impl<K, Q> Default for Turns<K, Q> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<K: PartialEq, Q: Queue> Turns<K, Q> {
    /// Changes the queue of a sender. Its first item gets the last turn.
    pub(crate) fn change<T>(&mut self, sender: K, change: impl FnOnce(&mut Q) -> T) -> T {
        let at = self.0.iter().position(|(of, _)| *of == sender).unwrap_or_else(|| {
            self.0.push_back((sender, Q::default()));
            self.0.len() - 1
        });
        let result = change(&mut self.0[at].1);
        self.drop_if_empty(at);
        result
    }
}

impl<K, Q: Queue> Turns<K, Q> {
    fn drop_if_empty(&mut self, at: usize) {
        if self.0[at].1.count() == 0 {
            self.0.remove(at);
        }
    }
}

impl<K, Q: Queue> Queue for Turns<K, Q> {
    type Item = Q::Item;

    fn count(&self) -> usize {
        self.0.iter().map(|(_, queue)| queue.count()).sum()
    }

    fn take_next(&mut self) -> Option<Q::Item> {
        let (sender, mut queue) = self.0.pop_front()?;
        let item = queue.take_next();
        if queue.count() > 0 {
            // Its next turn comes after those of all others.
            self.0.push_back((sender, queue));
        }
        item
    }

    fn give_up(&mut self) -> Option<Q::Item> {
        let (at, _) = self.0.iter().enumerate().max_by_key(|(_, (_, queue))| queue.count())?;
        let item = self.0[at].1.give_up();
        self.drop_if_empty(at);
        item
    }

    fn take_where(&mut self, matches: &dyn Fn(&Q::Item) -> bool) -> Option<Q::Item> {
        let found = self.0.iter_mut().enumerate().find_map(|(at, (_, queue))| Some((at, queue.take_where(matches)?)));
        let (at, item) = found?;
        self.drop_if_empty(at);
        Some(item)
    }
}
