//! Worker threads: as many as cores, with a fair queue.
//!
//! Work that takes more than a millisecond would hold up the connections that the same thread serves, and every thread
//! that computes keeps memory of its own. So a few threads of the runtime's blocking pool compute, and those who send
//! the work take turns: one who sends a hundred jobs delays another one by one of them.

use std::{
    collections::{HashMap, VecDeque},
    hash::{BuildHasher, Hash, RandomState},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::oneshot;

/// Worker threads. A clone means the same ones.
#[derive(Clone, Debug)]
pub(crate) struct Workers(Arc<WorkersShared>);

/// Why a job was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkError {
    /// Too many jobs wait, and its sender has the most of them.
    Busy,
    /// It panicked.
    Panicked,
}

#[derive(Debug)]
struct WorkersShared {
    threads: usize,
    /// How many jobs may wait.
    capacity: usize,
    queue: Mutex<Queue>,
    senders: RandomState,
}

#[derive(Default)]
struct Queue {
    /// How many threads work.
    working: usize,
    waiting: usize,
    next: u64,
    /// The jobs of each sender that has any, with their numbers.
    jobs: HashMap<u64, VecDeque<(u64, Job)>>,
    /// The senders, in the order of their turns.
    turns: VecDeque<u64>,
}

/// A job: to be done, or to be given up.
type Job = Box<dyn FnOnce(Verdict) + Send>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Run,
    GiveUp,
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queue").field("waiting", &self.waiting).finish_non_exhaustive()
    }
}

impl Workers {
    /// This many threads, for which this many jobs may wait.
    pub(crate) fn new(threads: usize, capacity: usize) -> Self {
        let (queue, senders) = (Mutex::default(), RandomState::new());
        Self(Arc::new(WorkersShared { threads: threads.max(1), capacity, queue, senders }))
    }

    /// How many jobs wait.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.0.lock().waiting
    }

    /// Does `work` when it is the turn of `sender`. Work that has not begun is given up when the future is dropped.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        sender: impl Hash,
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
        let _waits = self.0.add(self.0.senders.hash_one(sender), job);
        result.await.unwrap_or(Err(WorkError::Panicked))
    }
}

impl WorkersShared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(self: &Arc<Self>, sender: u64, job: Job) -> WaitingJob {
        let mut queue = self.lock();
        let number = queue.add(sender, job);
        // A thread that is about to work takes one of the jobs that wait.
        let starts = queue.working < self.threads;
        let given_up = if starts || queue.waiting <= self.capacity { None } else { queue.give_up() };
        queue.working += usize::from(starts);
        drop(queue);
        if starts {
            let shared = self.clone();
            tokio::task::spawn_blocking(move || shared.work());
        }
        if let Some(job) = given_up {
            job(Verdict::GiveUp);
        }
        WaitingJob { shared: self.clone(), sender, number }
    }

    /// Works until no job is left.
    fn work(&self) {
        loop {
            let mut queue = self.lock();
            let Some(job) = queue.next() else {
                queue.working -= 1;
                return;
            };
            drop(queue);
            job(Verdict::Run);
        }
    }
}

/// A job that somebody waits for. It leaves the queue when nobody does any more.
struct WaitingJob {
    shared: Arc<WorkersShared>,
    sender: u64,
    number: u64,
}

impl Drop for WaitingJob {
    fn drop(&mut self) {
        let job = self.shared.lock().remove(self.sender, self.number);
        // What the job holds is dropped without the lock.
        drop(job);
    }
}

impl Queue {
    fn add(&mut self, sender: u64, job: Job) -> u64 {
        let number = self.next;
        self.next += 1;
        self.waiting += 1;
        let jobs = self.jobs.entry(sender).or_default();
        if jobs.is_empty() {
            self.turns.push_back(sender);
        }
        jobs.push_back((number, job));
        number
    }

    fn remove(&mut self, sender: u64, number: u64) -> Option<Job> {
        let jobs = self.jobs.get_mut(&sender)?;
        let job = jobs.iter().position(|(n, _)| *n == number).and_then(|i| jobs.remove(i));
        self.removed(sender, job)
    }

    fn next(&mut self) -> Option<Job> {
        let sender = self.turns.pop_front()?;
        // Its next turn comes after those of all others.
        self.turns.push_back(sender);
        let job = self.jobs.get_mut(&sender)?.pop_front();
        self.removed(sender, job)
    }

    /// Takes out the last job of the sender with the most jobs.
    fn give_up(&mut self) -> Option<Job> {
        let most = self.turns.iter().copied().max_by_key(|sender| self.jobs.get(sender).map_or(0, VecDeque::len))?;
        let job = self.jobs.get_mut(&most)?.pop_back();
        self.removed(most, job)
    }

    /// Counts a job that was taken out of the queue of `sender`.
    fn removed(&mut self, sender: u64, job: Option<(u64, Job)>) -> Option<Job> {
        let (_, job) = job?;
        self.waiting -= 1;
        if self.jobs.get(&sender).is_some_and(VecDeque::is_empty) {
            self.jobs.remove(&sender);
            self.turns.retain(|other| *other != sender);
        }
        Some(job)
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
                .run("first", move || {
                    started.send(()).unwrap();
                    let _ = held.recv();
                })
                .await
        });
        has_started.await.unwrap();
        (workers, hold, running)
    }

    /// The order in which the jobs of these senders are done, and the jobs that are not.
    async fn order(capacity: usize, senders: &str) -> (String, String) {
        let (workers, hold, running) = busy(capacity).await;
        let (done, order) = mpsc::channel();
        let mut jobs = JoinSet::new();
        for (i, sender) in senders.chars().enumerate() {
            let (workers, done) = (workers.clone(), done.clone());
            jobs.spawn(async move {
                let name = format!("{sender}{i} ");
                let note = name.clone();
                workers.run(sender, move || done.send(note).unwrap()).await.err().map(|e| (name, e))
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
            (9, "aaab", "a0 b3 a1 a2 ", ""),
            (9, "aabbc", "a0 b2 c4 a1 b3 ", ""),
            (2, "aab", "a0 b2 ", "a1 Busy "),
            (2, "aaa", "a0 a1 ", "a2 Busy "),
            (0, "a", "", "a0 Busy "),
        ] {
            assert_eq!(order(capacity, senders).await, (want.to_owned(), refused.to_owned()), "{capacity} {senders}");
        }
    }

    #[tokio::test]
    async fn a_job_that_panics_leaves_the_thread_alive() {
        let workers = Workers::new(1, 8);
        assert_eq!(workers.run(1, || panic!("on purpose")).await, Err::<(), _>(WorkError::Panicked));
        assert_eq!(workers.run(1, || 7).await, Ok(7));
    }

    #[tokio::test]
    async fn a_job_that_nobody_waits_for_is_not_done() {
        let (workers, hold, running) = busy(8).await;
        let (done, order) = mpsc::channel();
        let job = workers.run(2, move || done.send(()).unwrap());
        assert!(tokio::time::timeout(std::time::Duration::from_millis(1), job).await.is_err());
        drop(hold);
        running.await.unwrap().unwrap();
        assert_eq!(workers.run(2, || 1).await, Ok(1));
        assert!(order.recv().is_err());
    }
}
