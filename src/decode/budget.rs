//! The memory budget: a few bytes of text can expand to hundreds.

use std::{
    cell::Cell,
    mem::size_of,
    sync::atomic::{AtomicUsize, Ordering},
};

/// The memory that all objects of an input may take together.
#[derive(Debug)]
pub(super) struct MemoryPool(AtomicUsize);

impl MemoryPool {
    pub(super) fn new(bytes: usize) -> Self {
        Self(AtomicUsize::new(bytes))
    }
}

/// One thread's part of a [`MemoryPool`]. Elements of lists and pairs of maps are counted by their size in memory,
/// as they are read; what is skipped costs nothing.
#[derive(Debug)]
pub(super) struct Budget<'p> {
    pool: &'p MemoryPool,
    left: Cell<usize>,
    spent: Cell<bool>,
}

/// How much a thread takes from the pool at once. Threads would wait for each other at every element otherwise.
const STEP: usize = 1 << 20;

impl<'p> Budget<'p> {
    pub(super) fn new(pool: &'p MemoryPool) -> Self {
        Self { pool, left: Cell::new(0), spent: Cell::new(false) }
    }

    /// Charges `count` values of a type; an error if the budget is spent.
    #[inline]
    pub(super) fn pay<T, E: serde::de::Error>(&self, count: usize) -> Result<(), E> {
        let cost = size_of::<T>() * count;
        match self.left.get().checked_sub(cost) {
            Some(left) => self.left.set(left),
            None => return self.draw(cost).ok_or_else(|| E::custom("too much memory")),
        }
        Ok(())
    }

    /// Takes more from the pool, if at least `cost` is left.
    #[cold]
    fn draw(&self, cost: usize) -> Option<()> {
        let mut taken = 0;
        let take = |left: usize| {
            taken = left.min(cost.max(STEP));
            (taken + self.left.get() >= cost).then(|| left - taken)
        };
        if self.pool.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_err() {
            self.spent.set(true);
            return None;
        }
        self.left.set(self.left.get() + taken - cost);
        Some(())
    }

    /// Whether a charge was refused.
    pub(super) fn is_spent(&self) -> bool {
        self.spent.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_is_spent_to_the_last_byte_and_no_further() {
        type Refused = serde::de::value::Error;
        let pool = MemoryPool::new(STEP + 10);
        let (one, other) = (Budget::new(&pool), Budget::new(&pool));
        assert!(one.pay::<u8, Refused>(3).is_ok());
        assert!(other.pay::<u8, Refused>(11).is_err() && other.is_spent());
        assert!(other.pay::<u8, Refused>(10).is_ok());
        assert!(one.pay::<u8, Refused>(STEP - 3).is_ok() && !one.is_spent());
        assert!(one.pay::<u8, Refused>(1).is_err() && one.is_spent());
    }
}
