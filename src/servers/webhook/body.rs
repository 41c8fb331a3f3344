//! Bodies of reviews: media type, and limits of size, time and memory.

use std::sync::Arc;

use axum::{
    body::{Body, HttpBody},
    http::{HeaderMap, StatusCode, header},
};
use bytes::Bytes;
use futures::StreamExt;
use tokio::{sync::Semaphore, time::timeout_at};

use super::{deadline::Deadline, status_error::StatusError};
use crate::runtime::net::GrowingPermit;

/// The first bytes of each body have their own part of the memory: nearly every review is that small, and large bodies
/// cannot keep small ones out.
const FIRST: usize = 64 << 10;
/// The bytes of one permit of that part. A body takes one before its first byte arrives: the waiting request needs about
/// as much memory, and an HTTP/2 connection may have many.
const FIRST_UNIT: usize = 4 << 10;
/// The bytes of one permit of the rest.
const UNIT: usize = 64 << 10;

/// The memory of all bodies. Every byte of a body is counted: one HTTP/2 connection may carry a hundred bodies, and a
/// thousand connections more than the memory of a pod. (A lower limit of requests for each connection would not help:
/// an API server sends all of them on a single HTTP/2 connection.)
pub(super) struct BodyMemory {
    first: Arc<Semaphore>,
    rest: Arc<Semaphore>,
}

impl BodyMemory {
    /// A quarter is for first bytes: by default 64 MiB, which is all that 1024 clients can use over HTTP/1.
    pub(super) fn new(bytes: usize) -> Self {
        let semaphore =
            |bytes: usize, unit: usize| Arc::new(Semaphore::new((bytes / unit).min(Semaphore::MAX_PERMITS)));
        Self { first: semaphore(bytes / 4, FIRST_UNIT), rest: semaphore(bytes - bytes / 4, UNIT) }
    }
}

/// A body, and the memory permits that it holds until it is dropped.
pub(super) struct ReviewBytes {
    pub(super) bytes: Bytes,
    #[expect(dead_code, reason = "held, never read")]
    permits: BodyPermits,
}

/// The memory permits of a body.
#[derive(Default)]
struct BodyPermits {
    first: GrowingPermit,
    rest: GrowingPermit,
}

/// Checks that the headers announce uncompressed JSON.
pub(super) fn check(headers: &HeaderMap) -> Result<(), StatusError> {
    let unsupported =
        |message: String| StatusError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", message);
    if let Some(value) = headers.get(header::CONTENT_TYPE) {
        let essence = value.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim();
        if !essence.eq_ignore_ascii_case("application/json") {
            return Err(unsupported(format!("Content-Type is {essence:.80}; reviews are application/json")));
        }
    }
    match headers.get(header::CONTENT_ENCODING) {
        Some(value) if value != "identity" => Err(unsupported("compressed reviews are not supported".to_owned())),
        _ => Ok(()),
    }
}

/// Receives a body of at most `limit` bytes, as long as the deadline allows. Memory is taken as bytes arrive.
pub(super) async fn receive(
    body: Body,
    limit: usize,
    memory: &BodyMemory,
    deadline: Deadline,
) -> Result<ReviewBytes, StatusError> {
    let too_large = || {
        let message = format!("the body has more than {limit} bytes");
        StatusError::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message)
    };
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > limit {
        return Err(too_large());
    }
    let mut permits = BodyPermits::default();
    permits.grow_to(memory, 0)?;
    let mut pieces = body.into_data_stream();
    let mut all: Vec<u8> = Vec::new();
    loop {
        let piece = match timeout_at(deadline.0, pieces.next()).await {
            Ok(Some(Ok(piece))) => piece,
            Ok(None) => break,
            Ok(Some(Err(error))) => return Err(StatusError::unreadable(format!("the body ended early: {error}"))),
            Err(_) => {
                let message = "the body did not arrive in time";
                return Err(StatusError::new(StatusCode::REQUEST_TIMEOUT, "Timeout", message));
            }
        };
        let length = all.len() + piece.len();
        if length > limit {
            return Err(too_large());
        }
        // Nearly every review arrives in one piece, which is not copied. A piece that is only a part is copied: a byte of it
        // may keep kilobytes alive that are not counted.
        if all.is_empty() && pieces.is_end_stream() {
            permits.grow_to(memory, length)?;
            return Ok(ReviewBytes { bytes: piece, permits });
        }
        if length > all.capacity() {
            // Reserve a few times of what has arrived: what was announced may never arrive, but many small steps would
            // fragment the memory.
            let most = if announced < length { limit } else { announced };
            let capacity = (4 * all.capacity()).clamp(length, most);
            permits.grow_to(memory, capacity)?;
            all.reserve_exact(capacity - all.len());
        }
        all.extend_from_slice(&piece);
    }
    Ok(ReviewBytes { bytes: all.into(), permits })
}

impl BodyPermits {
    /// Takes permits until they are enough for `length` bytes.
    fn grow_to(&mut self, memory: &BodyMemory, length: usize) -> Result<(), StatusError> {
        let first = length.min(FIRST).div_ceil(FIRST_UNIT).max(1);
        let rest = length.saturating_sub(FIRST).div_ceil(UNIT);
        let grown = self.first.grow_to(&memory.first, first).and_then(|()| self.rest.grow_to(&memory.rest, rest));
        grown.ok_or_else(|| {
            let message = "other bodies take all memory";
            StatusError::new(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", message)
        })
    }
}
