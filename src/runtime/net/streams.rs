//! The streams of one HTTP/2 connection: none waits for ever for its client, and none of them is soon no connection.
//!
//! A client that opens no window takes no byte of an answer, and the socket never notices: the answer waits inside
//! h2. So each stream has a clock of its own, which runs while the client has something to take.

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

/// Bytes of an answer that are handed on at once: h2 keeps what it was given, however small the window is.
const PIECE: usize = 16 << 10;

tokio::task_local! {
    /// The clock of the stream that the current task answers.
    static CLOCK: Clock;
}

/// Runs each stream on a task of its own, until it ends or its client takes nothing for `limit`.
#[derive(Clone)]
pub(super) struct Streams {
    limit: Duration,
    open: Arc<Mutex<Open>>,
}

/// How many streams there are, and since when that is so.
struct Open {
    count: usize,
    since: Instant,
}

impl Streams {
    pub(super) fn new(limit: Duration) -> Self {
        Self { limit, open: Arc::new(Mutex::new(Open { count: 0, since: Instant::now() })) }
    }

    /// Ready when there was no stream for `limit`, counted from now or from the end of the last one.
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

impl<F> hyper::rt::Executor<F> for Streams
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        let counted = Counted::new(self.open.clone());
        let clock = Clock::new(self.limit);
        tokio::spawn(CLOCK.scope(clock.clone(), async move {
            let _counted = counted;
            tokio::select! {
                biased;
                () = stream => {}
                // To drop a stream is to reset it.
                () = clock.run_out() => tracing::debug!("a client takes nothing of its answer: the stream is reset"),
            }
        }));
    }
}

/// One open stream.
struct Counted(Arc<Mutex<Open>>);

impl Counted {
    fn new(open: Arc<Mutex<Open>>) -> Self {
        lock(&open).count += 1;
        Self(open)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut open = lock(&self.0);
        open.count = open.count.saturating_sub(1);
        open.since = Instant::now();
    }
}

/// Runs while the client has a piece to take.
#[derive(Clone)]
struct Clock {
    limit: Duration,
    since: Arc<Mutex<Option<Instant>>>,
}

impl Clock {
    fn new(limit: Duration) -> Self {
        Self { limit, since: Arc::default() }
    }

    fn start(&self) {
        *lock(&self.since) = Some(Instant::now());
    }

    fn stop(&self) {
        *lock(&self.since) = None;
    }

    /// Ready when it ran for its limit without a new start. Looks only now and then: a start wakes nobody.
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

/// Sets the clock of an answer's stream going.
pub(super) fn watch(response: Response) -> Response {
    match CLOCK.try_with(Clock::clone) {
        Ok(clock) => response.map(|body| Body::new(Watched { body, rest: Bytes::new(), clock })),
        Err(_) => response,
    }
}

/// A body in pieces, each of which starts the clock anew.
struct Watched {
    body: Body,
    rest: Bytes,
    clock: Clock,
}

impl hyper::body::Body for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.rest.is_empty() {
            // Until there is something to take, it is not the client that is slow.
            self.clock.stop();
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
        self.clock.start();
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
