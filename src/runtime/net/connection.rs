//! A connection: HTTP version, time-outs, and how it ends.

use std::{
    convert::Infallible,
    pin::pin,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    http::{HeaderValue, Request, header},
    response::Response,
};
use futures::future::BoxFuture;
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::conn::auto::Builder,
};
use prometheus_client::metrics::gauge::Gauge;
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};
use tower::Service;

use super::{
    activity::{Activity, ActivityStage},
    connection_stream::ConnectionStream,
    exchange::{Exchange, RequestBody, ResponseBody},
    health::Health,
    ledger::{Holding, Ledger, LedgerLimits},
    peer::Peer,
    response_clock::{self, ResponseClock},
    standings::Standings,
    streams::StreamExecutor,
    tcp_stream::HangUp,
    write_timeout::WriteTimeout,
};
use crate::runtime::tls::ClientChain;

/// The limit of a request head in bytes, over HTTP/1.
const MAX_HEAD: usize = 32 << 10;
/// The same over HTTP/2, where a connection may have many.
const MAX_HEADERS: u32 = 16 << 10;
/// The limit of concurrent requests on one HTTP/2 connection.
const MAX_STREAMS: u32 = 100;
/// What a client may send before the server reads it, over HTTP/2: on one stream, and on all of a connection.
const STREAM_WINDOW: u32 = 256 << 10;
const CONNECTION_WINDOW: u32 = 512 << 10;
/// How many evicted requests a connection may have.
const MAX_EVICTED: u32 = 16;
/// What h2 buffers of the response of a stream.
const SEND_BUFFER: usize = 64 << 10;
/// How long a connection may be without a first request when half of the places for such connections are taken.
const SCARCE_OPENING: Duration = Duration::from_secs(3);
/// The preface: the first bytes of an HTTP/2 connection.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// What the connections of a listener share.
#[derive(Clone)]
pub(super) struct Connections {
    router: Router,
    no_place: fn() -> Response,
    gauge: Gauge,
    limits: ConnectionLimits,
    /// The phase of the shutdown. Every connection holds a receiver: the channel closes when the last has ended.
    phase: Arc<watch::Sender<ShutdownPhase>>,
    places: ListenerPlaces,
}

/// The places of a listener.
#[derive(Clone, Debug)]
pub(super) struct ListenerPlaces {
    /// Connections.
    pub(super) connections: Ledger,
    /// Connections without a first request.
    pub(super) openings: Ledger,
    /// Requests over HTTP/2. Over HTTP/1 a connection has one at a time, for which it has its place.
    streams: Ledger,
    pub(super) standings: Standings,
}

impl ListenerPlaces {
    /// The places of a listener with at most this many connections, and four times as many requests over HTTP/2. With TLS, a
    /// quarter of the connections may be without a request: they are cheap for a client, and a handshake is not for the server.
    pub(super) fn new(health: &Health, listener: &'static str, connections: usize, has_tls: bool) -> Self {
        let total = connections as u64;
        let openings = if has_tls { total / 4 } else { total }.max(1);
        // After a pause of either side, a client with many requests opens as many connections at once. One that is served all
        // the time must not count as a flood then.
        let of_openings = LedgerLimits { little_with_credit: (openings / 4).max(1), ..LedgerLimits::of(openings) };
        Self {
            connections: health.ledger(listener, "connections", total),
            openings: health.ledger_of(listener, "handshakes", of_openings),
            streams: health.ledger(listener, "requests", total.saturating_mul(4)),
            standings: health.standings(listener),
        }
    }
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
    pub(super) fn new(
        router: Router,
        no_place: fn() -> Response,
        gauge: Gauge,
        limits: ConnectionLimits,
        places: ListenerPlaces,
    ) -> Self {
        let phase = Arc::new(watch::Sender::new(ShutdownPhase::Running));
        Self { router, no_place, gauge, limits, phase, places }
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

    /// Serves the stream that `opening` resolves to, if there is a place for the connection. `opening` has its own
    /// time-out, and tells the activity when the client begins to speak.
    pub(super) fn spawn(&self, arrived: ArrivedClient, opening: BoxFuture<'static, Option<OpenedStream>>) {
        let ArrivedClient { peer, activity, hang_up } = arrived;
        if self.places.standings.is_barred(peer) {
            return;
        }
        let Some(place) = self.places.connections.take(peer, 1, &activity) else { return };
        let Some(first) = self.places.openings.take(peer, 1, &activity) else { return };
        let (open, phase) = (OpenConnection::new(&self.gauge), self.phase.subscribe());
        let (router, no_place) = (self.router.clone(), self.no_place);
        let (limits, places) = (self.limits, self.places.clone());
        tokio::spawn(async move {
            let _held = (place, open);
            let first = FirstRequest(Mutex::new(Some(first)));
            let evicted = AtomicU32::new(0);
            let client = OnceLock::new();
            let shared = Arc::new(ConnectionShared {
                router,
                no_place,
                peer,
                hang_up,
                client,
                activity,
                places,
                first,
                evicted,
            });
            let served = async {
                if let Some(OpenedStream { io, client }) = opening.await {
                    if let Some(client) = client {
                        // It is set once.
                        let _ = shared.client.set(client);
                    }
                    serve(io, shared.clone(), limits, phase).await;
                }
            };
            tokio::select! {
                () = served => {}
                () = shared.activity.evicted() => tracing::debug!("evicted a connection"),
                () = shared.opens_too_slowly() => tracing::debug!("closed a connection without a request"),
            }
        });
    }
}

/// A client that has connected.
pub(super) struct ArrivedClient {
    pub(super) peer: Peer,
    /// The activity of its connection.
    pub(super) activity: Arc<Activity>,
    pub(super) hang_up: HangUp,
}

impl ArrivedClient {
    /// A client of a stream that does not tell when it hangs up.
    pub(super) fn new(peer: Peer) -> Self {
        Self { peer, activity: Activity::connection(), hang_up: HangUp::default() }
    }
}

/// A stream that can be read, and the certificate of its client.
pub(super) struct OpenedStream {
    pub(super) io: ConnectionStream,
    pub(super) client: Option<ClientChain>,
}

/// What the requests of a connection share.
struct ConnectionShared {
    router: Router,
    /// The response to a request that was refused a place, or lost it. Over HTTP/1 the rest of its body is not read.
    no_place: fn() -> Response,
    peer: Peer,
    hang_up: HangUp,
    /// The certificate of its client, once the handshake is done.
    client: OnceLock<ClientChain>,
    activity: Arc<Activity>,
    places: ListenerPlaces,
    first: FirstRequest,
    /// How many of its requests were evicted.
    evicted: AtomicU32,
}

/// The place of a connection that has had no request yet.
struct FirstRequest(Mutex<Option<Holding>>);

impl FirstRequest {
    fn arrived(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    fn is_awaited(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

impl ConnectionShared {
    /// Counts a request that was evicted or refused. A connection with many of them is closed: its client begins more
    /// requests than it completes, and would begin another one for each that ends. Its peer is barred for a moment.
    fn count_evicted(&self) {
        if self.places.standings.has_credit(self.peer, Instant::now()) {
            return;
        }
        let count = self.evicted.fetch_add(1, Ordering::Relaxed);
        if count >= MAX_EVICTED && self.activity.progress() != ActivityStage::Computing {
            self.places.standings.bar(self.peer);
            self.activity.evict();
        }
    }

    /// Resolves when places for connections without a request are scarce, and this one has been one for too long.
    async fn opens_too_slowly(&self) {
        sleep(SCARCE_OPENING).await;
        while self.first.is_awaited() {
            if self.places.openings.is_scarce() {
                return;
            }
            sleep(SCARCE_OPENING).await;
        }
        std::future::pending::<()>().await;
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

async fn serve(
    io: ConnectionStream,
    shared: Arc<ConnectionShared>,
    limits: ConnectionLimits,
    mut phase: watch::Receiver<ShutdownPhase>,
) {
    let ConnectionLimits { head, write, first_request_grace } = limits;
    let (mut io, streams) = (WriteTimeout::new(io, write), StreamExecutor::new(write));
    // hyper-util waits for the preface without a time-out, and does not end at a stop meanwhile: so the preface is
    // detected here, and hyper-util finds it again at once.
    let h2 = {
        let stopped = phase.clone();
        tokio::select! {
            biased;
            h2 = timeout(head, io.begins_with(PREFACE)) => h2,
            () = after(stopped, first_request_grace) => return,
        }
    };
    let Ok(Ok(Some(h2))) = h2 else { return };
    shared.activity.set(ActivityStage::Opening);
    let builder = builder(head, streams.clone());
    // Over HTTP/1 one response follows another, and they share a clock; over HTTP/2 each stream has its own.
    let clock = ResponseClock::new(write);
    let (leaving, of_connection) = (phase.clone(), clock.clone());
    let service = service_fn(move |request| {
        respond(shared.clone(), request, of_connection.clone(), (!h2).then(|| leaving.clone()))
    });
    let mut connection = pin!(builder.serve_connection_with_upgrades(TokioIo::new(io), service));
    let ended = tokio::select! {
        biased;
        ended = connection.as_mut() => Some(ended),
        () = stopped(&mut phase) => None,
        // hyper limits the time to the next head for HTTP/1, but not for HTTP/2.
        () = streams.idle(head), if h2 => None,
        () = clock.run_out() => return tracing::debug!("closed a connection whose client reads too slowly"),
    };
    let ended = if let Some(ended) = ended {
        ended
    } else {
        connection.as_mut().graceful_shutdown();
        tokio::select! {
            ended = connection.as_mut() => ended,
            // The client ignores GOAWAY.
            () = streams.idle(head), if h2 => Ok(()),
            () = clock.run_out() => Ok(()),
        }
    };
    if let Err(error) = ended {
        tracing::debug!(error, "connection failed");
    }
}

/// Responds to a request. `of_connection` is the clock of the connection, and `phase` that of the shutdown, over HTTP/1.
async fn respond(
    shared: Arc<ConnectionShared>,
    request: Request<Incoming>,
    of_connection: ResponseClock,
    phase: Option<watch::Receiver<ShutdownPhase>>,
) -> Result<Response, Infallible> {
    let activity = Activity::request(shared.activity.clone());
    shared.first.arrived();
    let h2 = phase.is_none();
    let place = if h2 { shared.places.streams.take(shared.peer, 1, &activity) } else { None };
    if h2 && place.is_none() {
        shared.count_evicted();
        return Ok((shared.no_place)());
    }
    let exchange = Exchange {
        peer: shared.peer,
        hang_up: shared.hang_up.clone(),
        client: shared.client.get().cloned(),
        activity: activity.clone(),
        standings: shared.places.standings.clone(),
    };
    let mut router = shared.router.clone();
    let mut response = tokio::select! {
        biased;
        response = router.call(RequestBody::wrap(request, exchange)) => response?,
        () = activity.evicted() => (shared.no_place)(),
    };
    if activity.is_evicted() {
        shared.count_evicted();
    }
    if let Some(phase) = phase
        && *phase.borrow() >= ShutdownPhase::Leaving
    {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    let clock = response_clock::current().unwrap_or(of_connection);
    Ok(ResponseBody::wrap(response, clock, activity, place, h2))
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
        .max_header_list_size(MAX_HEADERS)
        .max_concurrent_streams(MAX_STREAMS)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buf_size(SEND_BUFFER)
        .keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(10));
    builder
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;

    #[tokio::test]
    async fn a_peer_with_credit_has_a_place_while_strangers_have_all_that_cannot_be_evicted() {
        let places = ListenerPlaces::new(&Health::default(), "test", 1024, true);
        let peer = |n: u8| Peer::of(SocketAddr::from(([10, 0, 0, n], 0)));
        let computing = Activity::connection();
        computing.set(ActivityStage::Computing);
        let many = (1..=140).flat_map(|n| std::iter::repeat_n(n, MAX_STREAMS as usize));
        let held: Vec<_> = many.filter_map(|n| places.streams.take(peer(n), 1, &computing)).collect();
        assert_eq!(held.len(), 4096 - 256);
        assert!(places.streams.take(peer(200), 1, &computing).is_none());
        places.standings.earn(peer(200));
        assert!(places.streams.take(peer(200), 1, &computing).is_some());
    }
}
