//! Request bodies: which types are read, how large and how slow they may be.

use std::{io::Read, time::Duration};

use axum::{
    body::{Body, BodyDataStream},
    http::{HeaderMap, header},
};
use bytes::{Bytes, BytesMut};
use futures::StreamExt;

use super::problem::{ApiError, Kind};

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
    let text = headers.get(header::CONTENT_ENCODING).map(|v| v.to_str().unwrap_or("?").trim().to_ascii_lowercase());
    match text.as_deref() {
        None | Some("" | "identity") => Ok(Encoding::Identity),
        Some("gzip" | "x-gzip") => Ok(Encoding::Gzip),
        Some(other) => {
            Err(ApiError::new(Kind::MediaType, format!("Content-Encoding is {other:.40}; send gzip or none")))
        }
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
}

impl Pieces {
    pub(crate) fn new(body: Body, idle: Duration) -> Self {
        Self { stream: body.into_data_stream(), idle }
    }

    /// The next piece; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, ApiError> {
        match tokio::time::timeout(self.idle, self.stream.next()).await {
            Ok(None) => Ok(None),
            Ok(Some(Ok(piece))) => Ok(Some(piece)),
            Ok(Some(Err(e))) => Err(ApiError::new(Kind::BrokenBody, e.to_string())),
            Err(_) => Err(ApiError::new(Kind::BodyTimeout, format!("nothing came for {} s", self.idle.as_secs_f32()))),
        }
    }
}

/// Adds pieces to `start` until there are more than `until` bytes or no more pieces. Whether it ended.
pub(crate) async fn collect(pieces: &mut Pieces, into: &mut BytesMut, until: usize) -> Result<bool, ApiError> {
    while into.len() <= until {
        match pieces.next().await? {
            Some(piece) => into.extend_from_slice(&piece),
            None => return Ok(true),
        }
    }
    Ok(false)
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
