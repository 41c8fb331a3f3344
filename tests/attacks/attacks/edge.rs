//! Attacks of their own on the node proxy: lists and watches that are not read, tokens that are not valid, and tricks.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::Result;
use tokio::{io::AsyncWriteExt, time::timeout};

use crate::{
    attacker::{Attacker, until_closed},
    genuine_request::{revoked_reads, shows_objects, strangers},
    http1::{self, Answer},
    http2::{DATA, HEADERS, Http2, Scheme},
    request::Request,
    upstream::{BUSY, CLIENT, DENIED, LARGE, NOBODY, SHOP, SLOW},
};

use super::answers::{BUFFER, hardly_read, hardly_take};

/// The limit of streams of one connection.
const STREAMS: usize = 100;
/// Watches of one attack, and the tokens that they share: each may have 256.
const WATCHES: usize = 1600;
const TOKENS: usize = 8;
/// Connections over HTTP/2 that send as fast as possible.
const CONNECTIONS: usize = 16;

/// The longest time for an answer to what must be refused.
const LIMIT: Duration = Duration::from_secs(5);

/// A token that the API server accepts.
fn known(number: usize) -> String {
    format!("{CLIENT}-{}", number % TOKENS)
}

/// A list of three megabytes.
fn list(number: usize) -> Request {
    Request::get(LARGE).with_token(&known(number))
}

/// The same as protobuf.
fn protobuf_list(number: usize) -> Request {
    list(number).with("accept", "application/vnd.kubernetes.protobuf")
}

pub(super) fn unread_lists_over_http2(attacker: &Attacker) {
    unread_over_http2(attacker, list);
}

pub(super) fn unread_protobuf_lists_over_http2(attacker: &Attacker) {
    unread_over_http2(attacker, protobuf_list);
}

fn unread_over_http2(attacker: &Attacker, list: fn(usize) -> Request) {
    attacker.clients(8, move |attacker: Attacker, number| async move {
        let tls = attacker.http2(number).await?;
        hardly_take(&attacker, tls, Scheme::Https, &list(number), number % 2 == 1).await
    });
}

pub(super) fn unread_lists_over_http1(attacker: &Attacker) {
    unread_over_http1(attacker, list);
}

pub(super) fn unread_protobuf_lists_over_http1(attacker: &Attacker) {
    unread_over_http1(attacker, protobuf_list);
}

fn unread_over_http1(attacker: &Attacker, list: fn(usize) -> Request) {
    attacker.clients(512, move |attacker: Attacker, number| async move {
        let tcp = attacker.tcp_with(number, attacker.targets.served, Some(BUFFER)).await?;
        let tls = attacker.http1_on(tcp).await?;
        hardly_read(&attacker, tls, &list(number).http1(), number % 2 == 0).await
    });
}

/// A watch that begins with three megabytes of objects.
fn watch(number: usize) -> Request {
    Request::get(format!("{LARGE}?watch=true")).with_token(&known(number))
}

pub(super) fn unread_watches_over_http2(attacker: &Attacker) {
    attacker.clients(WATCHES / STREAMS, async |attacker: Attacker, number| {
        let tls = attacker.http2(number).await?;
        hardly_take(&attacker, tls, Scheme::Https, &watch(number), false).await
    });
}

pub(super) fn unread_watches_over_http1(attacker: &Attacker) {
    attacker.clients(WATCHES, async |attacker: Attacker, number| {
        let tcp = attacker.tcp_with(number, attacker.targets.served, Some(BUFFER)).await?;
        let tls = attacker.http1_on(tcp).await?;
        hardly_read(&attacker, tls, &watch(number).http1(), false).await
    });
}

/// Watches without events: the server owes them nothing that would be late.
pub(super) fn idle_watches(attacker: &Attacker) {
    attacker.clients(WATCHES, async |attacker: Attacker, number| {
        let mut tls = attacker.http1(number).await?;
        let watch = Request::get("/api/v1/namespaces/empty/services?watch=true").with_token(&known(number));
        attacker.requested(1);
        tls.write_all(&watch.http1()).await?;
        tls.flush().await?;
        until_closed(&mut tls).await;
        Ok(())
    });
}

pub(super) fn short_watches(attacker: &Attacker) {
    give_up(attacker, watch);
}

/// Before its first bytes, each of them is measured.
pub(super) fn short_protobuf_lists(attacker: &Attacker) {
    give_up(attacker, protobuf_list);
}

/// Opens all streams of a connection again and again. A stream is given up at its first bytes.
fn give_up(attacker: &Attacker, request: fn(usize) -> Request) {
    attacker.clients(CONNECTIONS, move |attacker: Attacker, number| async move {
        let mut http2 = Http2::open(attacker.http2(number).await?, Scheme::Https, &[]).await?;
        loop {
            while http2.open_streams() < STREAMS {
                attacker.requested(1);
                http2.send(&request(number)).await?;
            }
            let frame = http2.next_frame().await?;
            http2.taken(&frame).await?;
            if frame.kind == DATA {
                attacker.answered(1);
                http2.reset(frame.stream).await?;
            }
        }
    });
}

/// Sends on all streams of connections, each time what `request` makes of another number, and counts answers that show
/// objects.
fn flood(attacker: &Attacker, request: impl Fn(u64) -> Request + Clone + Send + Sync + 'static) {
    let numbers = Arc::<AtomicU64>::default();
    attacker.clients(CONNECTIONS, move |attacker, number| {
        let (numbers, request) = (numbers.clone(), request.clone());
        async move {
            let mut http2 = Http2::open(attacker.http2(number).await?, Scheme::Https, &[]).await?;
            loop {
                while http2.open_streams() < STREAMS {
                    attacker.requested(1);
                    http2.send(&request(numbers.fetch_add(1, Ordering::Relaxed))).await?;
                }
                let frame = http2.next_frame().await?;
                http2.taken(&frame).await?;
                attacker.answered(u64::from(frame.ends_stream()));
                let status = if frame.kind == HEADERS { frame.status() } else { 0 };
                let body = if frame.kind == DATA { frame.payload } else { Vec::new() };
                if shows_objects(&Answer { status, body }) {
                    attacker.let_in();
                }
            }
        }
    });
}

pub(super) fn random_tokens(attacker: &Attacker) {
    flood(attacker, |number| Request::get(SHOP).with_token(&format!("{NOBODY}-{number}")));
}

/// Half of them with a token that may read nothing, half with one that may read everything.
pub(super) fn many_names(attacker: &Attacker) {
    flood(attacker, |number| {
        let token = if number % 2 == 0 { DENIED } else { BUSY };
        Request::get(format!("/api/v1/namespaces/shop/services/web-{number}")).with_token(token)
    });
}

/// Reads that were allowed before the tokens were revoked. Such a permission counts only while the API server is away. Here it
/// answers probes, and reviews of other tokens.
pub(super) fn slow_own_review(attacker: &Attacker) {
    let reads = Arc::new(revoked_reads());
    flood(attacker, move |number| reads[usize::try_from(number).unwrap_or(0) % reads.len()].clone());
}

pub(super) fn proxied(attacker: &Attacker) {
    flood(attacker, |number| Request::get("/api/v1/namespaces/shop/pods").with_token(&format!("{SLOW}-{number}")));
}

/// Sends a request with an unknown token on each of many connections, again and again.
pub(super) fn slow_tokens(attacker: &Attacker) {
    let numbers = Arc::<AtomicU64>::default();
    attacker.clients(WATCHES, move |attacker, number| {
        let numbers = numbers.clone();
        async move {
            let mut tls = attacker.http1(number).await?;
            loop {
                let token = format!("{SLOW}-{}", numbers.fetch_add(1, Ordering::Relaxed));
                send(&attacker, &mut tls, &Request::get(SHOP).with_token(&token)).await?;
            }
        }
    });
}

async fn send(
    attacker: &Attacker,
    io: &mut (impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin),
    request: &Request,
) -> Result<()> {
    attacker.requested(1);
    let answer = http1::exchange(io, &request.http1()).await?;
    attacker.answered(1);
    if shows_objects(&answer) {
        attacker.let_in();
    }
    Ok(())
}

/// What must be refused, one after the other, and requests that are too large.
pub(super) fn tricks(attacker: &Attacker) {
    let long = "x".repeat(60_000);
    let mut requests = strangers();
    requests.push(Request::get(format!("{SHOP}?labelSelector={long}")).with_token(&known(0)));
    requests.push(Request::get(SHOP).with_token(&known(0)).with("x-long", long));
    requests.push((0..200).fold(Request::get(SHOP), |request, _| request.with("x-remote-group", "system:masters")));
    let requests = Arc::new(requests);
    attacker.clients(64, move |attacker, number| {
        let requests = requests.clone();
        async move {
            for request in requests.iter().cycle().skip(number) {
                let mut tls = attacker.http1(number).await?;
                // Those that are too large end with their connection.
                for _ in 0..10 {
                    if !matches!(timeout(LIMIT, send(&attacker, &mut tls, request)).await, Ok(Ok(()))) {
                        break;
                    }
                }
            }
            Ok(())
        }
    });
}

pub(super) fn upgrades(attacker: &Attacker) {
    attacker.clients(600, async |attacker: Attacker, number| {
        let mut tls = attacker.http1(number).await?;
        let exec = Request::get("/api/v1/namespaces/shop/pods/web/exec?command=sh").with_token(&known(number));
        let exec = exec.with("connection", "upgrade").with("upgrade", "SPDY/3.1");
        attacker.requested(1);
        tls.write_all(&exec.http1()).await?;
        tls.flush().await?;
        until_closed(&mut tls).await;
        Ok(())
    });
}
