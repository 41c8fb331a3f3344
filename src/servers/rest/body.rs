//! Request bodies: media types, encodings, and errors.

use std::io::Read;

use axum::http::{HeaderMap, header};
use bytes::Bytes;

use super::problem::{ApiError, ProblemKind};
use crate::runtime::net::BodyError;

/// How much is decompressed at a time.
const STEP: usize = 1 << 20;
/// How many bytes a byte of gzip decompresses to at most.
const MAX_RATIO: usize = 1032;

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

impl From<BodyError> for ApiError {
    fn from(error: BodyError) -> Self {
        match error {
            BodyError::TooLarge(limit) => too_large(limit),
            BodyError::TooSlow => Self::new(ProblemKind::BodyTimeout, "the body arrives too slowly"),
            BodyError::Broken(error) => Self::new(ProblemKind::BrokenBody, error),
            BodyError::NoMemory => Self::new(ProblemKind::Busy, "other requests take all memory"),
        }
    }
}

/// Decompresses gzip with any number of members, a mebibyte at a time: each is charged before it is made. `None` if there are
/// more than `limit` bytes.
pub(crate) fn gunzip(
    body: &[u8],
    limit: usize,
    mut charge: impl FnMut(usize) -> Result<(), ApiError>,
) -> Result<Option<Bytes>, ApiError> {
    let mut decoder = flate2::read::MultiGzDecoder::new(body);
    // Growing would need both the old and the new memory. What is reserved and not written is not taken.
    let longest = limit.saturating_add(STEP).min(body.len().saturating_mul(MAX_RATIO));
    let mut out = Vec::with_capacity(longest.saturating_add(STEP));
    loop {
        // A short body charges no more than it can have.
        charge((out.len() + STEP).min(longest))?;
        let read = decoder.by_ref().take(STEP as u64).read_to_end(&mut out);
        let read = read.map_err(|e| ApiError::new(ProblemKind::MalformedBody, format!("the body is not gzip: {e}")))?;
        if out.len() > limit {
            return Ok(None);
        }
        if read < STEP {
            return Ok(Some(out.into()));
        }
    }
}
