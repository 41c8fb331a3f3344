//! A parallel map whose results come out in order, with bounded memory.

use std::{
    collections::VecDeque,
    num::NonZeroUsize,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

/// How many chunks per thread may be finished and not yet handed out.
const AHEAD: usize = 4;

struct Progress<T, S, E> {
    /// The next chunk to compute.
    next: usize,
    /// The next chunk to hand out.
    due: usize,
    /// The chunks from `due` to `next`: those that are finished wait for their turn.
    waiting: VecDeque<Option<T>>,
    sink: S,
    failed: Option<E>,
}

/// Applies `f` to chunks of `items` on `threads` threads, and hands the results to `sink` in order.
///
/// Threads take the next chunk as they get free. A thread that is more than a few chunks ahead of `sink`
/// waits, so that one slow chunk, or a slow sink, does not fill the memory. An error of `sink` ends it all.
pub(super) fn map<I: Sync, T: Send, E: Send>(
    items: &[I],
    chunk: usize,
    threads: NonZeroUsize,
    f: impl Fn(&[I]) -> T + Sync,
    sink: impl FnMut(T) -> Result<(), E> + Send,
) -> Result<(), E> {
    let chunks = items.len().div_ceil(chunk);
    let threads = threads.get().min(chunks.max(1));
    let state = Mutex::new(Progress { next: 0, due: 0, waiting: VecDeque::new(), sink, failed: None });
    let moved = Condvar::new();
    let work = || {
        loop {
            let mut s = lock(&state);
            while s.failed.is_none() && s.next < chunks && s.next >= s.due + threads * AHEAD {
                s = moved.wait(s).unwrap_or_else(PoisonError::into_inner);
            }
            if s.failed.is_some() || s.next >= chunks {
                return;
            }
            let mine = s.next;
            s.next += 1;
            s.waiting.push_back(None);
            drop(s);
            let result = f(&items[mine * chunk..items.len().min((mine + 1) * chunk)]);
            let mut s = lock(&state);
            let place = mine - s.due;
            s.waiting[place] = Some(result);
            hand_out(&mut s);
            drop(s);
            moved.notify_all();
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    state.into_inner().unwrap_or_else(PoisonError::into_inner).failed.map_or(Ok(()), Err)
}

fn hand_out<T, S: FnMut(T) -> Result<(), E>, E>(s: &mut Progress<T, S, E>) {
    while s.failed.is_none() {
        let Some(result) = s.waiting.front_mut().and_then(Option::take) else { return };
        s.waiting.pop_front();
        s.due += 1;
        s.failed = (s.sink)(result).err();
    }
}

/// A panic elsewhere is reported by the scope that joins the thread; here the state is still whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_and_errors_end_it() {
        let items: Vec<usize> = (0..1000).collect();
        for threads in [1, 2, 7] {
            let threads = NonZeroUsize::new(threads).unwrap();
            let mut seen = Vec::new();
            map(&items, 3, threads, <[usize]>::to_vec, |part| {
                seen.extend(part);
                Ok::<(), ()>(())
            })
            .unwrap();
            assert_eq!(seen, items);

            let mut calls = 0;
            let failed = map(&items, 3, threads, <[usize]>::len, |_| {
                calls += 1;
                if calls == 5 { Err("gone") } else { Ok(()) }
            });
            assert_eq!((failed, calls), (Err("gone"), 5));
        }
    }

    #[test]
    fn nothing_is_computed_far_ahead_of_a_slow_sink() {
        let started = std::sync::atomic::AtomicUsize::new(0);
        let order = std::sync::atomic::Ordering::SeqCst;
        let threads = NonZeroUsize::new(4).unwrap();
        let mut handed = 0;
        map(
            &[0_u8; 400],
            1,
            threads,
            |_| started.fetch_add(1, order),
            |_| {
                handed += 1;
                assert!(started.load(order) <= handed + 4 * AHEAD + 4);
                Ok::<(), ()>(())
            },
        )
        .unwrap();
    }
}
