//! Worker threads: as many as cores, with a fair queue.
//!
//! Work that takes more than a millisecond would hold up the connections that the same thread serves, and every thread
//! that computes keeps memory of its own. So a few threads of the runtime's blocking pool compute, and those who send
//! the work take turns: peers, and the users of each peer. A peer is known by its address, but the name of a user is what
//! the peer writes: a hostile one that invents users takes turns from nobody else. How much work a job is, the length of its
//! input tells.

use std::{
    collections::VecDeque,
    hash::{BuildHasher, Hash, RandomState},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::oneshot;

use super::turns::{Cost, Queue, Turns};

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
    threads: usize,
    /// How many jobs may wait.
    capacity: usize,
    queue: Mutex<JobQueue>,
    /// Names of peers and users are of any length: the queue holds their hashes.
    names: RandomState,
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
    job: Job,
}

impl Cost for NumberedJob {
    fn cost(&self) -> u64 {
        self.cost
    }
}

/// A job: to be done, or to be given up.
type Job = Box<dyn FnOnce(Verdict) + Send>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Run,
    GiveUp,
}

impl std::fmt::Debug for JobQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JobQueue").field("waiting", &self.jobs.count()).finish_non_exhaustive()
    }
}

impl Workers {
    /// This many threads, for which this many jobs may wait.
    pub(crate) fn new(threads: usize, capacity: usize) -> Self {
        let (queue, names) = (Mutex::default(), RandomState::new());
        Self(Arc::new(WorkersShared { threads: threads.max(1), capacity, queue, names }))
    }

    /// How many jobs wait.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.0.lock().jobs.count()
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
        let (done, result) = oneshot::channel();
        let job: Job = Box::new(move |verdict| {
            // The receiver is gone when nobody waits any more.
            let _ = done.send(match verdict {
                Verdict::Run => catch_unwind(AssertUnwindSafe(work)).map_err(|_| WorkError::Panicked),
                Verdict::GiveUp => Err(WorkError::Busy),
            });
        });
        let _waits = self.0.add(self.0.names.hash_one(peer), self.0.names.hash_one(user), cost(length), job);
        result.await.unwrap_or(Err(WorkError::Panicked))
    }
}

impl WorkersShared {
    fn lock(&self) -> MutexGuard<'_, JobQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(self: &Arc<Self>, peer: u64, user: u64, cost: u64, job: Job) -> WaitingJob {
        let mut queue = self.lock();
        let number = queue.add(peer, user, cost, job);
        // A thread that is about to work takes one of the jobs that wait.
        let starts = queue.working < self.threads;
        let given_up = if starts || queue.jobs.count() <= self.capacity { None } else { queue.jobs.give_up() };
        queue.working += usize::from(starts);
        drop(queue);
        if starts {
            let shared = self.clone();
            tokio::task::spawn_blocking(move || shared.work());
        }
        if let Some(NumberedJob { job, .. }) = given_up {
            job(Verdict::GiveUp);
        }
        WaitingJob { shared: self.clone(), number }
    }

    /// Works until no job is left.
    fn work(&self) {
        loop {
            let mut queue = self.lock();
            let Some(NumberedJob { job, .. }) = queue.jobs.take_next() else {
                queue.working -= 1;
                return;
            };
            drop(queue);
            job(Verdict::Run);
        }
    }
}

/// The work on an input of this many bytes, in kibibytes: nothing is free.
fn cost(length: usize) -> u64 {
    1 + length as u64 / 1024
}

/// A job that somebody waits for. It leaves the queue when nobody does any more.
struct WaitingJob {
    shared: Arc<WorkersShared>,
    number: u64,
}

impl Drop for WaitingJob {
    fn drop(&mut self) {
        let job = self.shared.lock().jobs.take_where(&|job| job.number == self.number);
        // What the job holds is dropped without the lock.
        drop(job);
    }
}

impl JobQueue {
    fn add(&mut self, peer: u64, user: u64, cost: u64, job: Job) -> u64 {
        let number = self.next;
        self.next += 1;
        self.jobs.change(peer, |users| users.change(user, |jobs| jobs.push_back(NumberedJob { number, cost, job })));
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

    #[tokio::test]
    async fn a_job_that_panics_leaves_the_thread_alive() {
        let workers = Workers::new(1, 8);
        assert_eq!(workers.run(1, (), 0, || panic!("on purpose")).await, Err::<(), _>(WorkError::Panicked));
        assert_eq!(workers.run(1, (), 0, || 7).await, Ok(7));
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
