//! Connections in memory, in a time of their own: every limit to the second, and no test waits.

mod h2;

use std::{sync::Arc, time::Duration};

use axum::{Router, body::Body, routing::get};
use bytes::Bytes;
use futures::StreamExt;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex},
    sync::Semaphore,
    time::{Instant, sleep, timeout},
};

use super::connection::{ConnectionLimits, Connections};
use crate::servers::rest::{App, Limits};
use h2::{Client, RST_STREAM};

const HEAD: Duration = Duration::from_secs(30);
const WRITE: Duration = Duration::from_secs(40);
/// More than any limit.
const LONG: Duration = Duration::from_hours(1);

struct World {
    app: Arc<App>,
    connections: Connections,
    /// One permit for each `/big` that is not yet given away.
    answers: Arc<Semaphore>,
}

/// A server with an answer of 1 MiB at `/big`, one that takes its time at `/slow`, and a bug at `/bug`.
fn world() -> World {
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
        .route("/slow", get(slow))
        .route("/bug", get(bug));
    let app = App::new(Limits::default());
    let limits = ConnectionLimits { head: HEAD, write: WRITE, late: Duration::ZERO };
    World { connections: Connections::new(router, app.metrics.connections.clone(), limits), app, answers }
}

async fn bug() -> &'static str {
    panic!("on purpose")
}

impl World {
    /// A connection that has sent `text`.
    async fn send(&self, text: &str) -> DuplexStream {
        let (mut near, far) = duplex(4096);
        self.connections.spawn(std::future::ready(Some(far)), ());
        near.write_all(text.as_bytes()).await.unwrap();
        near
    }

    fn open(&self) -> i64 {
        self.app.metrics.connections.get()
    }
}

const ASK: &str = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";

#[tokio::test(start_paused = true)]
async fn a_connection_that_waits_for_a_request_ends_at_once_at_a_stop() {
    for (name, text) in [("nothing", ""), ("half the preface", "PRI * HT"), ("a request before", ASK)] {
        let world = world();
        let mut near = world.send(text).await;
        if text == ASK {
            near.read_u8().await.unwrap();
        }
        sleep(Duration::from_secs(1)).await;
        assert_eq!(world.open(), 1, "{name}");
        let began = Instant::now();
        timeout(LONG, world.connections.stop()).await.unwrap();
        assert_eq!((began.elapsed(), world.open()), (Duration::ZERO, 0), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_brings_no_head_ends() {
    for (name, text, want) in [
        ("nothing", "", HEAD),
        ("half the preface", "PRI * HT", HEAD),
        ("half a head", "GET / HT", HEAD),
        ("a request before", ASK, HEAD),
    ] {
        let world = world();
        let mut near = world.send(text).await;
        let began = Instant::now();
        timeout(LONG, near.read_to_end(&mut Vec::new())).await.unwrap().unwrap();
        // Timers tick in milliseconds.
        assert_eq!(began.elapsed().as_secs(), want.as_secs(), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_idle_http2_connection_ends_and_a_busy_one_does_not() {
    let world = world();
    let mut client = Client::open(&world.connections, 65_535).await;
    let began = Instant::now();
    client.get(1, "/slow").await;
    let answered = client.data(1).await;
    assert_eq!((answered.as_slice(), began.elapsed().as_secs()), (&b"late"[..], 120));
    client.end().await;
    assert_eq!(began.elapsed().as_secs(), 120 + HEAD.as_secs());
    // One that says nothing to GOAWAY either.
    let mut client = Client::open(&world.connections, 65_535).await;
    client.answers_pings = false;
    let began = Instant::now();
    client.end().await;
    assert!(began.elapsed() <= HEAD * 2, "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_an_http2_client_does_not_take_is_dropped() {
    for window in [0, 1, 20_000] {
        let world = world();
        let mut client = Client::open(&world.connections, window).await;
        let began = Instant::now();
        client.get(1, "/big").await;
        let reset = client.until(|kind, stream| kind == RST_STREAM && stream == 1).await;
        assert_eq!(reset, [0, 0, 0, 8], "CANCEL, with a window of {window}");
        assert_eq!(began.elapsed().as_secs(), WRITE.as_secs(), "a window of {window}");
        assert_eq!(world.answers.available_permits(), 8, "a window of {window}");
        // The connection is as good as before.
        client.get(3, "/slow").await;
        client.window_update(3, 100).await;
        assert_eq!(client.data(3).await, b"late", "a window of {window}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_http1_client_that_takes_nothing_is_dropped() {
    let world = world();
    let _near = world.send("GET /big HTTP/1.1\r\nhost: x\r\n\r\n").await;
    sleep(WRITE / 2).await;
    assert_eq!((world.open(), world.answers.available_permits()), (1, 7));
    sleep(WRITE).await;
    assert_eq!((world.open(), world.answers.available_permits()), (0, 8));
}

#[tokio::test(start_paused = true)]
async fn a_bug_leaves_no_connection_behind() {
    let world = world();
    let mut near = world.send("GET /bug HTTP/1.1\r\nhost: x\r\n\r\n").await;
    timeout(LONG, near.read_to_end(&mut Vec::new())).await.unwrap().unwrap();
    assert_eq!((world.open(), world.connections.count()), (0, 0));
}
