//! Work on several threads, where there are some.

use std::{
    num::NonZeroUsize,
    panic,
    thread::{self, ScopedJoinHandle},
};

/// Fewer items are not worth a thread.
const WORTH_A_THREAD: usize = 32;

/// Computes both at the same time, or one after the other if there is one thread.
pub fn both<A: Send, B>(threads: NonZeroUsize, first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B) -> (A, B) {
    if threads == NonZeroUsize::MIN {
        return (first(), second());
    }
    thread::scope(|scope| {
        let first = scope.spawn(first);
        let second = second();
        (joined(first), second)
    })
}

/// The result of a thread. A panic in it is a defect: it is propagated.
fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| panic::resume_unwind(panic))
}

/// Applies `f` to each item.
pub fn for_each<T: Send>(items: &mut [T], threads: NonZeroUsize, f: impl Fn(&mut T) + Sync) {
    let part = items.len().div_ceil(threads.get()).max(WORTH_A_THREAD);
    let f = |items: &mut [T]| items.iter_mut().for_each(&f);
    let (first, rest) = items.split_at_mut(part.min(items.len()));
    thread::scope(|scope| {
        let others: Vec<_> = rest.chunks_mut(part).map(|part| scope.spawn(|| f(part))).collect();
        f(first);
        others.into_iter().for_each(joined);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_is_changed_once() {
        for threads in [1, 2, 7] {
            let threads = NonZeroUsize::new(threads).unwrap();
            assert_eq!(both(threads, || 1, || 2), (1, 2));
            for count in [0, 1, 31, 32, 33, 1000] {
                let mut items: Vec<usize> = (0..count).collect();
                for_each(&mut items, threads, |item| *item += 1);
                assert_eq!(items, (1..=count).collect::<Vec<_>>(), "{threads} {count}");
            }
        }
    }
}
