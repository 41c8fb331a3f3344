//! Worker threads for which jobs wait in turn: some for short jobs, some for long ones.
//!
//! Work that takes more than a millisecond would hold up the connections that the same thread serves, and every thread
//! that computes keeps memory of its own. So a few threads compute, and those who send the work take turns: peers, and the
//! users of each peer. A peer is known by its address, but the name of a user is what the peer writes: a hostile one that
//! invents users takes turns from nobody else. How much work a job is, the length of its input tells.
//!
//! Long jobs have threads of their own, of low priority: however many wait, a short job waits for short ones only, and the
//! threads that accept and answer get a core when they need one.

use std::{
    hash::Hash,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use roster_engine::model::Interrupt;
use tokio::{sync::oneshot, task::spawn_blocking};

use super::{
    background_thread,
    places::{NoPlace, PlaceShare, Places},
};

/// The length in bytes of the longest input of a short job. The work on it takes some ten milliseconds.
pub(crate) const SHORT: usize = 1 << 20;

/// Worker threads. A clone means the same ones.
#[derive(Clone, Debug)]
pub(crate) struct Workers {
    /// Each place is a thread.
    short: Places,
    /// Each place is a thread of low priority.
    long: Places,
}

/// Why a job was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkError {
    /// Too many jobs wait, and its peer has the most of them.
    Busy,
    /// It panicked.
    Panicked,
}

impl Workers {
    /// This many threads for short jobs, and one fewer, but at least one, for long ones. This many jobs of each may wait.
    pub(crate) fn new(threads: usize, capacity: usize) -> Self {
        let places = |threads: usize| Places::new(threads.max(1), capacity, PlaceShare::All);
        Self { short: places(threads), long: places(threads.saturating_sub(1)) }
    }

    /// How many short jobs wait.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.short.waiting()
    }

    /// Does `work` when it is the turn of `peer`, and among its users that of `user`. `length` is that of its input in
    /// bytes. Work that has not begun is given up when the future is dropped.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        peer: impl Hash,
        user: impl Hash,
        length: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, WorkError> {
        self.run_while_wanted(peer, user, length, move |_| work()).await
    }

    /// The same for work that can be interrupted: it is when the future is dropped.
    pub(crate) async fn run_while_wanted<T: Send + 'static>(
        &self,
        peer: impl Hash,
        user: impl Hash,
        length: usize,
        work: impl FnOnce(Interrupt<'_>) -> T + Send + 'static,
    ) -> Result<T, WorkError> {
        let is_short = length <= SHORT;
        let places = if is_short { &self.short } else { &self.long };
        let place = places.wait(peer, user, cost(length)).await.map_err(|NoPlace| WorkError::Busy)?;
        let (done, result) = oneshot::channel();
        let unwanted = Unwanted::default();
        let is_unwanted = unwanted.0.clone();
        let job = move || {
            let _place = place;
            // The receiver is gone when nobody waits any more. A panic drops the sender.
            let _ = done.send(work(Interrupt::when(&is_unwanted)));
        };
        if is_short {
            spawn_blocking(job);
        } else if let Err(error) = background_thread::spawn("roster-long-work", job) {
            tracing::error!(%error, "there is no thread for long work");
        }
        result.await.map_err(|_| WorkError::Panicked)
    }
}

/// The work on an input of this many bytes, in kibibytes: nothing is free.
fn cost(length: usize) -> u64 {
    1 + length as u64 / 1024
}

/// Whether nobody waits for a result any more. Dropped, it says so.
#[derive(Debug, Default)]
pub(crate) struct Unwanted(pub(crate) Arc<AtomicBool>);

impl Drop for Unwanted {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use tokio::task::JoinSet;

    use super::*;

    /// Workers of one thread that is busy until the sender is dropped.
    async fn busy(capacity: usize) -> (Workers, mpsc::Sender<()>, tokio::task::JoinHandle<Result<(), WorkError>>) {
        let workers = Workers::new(1, capacity);
        let (hold, held) = mpsc::channel::<()>();
        let (started, has_started) = oneshot::channel();
        let first = workers.clone();
        let running = tokio::spawn(async move {
            first
                .run("first", (), 0, move || {
                    started.send(()).unwrap();
                    let _ = held.recv();
                })
                .await
        });
        has_started.await.unwrap();
        (workers, hold, running)
    }

    /// The order in which the jobs of these senders are done, and the jobs that are not. A sender is a peer and a user, each
    /// a letter; the job of a capital one has a large input.
    async fn order(capacity: usize, senders: &'static str) -> (String, String) {
        let (workers, hold, running) = busy(capacity).await;
        let (done, order) = mpsc::channel();
        let mut jobs = JoinSet::new();
        for (i, sender) in senders.split(' ').enumerate() {
            let (peer, user) = sender.split_at(1);
            let length = if peer.to_lowercase() == peer { 100 } else { 100_000 };
            let (workers, done) = (workers.clone(), done.clone());
            jobs.spawn(async move {
                let name = format!("{sender}{i} ");
                let note = name.clone();
                workers
                    .run(peer.to_lowercase(), user, length, move || done.send(note).unwrap())
                    .await
                    .err()
                    .map(|e| (name, e))
            });
            // One after the other.
            tokio::task::yield_now().await;
        }
        drop((hold, done));
        running.await.unwrap().unwrap();
        let mut refused: Vec<String> = Vec::new();
        while let Some(job) = jobs.join_next().await {
            refused.extend(job.unwrap().map(|(name, error)| format!("{name}{error:?} ")));
        }
        refused.sort();
        (order.iter().collect(), refused.concat())
    }

    #[tokio::test]
    async fn senders_take_turns_and_the_longest_queue_gives_up() {
        for (capacity, senders, want, refused) in [
            (9, "ax ax ax bx", "ax0 bx3 ax1 ax2 ", ""),
            (9, "ax ax bx bx cx", "ax0 bx2 cx4 ax1 bx3 ", ""),
            // The users of a peer share its turns.
            (9, "ax ax ay bx", "ax0 bx3 ay2 ax1 ", ""),
            (9, "ap aq ar as bx bx", "ap0 bx4 aq1 bx5 ar2 as3 ", ""),
            // The same user of another peer is another sender.
            (9, "ax ax bx", "ax0 bx2 ax1 ", ""),
            (2, "ax ax bx", "ax0 bx2 ", "ax1 Busy "),
            (2, "ap aq bx", "ap0 bx2 ", "aq1 Busy "),
            (3, "ax ax ay bx", "ax0 bx3 ay2 ", "ax1 Busy "),
            (2, "ax ax ax", "ax0 ax1 ", "ax2 Busy "),
            (0, "ax", "", "ax0 Busy "),
            // Small jobs wait for no large one, and the largest is given up.
            (9, "Ax Bx cx", "cx2 Ax0 Bx1 ", ""),
            (2, "Ax bx bx", "bx1 bx2 ", "Ax0 Busy "),
        ] {
            assert_eq!(order(capacity, senders).await, (want.to_owned(), refused.to_owned()), "{capacity} {senders}");
        }
    }

    /// With as many threads as there are, the jobs that begin while nothing ends. `L` is a long one.
    async fn begun(threads: usize, jobs: &str) -> String {
        let workers = Workers::new(threads, 9);
        let (begins, begun) = mpsc::channel();
        let (hold, held) = tokio::sync::watch::channel(());
        let mut running = JoinSet::new();
        for job in jobs.chars() {
            let (workers, begins, mut held) = (workers.clone(), begins.clone(), held.clone());
            let length = if job == 'L' { SHORT + 1 } else { SHORT };
            running.spawn(async move {
                let runtime = tokio::runtime::Handle::current();
                let work = move || {
                    begins.send(job).unwrap();
                    let _ = runtime.block_on(held.changed());
                };
                workers.run("peer", (), length, work).await
            });
            tokio::task::yield_now().await;
        }
        let (short, long) = (jobs.matches('s').count(), jobs.matches('L').count());
        let expected = short.min(threads.max(1)) + long.min((threads - 1).max(1));
        let mut begun: Vec<char> = begun.iter().take(expected).collect();
        begun.sort_unstable();
        let lanes = [&workers.short, &workers.long];
        while lanes.iter().map(|lane| lane.held() + lane.waiting()).sum::<usize>() < jobs.len() {
            tokio::task::yield_now().await;
        }
        let waiting: usize = lanes.iter().map(|lane| lane.waiting()).sum();
        assert_eq!(waiting, jobs.len() - expected, "{jobs}");
        drop(hold);
        while let Some(done) = running.join_next().await {
            assert_eq!(done.unwrap(), Ok(()));
        }
        begun.into_iter().collect()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn long_jobs_leave_a_thread_for_short_ones() {
        for (threads, jobs, want) in
            [(1, "LLs", "Ls"), (2, "LLLs", "Ls"), (2, "LLsss", "Lss"), (3, "LLLLs", "LLs"), (2, "sss", "ss")]
        {
            assert_eq!(begun(threads, jobs).await, want, "{threads} {jobs}");
        }
    }

    #[tokio::test]
    async fn work_that_nobody_waits_for_is_interrupted() {
        for length in [0, SHORT + 1] {
            let workers = Workers::new(1, 8);
            let (begins, begun) = oneshot::channel();
            let (ends, ended) = oneshot::channel();
            let job = tokio::spawn(async move {
                let work = move |unwanted: Interrupt<'_>| {
                    begins.send(()).unwrap();
                    while !unwanted.is_requested() {
                        std::thread::yield_now();
                    }
                    ends.send(()).unwrap();
                };
                workers.run_while_wanted(1, (), length, work).await
            });
            begun.await.unwrap();
            job.abort();
            assert_eq!(ended.await, Ok(()));
        }
    }

    #[tokio::test]
    async fn a_job_that_panics_leaves_the_thread_alive() {
        let workers = Workers::new(1, 8);
        for length in [0, SHORT + 1] {
            assert_eq!(workers.run(1, (), length, || panic!("on purpose")).await, Err::<(), _>(WorkError::Panicked));
            assert_eq!(workers.run(1, (), length, || 7).await, Ok(7));
        }
    }

    #[tokio::test]
    async fn a_job_that_nobody_waits_for_is_not_done() {
        let (workers, hold, running) = busy(8).await;
        let (done, order) = mpsc::channel();
        let job = workers.run(2, (), 0, move || done.send(()).unwrap());
        assert!(tokio::time::timeout(std::time::Duration::from_millis(1), job).await.is_err());
        drop(hold);
        running.await.unwrap().unwrap();
        assert_eq!(workers.run(2, (), 0, || 1).await, Ok(1));
        assert!(order.recv().is_err());
    }
}
