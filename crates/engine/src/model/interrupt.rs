//! A request to end a computation early.

use std::sync::atomic::{AtomicBool, Ordering};

/// A request to end a computation early, because nobody waits for its result any more. The caller of a computation may make
/// one; the computation asks for it between objects and inside its long loops.
#[derive(Clone, Copy, Debug, Default)]
pub struct Interrupt<'a>(Option<&'a AtomicBool>);

/// The result of a computation that was interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the computation was interrupted")]
pub struct Interrupted;

impl<'a> Interrupt<'a> {
    /// A request that is never made.
    pub const NEVER: Self = Self(None);

    /// A request that is made when `flag` becomes true.
    pub fn when(flag: &'a AtomicBool) -> Self {
        Self(Some(flag))
    }

    /// Whether the request was made.
    pub fn is_requested(self) -> bool {
        self.0.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// An error if the request was made.
    pub fn check(self) -> Result<(), Interrupted> {
        if self.is_requested() { Err(Interrupted) } else { Ok(()) }
    }
}
