//! Two computations side by side.

use std::{num::NonZeroUsize, panic, thread};

/// Computes both at the same time, or one after the other if there is one thread.
pub(crate) fn both<A: Send, B>(
    threads: NonZeroUsize,
    first: impl FnOnce() -> A + Send,
    second: impl FnOnce() -> B,
) -> (A, B) {
    if threads == NonZeroUsize::MIN {
        return (first(), second());
    }
    thread::scope(|scope| {
        let first = scope.spawn(first);
        let second = second();
        // A panic in a thread is a defect: it is propagated.
        (first.join().unwrap_or_else(|panic| panic::resume_unwind(panic)), second)
    })
}
