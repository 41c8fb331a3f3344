//! The streams of one HTTP/2 connection: a time-out for answers that the client does not read, and for an idle connection.
//!
//! A client that keeps its flow-control window closed reads no byte of an answer, and the socket never notices: the
//! answer waits inside h2. So each stream has its own timer, which runs while there is data for the client to read.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::{body::Body, response::Response};
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use tokio::time::{Instant, sleep_until};

/// The size of a piece of an answer: h2 buffers what it gets, however small the window is.
const PIECE: usize = 16 << 10;

tokio::task_local! {
    /// The timer of the stream that the current task answers.
    static STALL_TIMER: StallTimer;
}

/// Runs each stream on its own task, until it ends or its client reads nothing for `limit`.
#[derive(Clone)]
pub(super) struct StreamExecutor {
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
        let timer = StallTimer::new(self.limit);
        tokio::spawn(STALL_TIMER.scope(timer.clone(), async move {
            let _held = open;
            tokio::select! {
                biased;
                () = stream => {}
                // Dropping a stream resets it.
                () = timer.run_out() => tracing::debug!("reset a stream whose client reads nothing"),
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

/// Measures how long a client has not read a piece that is ready for it.
#[derive(Clone)]
struct StallTimer {
    limit: Duration,
    since: Arc<Mutex<Option<Instant>>>,
}

impl StallTimer {
    fn new(limit: Duration) -> Self {
        Self { limit, since: Arc::default() }
    }

    fn start(&self) {
        *lock(&self.since) = Some(Instant::now());
    }

    fn stop(&self) {
        *lock(&self.since) = None;
    }

    /// Resolves when it has run for its limit without a new start. It wakes only at the possible end: a start wakes no task.
    async fn run_out(&self) {
        loop {
            let now = Instant::now();
            let since = lock(&self.since).unwrap_or(now);
            if now.duration_since(since) >= self.limit {
                return;
            }
            sleep_until(since + self.limit).await;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts the timer of the stream for every piece of its answer.
pub(super) fn with_stall_timer(response: Response) -> Response {
    match STALL_TIMER.try_with(StallTimer::clone) {
        Ok(timer) => response.map(|body| Body::new(StallTimedBody { body, rest: Bytes::new(), timer })),
        Err(_) => response,
    }
}

/// A body in pieces, each of which restarts the timer.
struct StallTimedBody {
    body: Body,
    rest: Bytes,
    timer: StallTimer,
}

impl hyper::body::Body for StallTimedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.rest.is_empty() {
            // Until a piece is ready, the client is not the one that is slow.
            self.timer.stop();
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.rest = data,
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
                end => return Poll::Ready(end),
            }
        }
        let most = self.rest.len().min(PIECE);
        let piece = self.rest.split_to(most);
        self.timer.start();
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (mut hint, body, rest) = (SizeHint::new(), self.body.size_hint(), self.rest.len() as u64);
        if let Some(upper) = body.upper() {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint.set_lower(body.lower().saturating_add(rest));
        hint
    }
}
