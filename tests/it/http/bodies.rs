//! Bodies that come slowly, and what they keep from others.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes},
    http::{Request, StatusCode},
};
use futures::{StreamExt, channel::mpsc, stream};
use roster::servers::rest::RestLimits;
use tokio::{task::JoinHandle, time::Instant};

use super::{Answer, JSON, app, app_with, post, send, state};

const MIB: usize = 1 << 20;

/// A request whose body the test sends bit by bit.
struct Slow {
    body: mpsc::UnboundedSender<std::io::Result<Bytes>>,
    /// Whether the server has begun to read the body.
    is_read: Arc<AtomicBool>,
    answer: JoinHandle<Answer>,
}

fn begin(router: &Router, path: &'static str) -> Slow {
    let (body, pieces) = mpsc::unbounded();
    let (router, is_read) = (router.clone(), Arc::<AtomicBool>::default());
    let begins = is_read.clone();
    let begin = stream::poll_fn(move |_| {
        begins.store(true, Ordering::Release);
        Poll::Ready(None)
    });
    let body_of_request = Body::from_stream(begin.chain(pieces));
    let answer = tokio::spawn(async move { post(&router, path, JSON, body_of_request).await });
    Slow { body, is_read, answer }
}

impl Slow {
    /// Waits until the server reads the body: that of a cluster, when a thread has time for it.
    async fn until_read(&self) {
        while !self.is_read.load(Ordering::Acquire) {
            tokio::task::yield_now().await;
        }
    }

    async fn send(&self, bytes: usize) {
        // Refused requests use no more memory.
        let _ = self.body.unbounded_send(Ok(vec![b' '; bytes].into()));
        // On a busy machine, threads of the server take their time; it may also not read on at all.
        for _ in 0..100_000 {
            if self.body.is_empty() || self.body.is_closed() {
                break;
            }
            tokio::task::yield_now().await;
        }
        settle().await;
    }
}

/// Lets all that can go on without time go on, also on other threads, which may have to wait for a core. The clock of the test
/// stands still meanwhile.
async fn settle() {
    let began = std::time::Instant::now();
    while began.elapsed() < Duration::from_millis(40) {
        tokio::task::yield_now().await;
    }
}

/// Waits while the clock of the test stands still: large bodies are computed by threads that the runtime does not know.
async fn at_once<T>(answer: impl Future<Output = T>) -> T {
    let mut answer = pin!(answer);
    loop {
        tokio::select! {
            biased;
            answer = &mut answer => return answer,
            () = tokio::task::yield_now() => {}
        }
    }
}

fn large(bytes: usize) -> String {
    let text = state().to_string();
    let rest = bytes - text.len();
    text + &" ".repeat(rest)
}

#[tokio::test(start_paused = true)]
async fn slow_large_bodies_do_not_keep_others_out() {
    let (_, router) = app();
    let slow: Vec<Slow> = (0..8).map(|_| begin(&router, "/v1/plan")).collect();
    for slow in &slow {
        slow.send(2 * MIB).await;
    }
    let began = Instant::now();
    let answer = at_once(post(&router, "/v1/plan", JSON, large(2 * MIB))).await;
    assert_eq!((answer.status, began.elapsed()), (StatusCode::OK, Duration::ZERO), "{}", answer.text());
    for slow in slow {
        assert_eq!(slow.answer.await.unwrap().status, StatusCode::REQUEST_TIMEOUT);
    }
}

#[tokio::test(start_paused = true)]
async fn bodies_together_take_no_more_than_their_room() {
    // One client may take 7 of 8 MiB. Two bodies take 4.
    let (_, router) = app_with(RestLimits { body: 7 * MIB, memory: 8 * MIB, ..RestLimits::default() });
    let slow: Vec<Slow> = (0..2).map(|_| begin(&router, "/v1/plan")).collect();
    for slow in &slow {
        slow.send(2 * MIB).await;
    }
    for mebibytes in [1, 4] {
        let answer = at_once(post(&router, "/v1/plan", JSON, large(mebibytes * MIB))).await;
        assert_eq!(answer.status, StatusCode::OK, "{mebibytes} MiB: {}", answer.text());
    }
    // The first had enough left, the other one took the memory of the body that stood still for the longest time. Its request
    // ends when it notices that.
    settle().await;
    let mut status = Vec::new();
    for slow in slow {
        drop(slow.body);
        status.push(at_once(slow.answer).await.unwrap().status.as_u16());
    }
    assert_eq!(status, [429, 400]);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_trickles_is_refused() {
    for (path, bytes, want) in [
        // Every piece comes in time, and all of them together never would.
        ("/v1/plan", 1, 18),
        ("/v1/cluster", 1, 18),
        // 9 s are paid with 144 KiB; the empty text is refused in the end, and not for its pace.
        ("/v1/plan", 150 << 10, 54),
        ("/v1/cluster", 150 << 10, 54),
    ] {
        let (_, router) = app();
        let slow = begin(&router, path);
        slow.until_read().await;
        let began = Instant::now();
        for _ in 0..6 {
            slow.send(bytes).await;
            // The server lets go of a body that it has refused.
            if !slow.body.is_closed() {
                tokio::time::advance(Duration::from_secs(9)).await;
                settle().await;
            }
        }
        assert_eq!(began.elapsed().as_secs(), want, "{path} {bytes}");
        drop(slow.body);
        let status = slow.answer.await.unwrap().status;
        assert_eq!(status == StatusCode::REQUEST_TIMEOUT, bytes == 1, "{path} {bytes}: {status}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_said_to_be_too_large_need_not_be_sent() {
    let limits = RestLimits { body: MIB, cluster_body: MIB as u64, ..RestLimits::default() };
    for path in ["/v1/plan", "/v1/cluster"] {
        let (_, router) = app_with(limits.clone());
        let began = Instant::now();
        let answer = post(&router, path, JSON, Announced(MIB as u64 + 1)).await;
        assert_eq!((answer.status, began.elapsed()), (StatusCode::PAYLOAD_TOO_LARGE, Duration::ZERO), "{path}");
    }
}

/// A body that only has its length.
struct Announced(u64);

impl From<Announced> for Body {
    fn from(announced: Announced) -> Self {
        Self::new(announced)
    }
}

impl axum::body::HttpBody for Announced {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<std::io::Result<hyper::body::Frame<Bytes>>>> {
        std::task::Poll::Pending
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        hyper::body::SizeHint::with_exact(self.0)
    }
}

#[tokio::test]
async fn a_cluster_is_read_in_the_encoding_that_it_names() {
    use std::io::Write;
    let (_, router) = app();
    let text = r#"{"kind":"List","items":[]}"#.as_bytes().to_vec();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(&text).unwrap();
    let gzip = encoder.finish().unwrap();
    for (name, encodings, body, want) in [
        ("none", &[][..], &text, 200),
        ("identity", &["identity"], &text, 200),
        ("gzip", &["gzip"], &gzip, 200),
        ("its older name", &["x-gzip"], &gzip, 200),
        ("in capitals", &["GZIP"], &gzip, 200),
        ("gzip, in name only", &["gzip"], &text, 400),
        ("gzip, without the name", &[], &gzip, 400),
        ("gzip, by a wrong name", &["identity"], &gzip, 400),
        ("another", &["br"], &text, 415),
        ("unknown", &["x"], &text, 415),
        ("two", &["gzip, gzip"], &gzip, 415),
        ("two, in two lines", &["gzip", "br"], &gzip, 415),
    ] {
        for path in ["/v1/cluster", "/v1/plan"] {
            let mut request = Request::post(path).header("content-type", JSON);
            for encoding in encodings {
                request = request.header("content-encoding", *encoding);
            }
            // One byte at a time: the first piece may hold less than what tells gzip.
            let pieces: Vec<_> = body.chunks(1).map(|b| Ok::<_, std::io::Error>(b.to_vec())).collect();
            let body = Body::from_stream(futures::stream::iter(pieces).map(|p| p.map(Bytes::from)));
            let answer = send(&router, request.body(body).unwrap()).await;
            // A plan of a list without a Service is refused for that.
            let want = if path == "/v1/plan" && want == 200 { 422 } else { want };
            assert_eq!(answer.status.as_u16(), want, "{path}, {name}: {}", answer.text());
        }
    }
}
