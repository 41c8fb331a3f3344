//! Request bodies: media types, encodings, and errors.

use std::io::Read;

use axum::http::{HeaderMap, header};
use bytes::Bytes;
use roster_calls::{Format, ProblemKind, too_large};

use super::problem::ApiError;
use crate::runtime::net::BodyError;

/// How much is decompressed at a time.
const STEP: usize = 1 << 20;
/// How many bytes a byte of gzip decompresses to at most.
const MAX_RATIO: usize = 1032;

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
    let content_type = headers.get(header::CONTENT_TYPE).map(|value| value.to_str().unwrap_or_default());
    Ok(Format::of(content_type)?)
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

impl From<BodyError> for ApiError {
    fn from(error: BodyError) -> Self {
        match error {
            BodyError::TooLarge(limit) => too_large(limit).into(),
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
