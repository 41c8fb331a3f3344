//! The memory budget: a few bytes of text can expand to hundreds.
//!
//! ```text
//! Budget of a thread ─ steps of a mebibyte ─► MemoryPool of an input ─ the same ─► MemoryAccount that inputs share
//! ```
//!
//! While an object is read, what it may allocate is charged: too much, as it is cheaper to add than to look. When it has
//! been read, what it takes is [settled](Budget::settle).

use std::{
    cell::Cell,
    fmt,
    mem::size_of,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};

use roster_engine::model::Interrupt;

use super::{error::DecodeReason, source::Source};

/// The memory that all objects of an input may take together.
#[derive(Debug)]
pub(super) struct MemoryPool<'a> {
    limit: usize,
    left: AtomicUsize,
    account: Option<&'a dyn MemoryAccount>,
    interrupt: Interrupt<'a>,
    /// Whether the account had no more.
    refused: AtomicBool,
}

impl<'a> MemoryPool<'a> {
    /// A pool that ends at the limit of `source`, and before if its account has no more.
    pub(super) fn of(source: &Source<'a>) -> Self {
        Self { account: source.account, interrupt: source.interrupt, ..Self::new(source.max_memory) }
    }

    pub(super) fn new(bytes: usize) -> Self {
        let (left, refused) = (AtomicUsize::new(bytes), AtomicBool::new(false));
        Self { limit: bytes, left, account: None, interrupt: Interrupt::NEVER, refused }
    }

    fn is_unlimited(&self) -> bool {
        self.limit == usize::MAX && self.account.is_none()
    }

    /// Takes `cost` and, for what follows, up to `step`. The result is what was taken, or `None` if less than `cost` is left.
    fn take(&self, cost: usize, step: usize) -> Option<usize> {
        let mut taken = 0;
        let take = |left: usize| {
            taken = left.min(cost.max(step));
            (taken >= cost).then(|| left - taken)
        };
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).ok()?;
        if self.account.is_none_or(|account| account.take(taken)) {
            return Some(taken);
        }
        self.left.fetch_add(taken, Ordering::Relaxed);
        self.refused.store(true, Ordering::Relaxed);
        None
    }

    /// Takes memory for as long as the pool exists.
    pub(super) fn hold(&self, bytes: usize) -> Result<(), DecodeReason> {
        self.take(bytes, bytes).map(|_| ()).ok_or_else(|| self.reason())
    }

    fn give_back(&self, bytes: usize) {
        self.left.fetch_add(bytes, Ordering::Relaxed);
        if let Some(account) = self.account {
            account.give_back(bytes);
        }
    }

    /// Why a charge was refused.
    fn reason(&self) -> DecodeReason {
        if self.refused.load(Ordering::Relaxed) {
            DecodeReason::NoMemory
        } else {
            DecodeReason::TooMuchMemory(self.limit)
        }
    }
}

/// One thread's part of a [`MemoryPool`]. What is skipped costs nothing.
#[derive(Debug)]
pub(super) struct Budget<'p> {
    pool: &'p MemoryPool<'p>,
    /// What was taken from the pool.
    drawn: Cell<usize>,
    /// How much of that is not spent.
    left: Cell<usize>,
    spent: Cell<bool>,
}

/// How much a thread takes from the pool at once. Threads would wait for each other at every element otherwise.
const STEP: usize = 1 << 20;

/// The longest text that takes no memory of its own.
const SHORT_TEXT: usize = 23;

/// What was spent at some time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spent(usize);

impl<'p> Budget<'p> {
    pub(super) fn new(pool: &'p MemoryPool<'p>) -> Self {
        Self { pool, drawn: Cell::new(0), left: Cell::new(0), spent: Cell::new(false) }
    }

    /// Charges `count` values of a type; an error if the budget is spent.
    #[inline]
    pub(super) fn pay<T, E: serde::de::Error>(&self, count: usize) -> Result<(), E> {
        self.pay_bytes(size_of::<T>() * count)
    }

    /// Charges the text of a `T`, if it does not fit into the value.
    #[inline]
    pub(super) fn pay_text<T, E: serde::de::Error>(&self, text: &str) -> Result<(), E> {
        if size_of::<T>() <= SHORT_TEXT || text.len() <= SHORT_TEXT {
            return Ok(());
        }
        self.pay_bytes(text.len() + 2 * size_of::<usize>())
    }

    #[inline]
    fn pay_bytes<E: serde::de::Error>(&self, cost: usize) -> Result<(), E> {
        match self.left.get().checked_sub(cost) {
            Some(left) => self.left.set(left),
            None => return self.draw(cost).ok_or_else(|| E::custom("too much memory")),
        }
        Ok(())
    }

    /// Takes more from the pool, if at least `cost` is left.
    #[cold]
    fn draw(&self, cost: usize) -> Option<()> {
        let left = self.left.get();
        let Some(taken) = self.pool.take(cost - left, STEP) else {
            self.spent.set(true);
            return None;
        };
        self.drawn.set(self.drawn.get() + taken);
        self.left.set(left + taken - cost);
        Some(())
    }

    /// What is spent so far.
    pub(super) fn spent(&self) -> Spent {
        Spent(self.drawn.get() - self.left.get())
    }

    /// Replaces what was charged since `before` by what was allocated and stays. `size` is not asked if there is no limit;
    /// if it is not known, the charge remains. Every object comes through here: an interrupted input ends with it.
    pub(super) fn settle(&self, before: Spent, size: impl FnOnce() -> Option<usize>) -> Result<(), DecodeReason> {
        self.pool.interrupt.check()?;
        if self.pool.is_unlimited() {
            return Ok(());
        }
        let Some(size) = size() else { return Ok(()) };
        let charged = self.spent().0 - before.0;
        self.left.set(self.left.get() + charged);
        let paid = self.pay_bytes::<serde::de::value::Error>(size);
        if self.left.get() > 2 * STEP {
            let surplus = self.left.get() - STEP;
            self.left.set(STEP);
            self.drawn.set(self.drawn.get() - surplus);
            self.pool.give_back(surplus);
        }
        paid.map_err(|_| self.pool.reason())
    }

    /// Charges memory that is kept.
    pub(super) fn keep(&self, bytes: usize) -> Result<(), DecodeReason> {
        self.pay_bytes::<serde::de::value::Error>(bytes).map_err(|_| self.pool.reason())
    }

    /// Why a charge was refused, if one was.
    pub(super) fn refusal(&self) -> Option<DecodeReason> {
        self.spent.get().then(|| self.pool.reason())
    }
}

impl Drop for Budget<'_> {
    fn drop(&mut self) {
        self.pool.give_back(self.left.get());
    }
}

/// Memory that several inputs share, such as that of all requests of a server.
pub trait MemoryAccount: fmt::Debug + Sync {
    /// Takes this many bytes. `false`: there are not so many left.
    fn take(&self, bytes: usize) -> bool;

    /// Returns some of what was taken.
    fn give_back(&self, bytes: usize);
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    type Refused = serde::de::value::Error;

    #[test]
    fn a_pool_is_spent_to_the_last_byte_and_no_further() {
        let pool = MemoryPool::new(STEP + 10);
        let (one, other) = (Budget::new(&pool), Budget::new(&pool));
        assert!(one.pay::<u8, Refused>(3).is_ok());
        assert!(other.pay::<u8, Refused>(11).is_err() && other.refusal().is_some());
        assert!(other.pay::<u8, Refused>(10).is_ok());
        assert!(one.pay::<u8, Refused>(STEP - 3).is_ok() && one.refusal().is_none());
        assert!(one.pay::<u8, Refused>(1).is_err() && one.refusal().is_some());
    }

    #[test]
    fn what_does_not_stay_is_returned() {
        let pool = MemoryPool::new(8 * STEP);
        let budget = Budget::new(&pool);
        for _ in 0..100 {
            let before = budget.spent();
            assert!(budget.pay::<u8, Refused>(6 * STEP).is_ok());
            assert!(budget.settle(before, || Some(STEP / 100)).is_ok());
        }
        assert_eq!(budget.spent().0, STEP / 100 * 100);
        let before = budget.spent();
        assert!(budget.settle(before, || Some(8 * STEP)).is_err());
    }

    #[derive(Debug)]
    struct Account(Mutex<usize>);

    impl MemoryAccount for Account {
        fn take(&self, bytes: usize) -> bool {
            let mut left = self.0.lock().unwrap();
            left.checked_sub(bytes).map(|rest| *left = rest).is_some()
        }

        fn give_back(&self, bytes: usize) {
            *self.0.lock().unwrap() += bytes;
        }
    }

    #[test]
    fn inputs_share_an_account() {
        let account = Account(Mutex::new(3 * STEP));
        let source = Source { max_memory: 2 * STEP, account: Some(&account), ..Source::body() };
        let (one, other) = (MemoryPool::of(&source), MemoryPool::of(&source));
        assert!(one.hold(2 * STEP).is_ok());
        assert!(matches!(one.hold(1), Err(DecodeReason::TooMuchMemory(_))));
        assert!(matches!(other.hold(2 * STEP), Err(DecodeReason::NoMemory)));
        assert!(other.hold(STEP).is_ok());
    }
}
