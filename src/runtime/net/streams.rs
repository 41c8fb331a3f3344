//! The streams of one HTTP/2 connection: a task for each, and a time-out for a connection that has none.

use std::{
    future::Future,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::{Instant, sleep_until};

use super::response_clock::{self, ResponseClock};

/// Runs each stream on its own task, until it ends or its client reads the response too slowly.
#[derive(Clone)]
pub(super) struct StreamExecutor {
    /// The longest time in which a client reads nothing of a response.
    limit: Duration,
    open: Arc<Mutex<StreamCount>>,
}

/// The number of open streams, and when it changed last.
struct StreamCount {
    count: usize,
    since: Instant,
}

impl StreamExecutor {
    pub(super) fn new(limit: Duration) -> Self {
        Self { limit, open: Arc::new(Mutex::new(StreamCount { count: 0, since: Instant::now() })) }
    }

    /// Resolves when there has been no stream for `limit`, counted from now or from the end of the last stream.
    pub(super) async fn idle(&self, limit: Duration) {
        let began = Instant::now();
        loop {
            let now = Instant::now();
            let quiet_since = {
                let open = lock(&self.open);
                if open.count == 0 { open.since.max(began) } else { now }
            };
            if now.duration_since(quiet_since) >= limit {
                return;
            }
            sleep_until(quiet_since + limit).await;
        }
    }
}

impl<F> hyper::rt::Executor<F> for StreamExecutor
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        let open = OpenStream::new(self.open.clone());
        let clock = ResponseClock::new(self.limit);
        tokio::spawn(response_clock::scope(clock.clone(), async move {
            let _held = open;
            tokio::select! {
                biased;
                () = stream => {}
                // Dropping a stream resets it.
                () = clock.run_out() => tracing::debug!("reset a stream whose client reads too slowly"),
            }
        }));
    }
}

/// An open stream, counted until it is dropped.
struct OpenStream(Arc<Mutex<StreamCount>>);

impl OpenStream {
    fn new(open: Arc<Mutex<StreamCount>>) -> Self {
        lock(&open).count += 1;
        Self(open)
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let mut open = lock(&self.0);
        open.count = open.count.saturating_sub(1);
        open.since = Instant::now();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
