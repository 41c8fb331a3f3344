//! The clock of a response: how long its client may still take to read it.
//!
//! A client that keeps its flow-control window closed reads no byte of a response, and the socket never notices: the
//! response waits inside h2. One that reads a byte now and then holds its response just as long. So each response has
//! one clock. It runs while there is data for the client to read, and every piece that is read adds the time which
//! a slow line would need for it.

use std::{
    future::Future,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

/// The least pace at which a response must be read, in bytes per second.
const MIN_PACE: u32 = 16 << 10;

/// The time in which so many bytes pass at a pace in bytes per second.
pub(super) fn time_for(bytes: usize, pace: u32) -> Duration {
    Duration::from_secs(1).saturating_mul(u32::try_from(bytes).unwrap_or(u32::MAX)) / pace.max(1)
}

tokio::task_local! {
    static CLOCK: ResponseClock;
}

/// Runs `task` with a clock of its own: that of the stream, over HTTP/2.
pub(super) fn scope<F: Future>(clock: ResponseClock, task: F) -> impl Future<Output = F::Output> {
    CLOCK.scope(clock, task)
}

/// The clock of the current task.
pub(super) fn current() -> Option<ResponseClock> {
    CLOCK.try_with(ResponseClock::clone).ok()
}

/// The clock of a response. A clone is the same clock.
#[derive(Clone, Debug)]
pub(super) struct ResponseClock {
    limit: Duration,
    state: Arc<Mutex<ClockState>>,
    expired: Arc<Notify>,
}

#[derive(Debug)]
struct ClockState {
    /// What is left, counted from `since` while the clock runs. At most the limit.
    left: Duration,
    /// When it started to run. `None`: it stands.
    since: Option<Instant>,
    /// The number of the response.
    response: u64,
    /// Whether that response was evicted.
    expired: bool,
}

impl ResponseClock {
    /// A clock that stands, with `limit` on it.
    pub(super) fn new(limit: Duration) -> Self {
        let state = Arc::new(Mutex::new(ClockState { left: limit, since: None, response: 0, expired: false }));
        Self { limit, state, expired: Arc::default() }
    }

    /// Puts the limit on it, for the next response, and returns its number.
    pub(super) fn reset(&self) -> u64 {
        let mut state = self.lock();
        let response = state.response + 1;
        *state = ClockState { left: self.limit, since: None, response, expired: false };
        response
    }

    /// Starts it: data is ready for the client.
    pub(super) fn start(&self) {
        self.lock().since.get_or_insert_with(Instant::now);
    }

    /// Stops it: the server has no data for the client.
    pub(super) fn stop(&self) {
        self.lock().stop();
    }

    /// Adds the time for `bytes` that the client has read.
    pub(super) fn add(&self, bytes: usize) {
        let mut state = self.lock();
        if state.since.is_some() {
            state.stop();
            state.since = Some(Instant::now());
        }
        state.left = state.left.saturating_add(time_for(bytes, MIN_PACE)).min(self.limit);
    }

    /// Leaves nothing on it, if it is still the clock of this response, which was evicted.
    pub(super) fn expire(&self, response: u64) {
        let mut state = self.lock();
        if state.response == response {
            state.expired = true;
            self.expired.notify_one();
        }
    }

    /// Resolves when nothing is left. It wakes only at the possible end: a start wakes no task.
    pub(super) async fn run_out(&self) {
        loop {
            let end = {
                let state = self.lock();
                let now = Instant::now();
                let end = state.since.unwrap_or(now) + state.left;
                if state.expired || state.since.is_some() && end <= now {
                    return;
                }
                end
            };
            // At the least a tick of the timer: a clock that stands with little left must not spin.
            tokio::select! {
                () = sleep_until(end.max(Instant::now() + Duration::from_millis(10))) => {}
                () = self.expired.notified() => {}
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, ClockState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClockState {
    fn stop(&mut self) {
        if let Some(since) = self.since.take() {
            self.left = self.left.saturating_sub(since.elapsed());
        }
    }
}
