//! Attacks with answers that the clients do not take.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    time::{sleep, timeout, timeout_at},
};

use crate::{
    attacker::Attacker,
    bodies,
    http2::{Http2, INITIAL_WINDOW, Scheme},
    request::Request,
};

/// The limit of streams of one connection.
const STREAMS: usize = 128;
/// The size of a conversion.
const CONVERSION: usize = 4 << 20;
/// The pods of a plan, which take just less than the mebibyte from which bodies wait for a place.
const PODS: usize = 4000;
/// What the client's side buffers, where it reads little.
pub(super) const BUFFER: u32 = 4 << 10;
/// The pause after a refusal.
const REFUSED: Duration = Duration::from_millis(50);
const SECOND: Duration = Duration::from_secs(1);
/// The answer to a slow reader, and how it reads.
const SLOW_CONVERSION: usize = 1 << 20;
const SLOW_EVERY: Duration = Duration::from_millis(600);
const SLOW_WINDOW: u32 = 20_000;
const CONVERT: &str = "/convert?timeout=30s";

/// Posts on all streams of a connection whose windows are closed, again wherever the server ends a stream. Each window
/// stays closed, or opens by a byte every second.
pub(super) async fn hardly_take<S: AsyncRead + AsyncWrite + Unpin>(
    attacker: &Attacker,
    io: S,
    scheme: Scheme,
    request: &Request,
    opens: bool,
) -> Result<()> {
    let mut http2 = Http2::open(io, scheme, &[(INITIAL_WINDOW, 0)]).await?;
    let mut opened = Instant::now();
    loop {
        if http2.open_streams() < STREAMS {
            attacker.requested(1);
            if !http2.send(request).await? {
                attacker.answered(1);
                sleep(REFUSED).await;
            }
        } else if let Ok(frame) = timeout(SECOND, http2.next_frame()).await {
            attacker.answered(u64::from(frame?.ends_stream()));
        }
        if opens && opened.elapsed() >= SECOND {
            http2.open_windows(1).await?;
            opened = Instant::now();
        }
    }
}

/// Posts twice on a connection, and then reads nothing, or a kilobyte every second.
pub(super) async fn hardly_read(
    attacker: &Attacker,
    mut io: impl AsyncRead + AsyncWrite + Unpin,
    request: &[u8],
    reads: bool,
) -> Result<()> {
    for _ in 0..2 {
        attacker.requested(1);
        // The second one waits until the first answer is taken.
        let _ = timeout(Duration::from_secs(10), async {
            io.write_all(request).await?;
            io.flush().await
        })
        .await;
    }
    for _ in 0..60 {
        sleep(SECOND).await;
        if reads {
            io.read_exact(&mut [0; 1024]).await?;
        }
    }
    Ok(())
}

/// Posts one request after the other, and takes each answer at a pace that no clock ends: 33 KB in a second.
async fn take_slowly<S: AsyncRead + AsyncWrite + Unpin>(
    attacker: &Attacker,
    io: S,
    scheme: Scheme,
    request: &Request,
) -> Result<()> {
    let mut http2 = Http2::open(io, scheme, &[(INITIAL_WINDOW, 0)]).await?;
    let mut opened = Instant::now();
    loop {
        if http2.open_streams() == 0 {
            attacker.requested(1);
            if !http2.send(request).await? {
                sleep(REFUSED).await;
            }
        }
        let due = opened + SLOW_EVERY;
        if let Ok(frame) = timeout_at(due.into(), http2.next_frame()).await {
            attacker.answered(u64::from(frame?.ends_stream()));
        } else {
            http2.open_window(SLOW_WINDOW).await?;
            http2.open_windows(SLOW_WINDOW).await?;
            opened = due;
        }
    }
}

pub(super) fn slowly_read_conversions(attacker: &Attacker) {
    let request = Request::post("/v1/convert?to=roster.dev/v1", bodies::policy_list(SLOW_CONVERSION).as_bytes());
    attacker.clients(120, move |attacker, number| {
        let request = request.clone();
        async move {
            let tcp = attacker.tcp(number, attacker.targets.rest.context("no REST API")?).await?;
            take_slowly(&attacker, tcp, Scheme::Http, &request).await
        }
    });
}

pub(super) fn conversions_over_http2(attacker: &Attacker) {
    let request = Request::post(CONVERT, bodies::conversion(CONVERSION).as_bytes());
    attacker.clients(8, move |attacker, number| {
        let request = request.clone();
        async move {
            let tls = attacker.http2(number).await?;
            hardly_take(&attacker, tls, Scheme::Https, &request, number % 2 == 1).await
        }
    });
}

pub(super) fn conversions_over_http1(attacker: &Attacker) {
    let request = Arc::new(Request::post(CONVERT, bodies::conversion(CONVERSION).as_bytes()).http1());
    attacker.clients(128, move |attacker, number| {
        let request = request.clone();
        async move {
            let tcp = attacker.tcp_with(number, attacker.targets.served, Some(BUFFER)).await?;
            let tls = attacker.http1_on(tcp).await?;
            hardly_read(&attacker, tls, &request, number % 2 == 0).await
        }
    });
}

pub(super) fn plans_over_http2(attacker: &Attacker) {
    let request = Request::post("/v1/plan", bodies::state(PODS).as_bytes());
    attacker.clients(8, move |attacker, number| {
        let request = request.clone();
        async move {
            let tcp = attacker.tcp(number, attacker.targets.rest.context("no REST API")?).await?;
            hardly_take(&attacker, tcp, Scheme::Http, &request, number % 2 == 1).await
        }
    });
}

pub(super) fn plans_over_http1(attacker: &Attacker) {
    let request = Arc::new(Request::post("/v1/plan", bodies::state(PODS).as_bytes()).http1());
    attacker.clients(512, move |attacker, number| {
        let request = request.clone();
        async move {
            let target = attacker.targets.rest.context("no REST API")?;
            let tcp = attacker.tcp_with(number, target, Some(BUFFER)).await?;
            hardly_read(&attacker, tcp, &request, number % 2 == 0).await
        }
    });
}
