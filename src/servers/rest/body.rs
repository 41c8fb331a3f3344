//! Request bodies: which types are read, how large and how slow they may be.

use std::{io::Read, sync::Arc, time::Duration};

use axum::{
    body::{Body, BodyDataStream, HttpBody},
    http::{HeaderMap, header},
};
use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout},
};

use super::{
    App, Limits,
    problem::{ApiError, Kind},
};

/// What a body is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// `application/json`.
    Json,
    /// `application/yaml`, `application/x-yaml`, `text/yaml`, `text/x-yaml`.
    Yaml,
    /// `application/x-ndjson`, `application/ndjson`, `application/jsonl`.
    Ndjson,
}

/// Whether a body is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// As it is.
    Identity,
    /// `gzip`.
    Gzip,
}

/// Bodies up to this size are parsed and planned where they are read: it takes about a millisecond.
pub(crate) const SMALL: usize = 1 << 20;

/// The format that `Content-Type` names.
pub(crate) fn format(headers: &HeaderMap) -> Result<Format, ApiError> {
    const HINT: &str = "send application/json or application/yaml";
    let Some(value) = headers.get(header::CONTENT_TYPE) else {
        return Err(ApiError::new(Kind::MediaType, format!("there is no Content-Type; {HINT}")));
    };
    let text = value.to_str().unwrap_or_default().to_ascii_lowercase();
    let mut parts = text.split(';').map(str::trim);
    let format = match parts.next().unwrap_or_default() {
        "application/json" | "text/json" => Format::Json,
        "application/yaml" | "application/x-yaml" | "text/yaml" | "text/x-yaml" => Format::Yaml,
        "application/x-ndjson" | "application/ndjson" | "application/jsonl" => Format::Ndjson,
        other => return Err(ApiError::new(Kind::MediaType, format!("Content-Type is {other:.80}; {HINT}"))),
    };
    let utf8 = |p: &str| p.strip_prefix("charset=").is_none_or(|c| matches!(c.trim_matches('"'), "utf-8" | "utf8"));
    if !parts.all(utf8) {
        return Err(ApiError::new(Kind::MediaType, "the only charset that is read is utf-8"));
    }
    Ok(format)
}

/// The encoding that `Content-Encoding` names.
pub(crate) fn encoding(headers: &HeaderMap) -> Result<Encoding, ApiError> {
    // One of several is undone by nobody here: together they are no name.
    let named: Vec<&str> =
        headers.get_all(header::CONTENT_ENCODING).iter().map(|v| v.to_str().unwrap_or("?")).collect();
    match named.join(", ").trim().to_ascii_lowercase().as_str() {
        "" | "identity" => Ok(Encoding::Identity),
        "gzip" | "x-gzip" => Ok(Encoding::Gzip),
        other => Err(ApiError::new(Kind::MediaType, format!("Content-Encoding is {other:.40}; send gzip or none"))),
    }
}

/// The refusal of a body over `limit`.
pub(crate) fn too_large(limit: impl std::fmt::Display) -> ApiError {
    ApiError::new(Kind::TooLarge, format!("the body has more than {limit} bytes after decompression"))
}

/// A body that arrives piece by piece, each in time.
pub(crate) struct Pieces {
    stream: BodyDataStream,
    idle: Duration,
    /// Bytes a second.
    rate: usize,
    /// How long the client may still let the server wait.
    left: Duration,
}

impl Pieces {
    /// Refuses a body that says of itself that it is over `limit`: it need not be sent first.
    pub(crate) fn new(body: Body, limits: &Limits, limit: u64) -> Result<Self, ApiError> {
        if body.size_hint().lower() > limit {
            return Err(too_large(limit));
        }
        let (idle, rate) = (limits.body_idle, limits.body_rate.max(1));
        Ok(Self { stream: body.into_data_stream(), idle, rate, left: idle })
    }

    /// The next piece; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, ApiError> {
        let began = Instant::now();
        let got = timeout(self.idle.min(self.left), self.stream.next()).await;
        self.left = self.left.saturating_sub(began.elapsed());
        match got {
            Ok(None) => Ok(None),
            Ok(Some(Ok(piece))) => {
                self.left = self.left.saturating_add(earned(piece.len(), self.rate));
                Ok(Some(piece))
            }
            Ok(Some(Err(e))) => Err(ApiError::new(Kind::BrokenBody, e.to_string())),
            Err(_) => {
                let detail = format!(
                    "nothing came for {} s, or less than {} bytes a second",
                    self.idle.as_secs_f32(),
                    self.rate
                );
                Err(ApiError::new(Kind::BodyTimeout, detail))
            }
        }
    }
}

/// How long the client may take for `bytes`.
fn earned(bytes: usize, rate: usize) -> Duration {
    let nanos = (bytes as u128).saturating_mul(1_000_000_000) / rate as u128;
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// How many mebibytes all bodies together may take, beyond the first of each.
pub(super) fn room(limits: &Limits) -> usize {
    limits.body.div_ceil(SMALL).saturating_mul(limits.large).min(Semaphore::MAX_PERMITS)
}

/// A body that is all there.
pub(crate) struct Received {
    /// As it was sent.
    pub bytes: BytesMut,
    /// What it takes of the room for bodies, until it is dropped.
    pub room: Option<OwnedSemaphorePermit>,
}

/// Receives a body. Its memory is taken as it arrives, so that whoever only says that much will come, or sends it
/// slowly, keeps nobody else from sending. Where there is no room the body is refused: if bodies waited for room,
/// each with a part of it, all of them might wait for ever.
pub(crate) async fn receive(app: &App, body: Body) -> Result<Received, ApiError> {
    let limit = app.limits.body;
    let mut pieces = Pieces::new(body, &app.limits, limit as u64)?;
    let mut received = Received { bytes: BytesMut::new(), room: None };
    while let Some(piece) = pieces.next().await? {
        let length = received.bytes.len().saturating_add(piece.len());
        if length > limit {
            return Err(too_large(limit));
        }
        take_room(&app.room, &mut received.room, length).ok_or_else(|| {
            app.metrics.shed.inc();
            ApiError::new(Kind::Busy, format!("other bodies take {} MiB", room(&app.limits)))
        })?;
        received.bytes.extend_from_slice(&piece);
    }
    Ok(received)
}

/// Sees to it that `held` is enough for `length` bytes; `None` if there is no room.
fn take_room(room: &Arc<Semaphore>, held: &mut Option<OwnedSemaphorePermit>, length: usize) -> Option<()> {
    let needed = length.div_ceil(SMALL).saturating_sub(1);
    let missing = needed.saturating_sub(held.as_ref().map_or(0, OwnedSemaphorePermit::num_permits));
    if missing > 0 {
        let more = room.clone().try_acquire_many_owned(u32::try_from(missing).ok()?).ok()?;
        match held {
            Some(held) => held.merge(more),
            None => *held = Some(more),
        }
    }
    Some(())
}

/// Undoes gzip (any number of members), up to `limit` bytes.
pub(crate) fn gunzip(body: &[u8], limit: usize) -> Result<Bytes, ApiError> {
    let mut out = Vec::with_capacity(body.len().saturating_mul(4).min(limit));
    let take = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    flate2::read::MultiGzDecoder::new(body)
        .take(take)
        .read_to_end(&mut out)
        .map_err(|e| ApiError::new(Kind::MalformedBody, format!("the body is not gzip: {e}")))?;
    if out.len() > limit { Err(too_large(limit)) } else { Ok(out.into()) }
}
