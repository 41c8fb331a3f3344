//! Request bodies: media types, and limits of size, pace and memory.

use std::{io::Read, time::Duration};

use axum::{
    body::{Body, BodyDataStream, HttpBody},
    http::{HeaderMap, header},
};
use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use tokio::time::{Instant, timeout};

use super::{
    RestApp, RestLimits,
    limits::SMALL,
    problem::{ApiError, ProblemKind},
};
use crate::runtime::net::GrowingPermit;

/// The format of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// `application/json`.
    Json,
    /// `application/yaml`, `application/x-yaml`, `text/yaml`, `text/x-yaml`.
    Yaml,
    /// `application/x-ndjson`, `application/ndjson`, `application/jsonl`.
    Ndjson,
}

/// The encoding of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// Not compressed.
    Identity,
    /// `gzip`.
    Gzip,
}

/// The format that `Content-Type` names.
pub(crate) fn format(headers: &HeaderMap) -> Result<Format, ApiError> {
    const HINT: &str = "send application/json or application/yaml";
    let Some(value) = headers.get(header::CONTENT_TYPE) else {
        return Err(ApiError::new(ProblemKind::MediaType, format!("the header Content-Type is missing; {HINT}")));
    };
    let text = value.to_str().unwrap_or_default().to_ascii_lowercase();
    let mut parts = text.split(';').map(str::trim);
    let format = match parts.next().unwrap_or_default() {
        "application/json" | "text/json" => Format::Json,
        "application/yaml" | "application/x-yaml" | "text/yaml" | "text/x-yaml" => Format::Yaml,
        "application/x-ndjson" | "application/ndjson" | "application/jsonl" => Format::Ndjson,
        other => return Err(ApiError::new(ProblemKind::MediaType, format!("Content-Type is {other:.80}; {HINT}"))),
    };
    let utf8 = |p: &str| p.strip_prefix("charset=").is_none_or(|c| matches!(c.trim_matches('"'), "utf-8" | "utf8"));
    if !parts.all(utf8) {
        return Err(ApiError::new(ProblemKind::MediaType, "the only supported charset is utf-8"));
    }
    Ok(format)
}

/// The encoding that `Content-Encoding` names.
pub(crate) fn encoding(headers: &HeaderMap) -> Result<Encoding, ApiError> {
    // Several encodings are not undone here: joined they match no name.
    let named: Vec<&str> =
        headers.get_all(header::CONTENT_ENCODING).iter().map(|v| v.to_str().unwrap_or("?")).collect();
    match named.join(", ").trim().to_ascii_lowercase().as_str() {
        "" | "identity" => Ok(Encoding::Identity),
        "gzip" | "x-gzip" => Ok(Encoding::Gzip),
        other => {
            Err(ApiError::new(ProblemKind::MediaType, format!("Content-Encoding is {other:.40}; send gzip or none")))
        }
    }
}

/// The error for a body over `limit`.
pub(crate) fn too_large(limit: impl std::fmt::Display) -> ApiError {
    ApiError::new(ProblemKind::TooLarge, format!("the body has more than {limit} bytes after decompression"))
}

/// A body that arrives in pieces, with limits of time and pace.
pub(crate) struct BodyPieces {
    stream: BodyDataStream,
    idle: Duration,
    /// Bytes a second.
    rate: usize,
    /// How long the server still waits for the client.
    left: Duration,
}

impl BodyPieces {
    /// Refuses a body whose announced length is over `limit`, before it is sent.
    pub(crate) fn new(body: Body, limits: &RestLimits, limit: u64) -> Result<Self, ApiError> {
        if body.size_hint().lower() > limit {
            return Err(too_large(limit));
        }
        let (idle, rate) = (limits.body_idle, limits.body_rate.max(1));
        Ok(Self { stream: body.into_data_stream(), idle, rate, left: idle })
    }

    /// The next piece; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, ApiError> {
        let began = Instant::now();
        let next = timeout(self.idle.min(self.left), self.stream.next()).await;
        self.left = self.left.saturating_sub(began.elapsed());
        match next {
            Ok(None) => Ok(None),
            Ok(Some(Ok(piece))) => {
                self.left = self.left.saturating_add(time_for(piece.len(), self.rate));
                Ok(Some(piece))
            }
            Ok(Some(Err(e))) => Err(ApiError::new(ProblemKind::BrokenBody, e.to_string())),
            Err(_) => {
                let detail =
                    format!("no data for {} s, or fewer than {} bytes per second", self.idle.as_secs_f32(), self.rate);
                Err(ApiError::new(ProblemKind::BodyTimeout, detail))
            }
        }
    }
}

/// The time that `bytes` add at this rate.
fn time_for(bytes: usize, rate: usize) -> Duration {
    let nanos = (bytes as u128).saturating_mul(1_000_000_000) / rate as u128;
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// A body that has arrived completely.
pub(crate) struct BufferedBody {
    /// As it was sent.
    pub bytes: BytesMut,
    /// The memory that it takes, until it is dropped.
    pub memory: GrowingPermit,
}

/// Receives a body. Memory is reserved as it arrives, so that a client which only announces a large body, or sends it
/// slowly, does not keep others from sending. A body for which no memory is left is refused.
pub(crate) async fn receive(app: &RestApp, body: Body) -> Result<BufferedBody, ApiError> {
    let limit = app.limits.body;
    let mut pieces = BodyPieces::new(body, &app.limits, limit as u64)?;
    let mut received = BufferedBody { bytes: BytesMut::new(), memory: GrowingPermit::default() };
    while let Some(piece) = pieces.next().await? {
        let length = received.bytes.len().saturating_add(piece.len());
        if length > limit {
            return Err(too_large(limit));
        }
        let mebibytes = length.div_ceil(SMALL).saturating_sub(1);
        received.memory.grow_to(&app.memory, mebibytes).ok_or_else(|| {
            app.metrics.shed.inc();
            ApiError::new(ProblemKind::Busy, format!("other bodies take all {} MiB", app.limits.memory()))
        })?;
        received.bytes.extend_from_slice(&piece);
    }
    Ok(received)
}

/// Decompresses gzip with any number of members, up to `limit` bytes.
pub(crate) fn gunzip(body: &[u8], limit: usize) -> Result<Bytes, ApiError> {
    let mut out = Vec::with_capacity(body.len().saturating_mul(4).min(limit));
    let take = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    flate2::read::MultiGzDecoder::new(body)
        .take(take)
        .read_to_end(&mut out)
        .map_err(|e| ApiError::new(ProblemKind::MalformedBody, format!("the body is not gzip: {e}")))?;
    if out.len() > limit { Err(too_large(limit)) } else { Ok(out.into()) }
}
