//! The comparisons that are left for an input: a budget of work that is a product by nature.

use std::cell::Cell;

use roster_engine::model::{Labels, spelling::LONGEST};

/// The most comparisons of selectors with labels, and ports of workloads that are looked at for a selector, of one input.
/// Several thousand Services may all select the same thousands of workloads, each by other labels: a second or two of time.
pub(super) const MAX_COMPARISONS: usize = 1 << 24;

/// The most pairs of letters of labels and names that are compared to find what was meant: as much time.
const MAX_LETTERS: usize = 1 << 31;

/// The comparisons that are left for an input.
#[derive(Debug)]
pub(super) struct Comparisons {
    left: Cell<usize>,
    /// Of letters.
    letters: Cell<usize>,
}

/// A selector is not compared with all labels: too many comparisons were made before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NotCompared;

impl Comparisons {
    pub(super) fn new(left: usize) -> Self {
        Self { left: Cell::new(left), letters: Cell::new(MAX_LETTERS) }
    }

    /// Takes a number of comparisons, if so many are left.
    pub(super) fn take(&self, count: usize) -> Result<(), NotCompared> {
        self.left.set(self.left.get().checked_sub(count).ok_or(NotCompared)?);
        Ok(())
    }

    /// Takes the comparisons of a selector with a number of labels of others. The labels of a long one count.
    pub(super) fn take_selector(&self, selector: &Labels, count: usize) -> Result<(), NotCompared> {
        self.take(count.saturating_mul(1 + selector.len() / 8))
    }

    /// Takes the comparisons of a text with a number of others, letter by letter.
    pub(super) fn take_letters(&self, text: usize, count: usize) -> Result<(), NotCompared> {
        self.take_pairs(text.saturating_mul(text.min(LONGEST)).saturating_mul(count))
    }

    /// Takes the comparisons of a text with a number of others that may be it, mistyped: of these, each letter is compared with
    /// a few.
    pub(super) fn take_mistyped(&self, text: usize, count: usize) -> Result<(), NotCompared> {
        /// The letters that one is compared with, and what it takes to begin.
        const WITH: usize = 8;
        self.take_pairs(text.saturating_mul(WITH).saturating_mul(count))
    }

    fn take_pairs(&self, pairs: usize) -> Result<(), NotCompared> {
        self.letters.set(self.letters.get().checked_sub(pairs).ok_or(NotCompared)?);
        Ok(())
    }
}
