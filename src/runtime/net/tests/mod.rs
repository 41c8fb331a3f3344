//! Connections in memory, with paused time: every time-out to the second, without waiting.

mod h2;

use std::{sync::Arc, time::Duration};

use axum::{Extension, Router, body::Body, routing::get};
use bytes::Bytes;
use futures::StreamExt;
use prometheus_client::metrics::gauge::Gauge;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex},
    sync::Semaphore,
    time::{Instant, sleep, timeout},
};

use super::{
    CreditWhenRead, Exchange, Health,
    connection::{ArrivedClient, ConnectionLimits, Connections, ListenerPlaces, OpenedStream},
    peer::Peer,
    response_clock::ResponseClock,
    standings::Standings,
};
use h2::{Client, RST_STREAM};

const HEAD: Duration = Duration::from_secs(30);
const WRITE: Duration = Duration::from_secs(40);
/// More than any limit.
const LONG: Duration = Duration::from_hours(1);

struct TestServer {
    open: Gauge,
    connections: Connections,
    /// One permit for each answer of `/big` that is not held.
    answers: Arc<Semaphore>,
    standings: Standings,
}

/// A server with an answer of 1 MiB at `/big`, one that earns credit at `/credit`, a slow one at `/slow`, and a panic at
/// `/bug`.
fn server() -> TestServer {
    let answers = Arc::new(Semaphore::new(8));
    let permits = answers.clone();
    let big = move || {
        let permits = permits.clone();
        async move {
            let held = permits.acquire_owned().await;
            let pieces = futures::stream::iter(0..256).map(move |_| {
                let _held = &held;
                Ok::<_, std::io::Error>(Bytes::from_static(&[b'x'; 4096]))
            });
            Body::from_stream(pieces)
        }
    };
    let slow = || async {
        Body::from_stream(futures::stream::once(async {
            sleep(WRITE * 3).await;
            Ok::<_, std::io::Error>("late")
        }))
    };
    let router = Router::new()
        .route("/", get(|| async { "ok" }))
        .route("/big", get(big))
        .route("/credit", get(credit))
        .route("/slow", get(slow))
        .route("/bug", get(bug));
    let (open, first_request_grace) = (Gauge::default(), Duration::ZERO);
    let limits = ConnectionLimits { head: HEAD, write: WRITE, first_request_grace };
    let places = ListenerPlaces::new(&Health::default(), "test", 1024, true);
    let standings = places.standings.clone();
    TestServer {
        standings,
        connections: Connections::new(
            router,
            || axum::response::Response::new("no place".into()),
            open.clone(),
            limits,
            places,
        ),
        open,
        answers,
    }
}

async fn credit(Extension(exchange): Extension<Exchange>) -> (Extension<CreditWhenRead>, Vec<u8>) {
    (Extension(exchange.credit_when_read()), vec![b'x'; 1 << 20])
}

async fn bug() -> &'static str {
    panic!("on purpose")
}

impl TestServer {
    /// A connection that has sent `text`.
    async fn send(&self, text: &str) -> DuplexStream {
        let (mut client, server) = duplex(4096);
        self.connections.spawn(
            ArrivedClient::new(Peer::UNKNOWN),
            Box::pin(std::future::ready(Some(OpenedStream { io: Box::new(server), client: None }))),
        );
        client.write_all(text.as_bytes()).await.unwrap();
        client
    }

    fn open(&self) -> i64 {
        self.open.get()
    }
}

const REQUEST: &str = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";

#[tokio::test(start_paused = true)]
async fn a_connection_without_a_request_ends_at_once_when_the_server_stops() {
    for (name, text) in [("nothing", ""), ("half the preface", "PRI * HT"), ("a request before", REQUEST)] {
        let server = server();
        let mut client = server.send(text).await;
        if text == REQUEST {
            client.read_u8().await.unwrap();
        }
        sleep(Duration::from_secs(1)).await;
        assert_eq!(server.open(), 1, "{name}");
        let began = Instant::now();
        timeout(LONG, server.connections.stop()).await.unwrap();
        assert_eq!((began.elapsed(), server.open()), (Duration::ZERO, 0), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_without_a_request_head_times_out() {
    for (name, text, want) in [
        ("nothing", "", HEAD),
        ("half the preface", "PRI * HT", HEAD),
        ("half a head", "GET / HT", HEAD),
        ("a request before", REQUEST, HEAD),
    ] {
        let server = server();
        let mut client = server.send(text).await;
        let began = Instant::now();
        timeout(LONG, client.read_to_end(&mut Vec::new())).await.unwrap().unwrap();
        // Timers tick in milliseconds.
        assert_eq!(began.elapsed().as_secs(), want.as_secs(), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_idle_http2_connection_times_out_and_a_busy_one_does_not() {
    let server = server();
    let mut client = Client::open(&server.connections, 65_535).await;
    let began = Instant::now();
    client.get(1, "/slow").await;
    let answered = client.data(1).await;
    assert_eq!((answered.as_slice(), began.elapsed().as_secs()), (&b"late"[..], 120));
    client.end().await;
    assert_eq!(began.elapsed().as_secs(), 120 + HEAD.as_secs());
    // A client that ignores GOAWAY as well.
    let mut client = Client::open(&server.connections, 65_535).await;
    client.answers_pings = false;
    let began = Instant::now();
    client.end().await;
    assert!(began.elapsed() <= HEAD * 2, "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn an_http2_stream_whose_client_reads_nothing_is_reset() {
    for window in [0, 1, 20_000] {
        let server = server();
        let mut client = Client::open(&server.connections, window).await;
        let began = Instant::now();
        client.get(1, "/big").await;
        let reset = client.until(|kind, stream| kind == RST_STREAM && stream == 1).await;
        assert_eq!(reset, [0, 0, 0, 8], "CANCEL, with a window of {window}");
        assert_eq!(began.elapsed().as_secs(), WRITE.as_secs(), "a window of {window}");
        assert_eq!(server.answers.available_permits(), 8, "a window of {window}");
        // Other streams of the connection go on.
        client.get(3, "/slow").await;
        client.window_update(3, 100).await;
        assert_eq!(client.data(3).await, b"late", "a window of {window}");
    }
}

/// h2 would keep a last piece that hyper gave it, for as long as the client likes.
#[tokio::test(start_paused = true)]
async fn an_http2_stream_with_a_small_response_is_reset_as_well() {
    let server = server();
    let mut client = Client::open(&server.connections, 1).await;
    let began = Instant::now();
    client.get(1, "/").await;
    client.until(|kind, stream| kind == RST_STREAM && stream == 1).await;
    assert_eq!(began.elapsed().as_secs(), WRITE.as_secs());
}

/// The clock of a connection belongs to one response at a time.
#[tokio::test(start_paused = true)]
async fn an_eviction_after_the_response_leaves_the_next_one_alone() {
    let clock = ResponseClock::new(WRITE);
    let (first, second) = (clock.reset(), clock.reset());
    clock.expire(first);
    assert!(timeout(WRITE, clock.run_out()).await.is_err());
    clock.expire(second);
    timeout(Duration::ZERO, clock.run_out()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_http1_client_that_reads_nothing_is_disconnected() {
    let server = server();
    let _near = server.send("GET /big HTTP/1.1\r\nhost: x\r\n\r\n").await;
    sleep(WRITE / 2).await;
    assert_eq!((server.open(), server.answers.available_permits()), (1, 7));
    sleep(WRITE).await;
    assert_eq!((server.open(), server.answers.available_permits()), (0, 8));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_its_answer_earns_credit() {
    const REQUEST: &str = "GET /credit HTTP/1.1\r\nhost: x\r\n\r\n";
    for (name, kilobytes, pause, want) in
        [("all", 1024, 0, true), ("slowly", 1024, 100, false), ("half", 512, 0, false)]
    {
        let server = server();
        let mut client = server.send(REQUEST).await;
        for _ in 0..kilobytes / 4 {
            client.read_exact(&mut [0; 4096]).await.unwrap();
            sleep(Duration::from_millis(pause)).await;
        }
        drop(client);
        sleep(Duration::from_millis(1)).await;
        assert_eq!(server.standings.has_credit(Peer::UNKNOWN, Instant::now()), want, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_leaves_no_connection_behind() {
    let server = server();
    let mut client = server.send("GET /bug HTTP/1.1\r\nhost: x\r\n\r\n").await;
    timeout(LONG, client.read_to_end(&mut Vec::new())).await.unwrap().unwrap();
    assert_eq!((server.open(), server.connections.count()), (0, 0));
}
