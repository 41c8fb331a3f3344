//! Worker threads with fair queues: some for short jobs, some for long ones.
//!
//! Work that takes more than a millisecond would hold up the connections that the same thread serves, and every thread
//! that computes keeps memory of its own. So a few threads compute, and those who send the work take turns: peers, and the
//! users of each peer. A peer is known by its address, but the name of a user is what the peer writes: a hostile one that
//! invents users takes turns from nobody else. How much work a job is, the length of its input tells.
//!
//! Long jobs have threads of their own, of low priority: however many wait, a short job waits for short ones only, and the
//! threads that accept and answer get a core when they need one.

use std::{
    collections::VecDeque,
    hash::{BuildHasher, Hash, RandomState},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::sync::oneshot;

use super::{
    background_thread,
    turns::{Cost, Queue, Turns},
};
use crate::model::Interrupt;

/// The length in bytes of the longest input of a short job. The work on it takes some ten milliseconds.
pub(crate) const SHORT: usize = 1 << 20;

/// Worker threads. A clone means the same ones.
#[derive(Clone, Debug)]
pub(crate) struct Workers(Arc<WorkersShared>);

/// Why a job was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkError {
    /// Too many jobs wait, and its peer has the most of them.
    Busy,
    /// It panicked.
    Panicked,
}

#[derive(Debug)]
struct WorkersShared {
    short: Arc<Lane>,
    long: Arc<Lane>,
    /// Names of peers and users are of any length: the queues hold their hashes.
    names: RandomState,
}

/// Threads, and the jobs that wait for them.
#[derive(Debug)]
struct Lane {
    threads: usize,
    /// How many jobs may wait.
    capacity: usize,
    /// Whether the threads have a low priority.
    is_background: bool,
    queue: Mutex<JobQueue>,
}

#[derive(Default)]
struct JobQueue {
    /// How many threads work.
    working: usize,
    next: u64,
    /// The jobs that wait, by peer and by user.
    jobs: Turns<u64, Turns<u64, VecDeque<NumberedJob>>>,
}

struct NumberedJob {
    number: u64,
    cost: u64,
    state: Arc<JobState>,
    job: Job,
}

/// What a job and the one who waits for it tell each other.
#[derive(Debug, Default)]
struct JobState {
    /// Whether it waits no more: it has begun, or was given up.
    has_left: AtomicBool,
    /// Whether nobody waits for it any more.
    is_unwanted: AtomicBool,
}

impl Cost for NumberedJob {
    fn cost(&self) -> u64 {
        self.cost
    }
}

/// A job: to be done, or to be given up.
type Job = Box<dyn FnOnce(Verdict<'_>) + Send>;

#[derive(Clone, Copy, Debug)]
enum Verdict<'a> {
    Run(Interrupt<'a>),
    GiveUp,
}

impl std::fmt::Debug for JobQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JobQueue").field("waiting", &self.jobs.count()).finish_non_exhaustive()
    }
}

impl Workers {
    /// This many threads for short jobs, and one fewer, but at least one, for long ones. This many jobs of each may wait.
    pub(crate) fn new(threads: usize, capacity: usize) -> Self {
        let (short, long) = (threads.max(1), threads.saturating_sub(1).max(1));
        Self::of_lanes(Lane::new(short, capacity, false), Lane::new(long, capacity, true))
    }

    /// This many threads, for which this many jobs may wait; all of them are long, whatever is known of their input.
    pub(crate) fn for_long_jobs(threads: usize, capacity: usize) -> Self {
        let all = Lane::new(threads.max(1), capacity, true);
        Self::of_lanes(all.clone(), all)
    }

    fn of_lanes(short: Arc<Lane>, long: Arc<Lane>) -> Self {
        Self(Arc::new(WorkersShared { short, long, names: RandomState::new() }))
    }

    /// How many short jobs wait.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.0.short.lock().jobs.count()
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
        let (done, result) = oneshot::channel();
        let job: Job = Box::new(move |verdict| {
            // The receiver is gone when nobody waits any more.
            let _ = done.send(match verdict {
                Verdict::Run(unwanted) => {
                    catch_unwind(AssertUnwindSafe(|| work(unwanted))).map_err(|_| WorkError::Panicked)
                }
                Verdict::GiveUp => Err(WorkError::Busy),
            });
        });
        let lane = if length <= SHORT { &self.0.short } else { &self.0.long };
        let _waits = lane.add(self.0.names.hash_one(peer), self.0.names.hash_one(user), cost(length), job);
        result.await.unwrap_or(Err(WorkError::Panicked))
    }
}

impl Lane {
    fn new(threads: usize, capacity: usize, is_background: bool) -> Arc<Self> {
        Arc::new(Self { threads, capacity, is_background, queue: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, JobQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(self: &Arc<Self>, peer: u64, user: u64, cost: u64, job: Job) -> WaitingJob {
        let state = Arc::<JobState>::default();
        let mut queue = self.lock();
        let number = queue.add(peer, user, cost, state.clone(), job);
        // A thread that is about to work takes one of the jobs that wait.
        let starts = queue.working < self.threads;
        let given_up = if starts || queue.jobs.count() <= self.capacity { None } else { queue.jobs.give_up() };
        queue.working += usize::from(starts);
        drop(queue);
        if starts {
            self.start();
        }
        if let Some(NumberedJob { state, job, .. }) = given_up {
            state.has_left.store(true, Ordering::Relaxed);
            job(Verdict::GiveUp);
        }
        WaitingJob { lane: self.clone(), number, state }
    }

    /// Starts a thread that works until no job is left.
    fn start(self: &Arc<Self>) {
        let lane = self.clone();
        let started = self.is_background && background_thread::spawn("roster-long-work", move || lane.work()).is_ok();
        if !started {
            let lane = self.clone();
            tokio::task::spawn_blocking(move || lane.work());
        }
    }

    /// Works until no job is left.
    fn work(&self) {
        loop {
            let mut queue = self.lock();
            let Some(NumberedJob { state, job, .. }) = queue.jobs.take_next() else {
                queue.working -= 1;
                return;
            };
            drop(queue);
            state.has_left.store(true, Ordering::Relaxed);
            job(Verdict::Run(Interrupt::when(&state.is_unwanted)));
        }
    }
}

/// The work on an input of this many bytes, in kibibytes: nothing is free.
fn cost(length: usize) -> u64 {
    1 + length as u64 / 1024
}

/// A job that somebody waits for. When nobody does any more, it leaves the queue, or is interrupted.
struct WaitingJob {
    lane: Arc<Lane>,
    number: u64,
    state: Arc<JobState>,
}

impl Drop for WaitingJob {
    fn drop(&mut self) {
        self.state.is_unwanted.store(true, Ordering::Relaxed);
        // Nearly always it has been done: then nothing is looked for in the queue.
        if self.state.has_left.load(Ordering::Relaxed) {
            return;
        }
        let job = self.lane.lock().jobs.take_where(&|job| job.number == self.number);
        // What the job holds is dropped without the lock.
        drop(job);
    }
}

impl JobQueue {
    fn add(&mut self, peer: u64, user: u64, cost: u64, state: Arc<JobState>, job: Job) -> u64 {
        let number = self.next;
        self.next += 1;
        let job = NumberedJob { number, cost, state, job };
        self.jobs.change(peer, |users| users.change(user, |jobs| jobs.push_back(job)));
        number
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
        let waiting = workers.0.short.lock().jobs.count() + workers.0.long.lock().jobs.count();
        assert_eq!(waiting, jobs.len() - expected, "{jobs}");
        drop(hold);
        while let Some(done) = running.join_next().await {
            assert_eq!(done.unwrap(), Ok(()));
        }
        begun.into_iter().collect()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn long_jobs_leave_a_thread_for_short_ones() {
        for (threads, jobs, want) in [
            (1, "LLs", "Ls"),
            (2, "LLLs", "Ls"),
            (2, "LLsss", "Lss"),
            (3, "LLLLs", "LLs"),
            (2, "sss", "ss"),
        ] {
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
