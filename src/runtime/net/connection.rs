//! A connection: HTTP version, time-outs, and how it ends.

use std::{convert::Infallible, future::Future, pin::pin, sync::Arc, time::Duration};

use axum::{
    Router,
    http::{HeaderValue, Request, header},
    response::Response,
};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::conn::auto::Builder,
};
use prometheus_client::metrics::gauge::Gauge;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::watch,
    time::{sleep, timeout},
};
use tower::Service;

use super::{
    eviction::{EvictionEntry, EvictionQueue},
    streams::{self, StreamExecutor},
    write_timeout::WriteTimeout,
};

/// The limit of a request head in bytes.
const MAX_HEAD: usize = 64 << 10;
/// The limit of concurrent requests on one HTTP/2 connection.
const MAX_STREAMS: u32 = 128;
/// The preface: the first bytes of an HTTP/2 connection.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// What the connections of a listener share.
#[derive(Clone)]
pub(super) struct Connections {
    router: Router,
    gauge: Gauge,
    limits: ConnectionLimits,
    /// The phase of the shutdown. Every connection holds a receiver: the channel closes when the last has ended.
    phase: Arc<watch::Sender<ShutdownPhase>>,
    evictions: EvictionQueue,
}

/// The time-outs of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConnectionLimits {
    /// The longest time from the accept, or the previous request, to the end of a request head.
    pub(super) head: Duration,
    /// The longest time in which a client reads no byte of an answer.
    pub(super) write: Duration,
    /// How long a connection without a request yet may still send its first one after the stop.
    pub(super) first_request_grace: Duration,
}

/// The phase of the shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ShutdownPhase {
    Running,
    /// Requests are answered, and HTTP/1 clients are asked to use another connection next time: closing an idle
    /// connection could meet a request on its way.
    Leaving,
    /// Connections end.
    Stopped,
}

impl Connections {
    pub(super) fn new(router: Router, gauge: Gauge, limits: ConnectionLimits) -> Self {
        let phase = Arc::new(watch::Sender::new(ShutdownPhase::Running));
        Self { router, gauge, limits, phase, evictions: EvictionQueue::default() }
    }

    /// Evicts the oldest connection that has had no answer yet. `false`: there is none.
    pub(super) fn evict_oldest(&self) -> bool {
        self.evictions.evict_oldest()
    }

    /// The number of open connections.
    pub(super) fn count(&self) -> usize {
        self.phase.receiver_count()
    }

    /// Closes each HTTP/1 connection after its next answer.
    pub(super) fn leave(&self) {
        self.phase.send_replace(ShutdownPhase::Leaving);
    }

    /// Closes idle connections, and the others after their requests. Resolves when all have ended.
    pub(super) async fn stop(&self) {
        self.phase.send_replace(ShutdownPhase::Stopped);
        self.phase.closed().await;
    }

    /// Serves the stream that `opening` resolves to, on a task that holds `slot`. `opening` has its own time-out.
    pub(super) fn spawn<S>(&self, opening: impl Future<Output = Option<S>> + Send + 'static, slot: impl Send + 'static)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (open, phase) = (OpenConnection::new(&self.gauge), self.phase.subscribe());
        let (router, limits) = (self.router.clone(), self.limits);
        let eviction = Arc::new(self.evictions.add());
        tokio::spawn(async move {
            let _held = (slot, open);
            let entry = eviction.clone();
            let served = async {
                if let Some(io) = opening.await {
                    serve(io, router, limits, phase, entry).await;
                }
            };
            tokio::select! {
                () = served => {}
                () = eviction.evicted() => tracing::debug!("evicted a connection without a response"),
            }
        });
    }
}

/// Counts an open connection until it is dropped.
struct OpenConnection(Gauge);

impl OpenConnection {
    fn new(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.dec();
    }
}

async fn serve<S>(
    io: S,
    router: Router,
    limits: ConnectionLimits,
    mut phase: watch::Receiver<ShutdownPhase>,
    eviction: Arc<EvictionEntry>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let ConnectionLimits { head, write, first_request_grace } = limits;
    let (mut io, streams) = (WriteTimeout::new(io, write), StreamExecutor::new(write));
    // hyper-util waits for the preface without a time-out, and does not end at a stop meanwhile: so the preface is
    // detected here.
    let h2 = {
        let stopped = phase.clone();
        tokio::select! {
            biased;
            h2 = timeout(head, io.begins_with(PREFACE)) => h2,
            () = after(stopped, first_request_grace) => return,
        }
    };
    let Ok(Ok(Some(h2))) = h2 else { return };
    let builder = builder(head, streams.clone());
    let builder = if h2 { builder.http2_only() } else { builder.http1_only() };
    let leaving = phase.clone();
    let service = service_fn(move |request| answer(router.clone(), request, h2, leaving.clone(), eviction.clone()));
    let mut connection = pin!(builder.serve_connection(TokioIo::new(io), service));
    let ended = tokio::select! {
        biased;
        ended = connection.as_mut() => Some(ended),
        () = stopped(&mut phase) => None,
        // hyper limits the time to the next head for HTTP/1, but not for HTTP/2.
        () = streams.idle(head), if h2 => None,
    };
    let ended = if let Some(ended) = ended {
        ended
    } else {
        connection.as_mut().graceful_shutdown();
        tokio::select! {
            ended = connection.as_mut() => ended,
            // The client ignores GOAWAY.
            () = streams.idle(head), if h2 => Ok(()),
        }
    };
    if let Err(error) = ended {
        tracing::debug!(error, "connection failed");
    }
}

async fn answer(
    mut router: Router,
    request: Request<Incoming>,
    h2: bool,
    phase: watch::Receiver<ShutdownPhase>,
    eviction: Arc<EvictionEntry>,
) -> Result<Response, Infallible> {
    let mut response = router.call(request).await?;
    eviction.remove();
    if h2 {
        return Ok(streams::with_stall_timer(response));
    }
    if *phase.borrow() >= ShutdownPhase::Leaving {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    Ok(response)
}

async fn stopped(phase: &mut watch::Receiver<ShutdownPhase>) {
    // An error means that the sender is gone, and no stop can follow.
    let _ = phase.wait_for(|phase| *phase == ShutdownPhase::Stopped).await;
}

/// Resolves this long after a stop.
async fn after(mut phase: watch::Receiver<ShutdownPhase>, delay: Duration) {
    stopped(&mut phase).await;
    if !delay.is_zero() {
        sleep(delay).await;
    }
}

fn builder(head: Duration, streams: StreamExecutor) -> Builder<StreamExecutor> {
    let mut builder = Builder::new(streams);
    builder.http1().timer(TokioTimer::new()).header_read_timeout(head).max_buf_size(MAX_HEAD);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(64 << 10)
        .max_concurrent_streams(MAX_STREAMS)
        .keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(10));
    builder
}
