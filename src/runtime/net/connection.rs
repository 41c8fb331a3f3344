//! One connection: which HTTP it speaks, how long it may take, and how it ends.

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
    newcomers::{Newcomer, Newcomers},
    patient::Patient,
    streams::{self, Streams},
};

/// Most bytes of a request's head.
const MAX_HEAD: usize = 64 << 10;
/// Requests of one HTTP/2 connection at once.
const MAX_STREAMS: u32 = 128;
/// The first bytes of HTTP/2.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// What all connections of a listener share.
#[derive(Clone)]
pub(super) struct Connections {
    router: Router,
    open: Gauge,
    limits: ConnectionLimits,
    /// Says how far the end is, and is closed when the last connection has ended.
    phase: Arc<watch::Sender<Phase>>,
    newcomers: Newcomers,
}

/// How long a connection may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConnectionLimits {
    /// Longest time from a connection, or the request before, to the end of a request's head.
    pub(super) head: Duration,
    /// Longest time in which a client takes no byte of an answer.
    pub(super) write: Duration,
    /// How long a connection that has not brought a request yet may still bring its first after a stop.
    pub(super) late: Duration,
}

/// How far the end is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Open,
    /// Requests are answered, and HTTP/1 clients told to come on another connection next time: one that is closed
    /// while nobody uses it may meet a request on its way.
    Leaving,
    /// Connections end.
    Stopped,
}

impl Connections {
    pub(super) fn new(router: Router, open: Gauge, limits: ConnectionLimits) -> Self {
        Self { router, open, limits, phase: Arc::new(watch::Sender::new(Phase::Open)), newcomers: Newcomers::default() }
    }

    /// Ends the oldest connection that has had no answer yet; whether there was one.
    pub(super) fn push_out(&self) -> bool {
        self.newcomers.push_out()
    }

    /// How many are open.
    pub(super) fn count(&self) -> usize {
        self.phase.receiver_count()
    }

    /// From now on every answer ends its connection.
    pub(super) fn leave(&self) {
        self.phase.send_replace(Phase::Leaving);
    }

    /// Ends those that wait for a request, and the others after theirs.
    pub(super) async fn stop(&self) {
        self.phase.send_replace(Phase::Stopped);
        self.phase.closed().await;
    }

    /// Serves what `opening` gives on a task of its own, which holds `slot`. It has a limit of its own.
    pub(super) fn spawn<S>(&self, opening: impl Future<Output = Option<S>> + Send + 'static, slot: impl Send + 'static)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (open, phase) = (Open::new(&self.open), self.phase.subscribe());
        let (router, limits) = (self.router.clone(), self.limits);
        let newcomer = Arc::new(self.newcomers.add());
        tokio::spawn(async move {
            let _held = (slot, open);
            let answered = newcomer.clone();
            let served = async {
                if let Some(io) = opening.await {
                    serve(io, router, limits, phase, answered).await;
                }
            };
            tokio::select! {
                () = served => {}
                () = newcomer.pushed_out() => tracing::debug!("a connection without an answer yet goes for another"),
            }
        });
    }
}

/// Counts an open connection, however it ends.
struct Open(Gauge);

impl Open {
    fn new(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.dec();
    }
}

async fn serve<S>(
    io: S,
    router: Router,
    limits: ConnectionLimits,
    mut phase: watch::Receiver<Phase>,
    newcomer: Arc<Newcomer>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let ConnectionLimits { head, write, late } = limits;
    let (mut io, streams) = (Patient::new(io, write), Streams::new(write));
    // hyper-util looks for the preface without a time limit, and does not end at a stop meanwhile: so it is
    // looked for here.
    let h2 = {
        let stopped = phase.clone();
        tokio::select! {
            biased;
            h2 = timeout(head, io.begins_with(PREFACE)) => h2,
            () = after(stopped, late) => return,
        }
    };
    let Ok(Ok(Some(h2))) = h2 else { return };
    let builder = builder(head, streams.clone());
    let builder = if h2 { builder.http2_only() } else { builder.http1_only() };
    let leaving = phase.clone();
    let service = service_fn(move |request| answer(router.clone(), request, h2, leaving.clone(), newcomer.clone()));
    let mut connection = pin!(builder.serve_connection(TokioIo::new(io), service));
    let ended = tokio::select! {
        biased;
        ended = connection.as_mut() => Some(ended),
        () = stopped(&mut phase) => None,
        // HTTP/1 has its limit for the next head in hyper; HTTP/2 has none there.
        () = streams.idle(head), if h2 => None,
    };
    let ended = if let Some(ended) = ended {
        ended
    } else {
        connection.as_mut().graceful_shutdown();
        tokio::select! {
            ended = connection.as_mut() => ended,
            // This client does not go when it is asked to.
            () = streams.idle(head), if h2 => Ok(()),
        }
    };
    if let Err(error) = ended {
        tracing::debug!(error, "connection");
    }
}

async fn answer(
    mut router: Router,
    request: Request<Incoming>,
    h2: bool,
    phase: watch::Receiver<Phase>,
    newcomer: Arc<Newcomer>,
) -> Result<Response, Infallible> {
    let mut response = router.call(request).await?;
    newcomer.stays();
    if h2 {
        return Ok(streams::watch(response));
    }
    if *phase.borrow() >= Phase::Leaving {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    Ok(response)
}

async fn stopped(phase: &mut watch::Receiver<Phase>) {
    // An error means that nobody is left who could stop it later.
    let _ = phase.wait_for(|phase| *phase == Phase::Stopped).await;
}

/// Ready so long after a stop.
async fn after(mut phase: watch::Receiver<Phase>, late: Duration) {
    stopped(&mut phase).await;
    if !late.is_zero() {
        sleep(late).await;
    }
}

fn builder(head: Duration, streams: Streams) -> Builder<Streams> {
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
