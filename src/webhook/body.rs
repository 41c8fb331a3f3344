//! Bodies: of which type, how large, how slow, and how many at once.

use std::sync::Arc;

use axum::{
    body::{Body, HttpBody},
    http::{HeaderMap, StatusCode, header},
};
use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout_at,
};

use super::{deadline::Deadline, status::Refusal};

/// Bytes of each body that need no room.
const FREE: usize = 64 << 10;
/// Bytes of one permit.
const UNIT: usize = 64 << 10;

/// Memory for bodies.
pub(super) struct Room(Arc<Semaphore>);

impl Room {
    pub(super) fn new(bytes: usize) -> Self {
        Self(Arc::new(Semaphore::new((bytes / UNIT).min(Semaphore::MAX_PERMITS))))
    }
}

/// A body, and what it takes of the room until it is dropped.
pub(super) struct Received {
    pub(super) bytes: Bytes,
    #[expect(dead_code, reason = "held, never read")]
    room: Option<OwnedSemaphorePermit>,
}

/// Whether the headers announce JSON as it is.
pub(super) fn check(headers: &HeaderMap) -> Result<(), Refusal> {
    let refusal = |message: String| Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", message);
    if let Some(value) = headers.get(header::CONTENT_TYPE) {
        let essence = value.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim();
        if !essence.eq_ignore_ascii_case("application/json") {
            return Err(refusal(format!("Content-Type is {essence:.80}; reviews are application/json")));
        }
    }
    match headers.get(header::CONTENT_ENCODING) {
        Some(value) if value != "identity" => Err(refusal("a compressed review is not read here".to_owned())),
        _ => Ok(()),
    }
}

/// Receives a body of at most `limit` bytes, as long as the deadline allows. Memory is taken as bytes arrive.
pub(super) async fn receive(body: Body, limit: usize, room: &Room, deadline: Deadline) -> Result<Received, Refusal> {
    let too_large = || {
        let message = format!("the body has more than {limit} bytes");
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message)
    };
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > limit {
        return Err(too_large());
    }
    let mut pieces = body.into_data_stream();
    let mut held: Option<OwnedSemaphorePermit> = None;
    // Nearly every review comes in one piece, which is not copied.
    let (mut first, mut all) = (Bytes::new(), BytesMut::new());
    loop {
        let piece = match timeout_at(deadline.0, pieces.next()).await {
            Ok(Some(Ok(piece))) => piece,
            Ok(None) => break,
            Ok(Some(Err(error))) => return Err(Refusal::unreadable(format!("the body ended early: {error}"))),
            Err(_) => {
                let message = "the body did not arrive in time";
                return Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, "Timeout", message));
            }
        };
        let length = first.len() + all.len() + piece.len();
        if length > limit {
            return Err(too_large());
        }
        take(room, &mut held, length)?;
        if first.is_empty() && all.is_empty() {
            first = piece;
        } else {
            if all.is_empty() {
                // What was announced is not believed beyond the free part: it has not come yet.
                all.reserve(announced.min(length.max(FREE) * 4));
                all.extend_from_slice(&std::mem::take(&mut first));
            }
            all.extend_from_slice(&piece);
        }
    }
    let bytes = if all.is_empty() { first } else { all.freeze() };
    Ok(Received { bytes, room: held })
}

/// Sees to it that `held` is enough for `length` bytes.
fn take(room: &Room, held: &mut Option<OwnedSemaphorePermit>, length: usize) -> Result<(), Refusal> {
    let needed = length.saturating_sub(FREE).div_ceil(UNIT);
    let missing = needed.saturating_sub(held.as_ref().map_or(0, OwnedSemaphorePermit::num_permits));
    if missing == 0 {
        return Ok(());
    }
    // If bodies waited for room, each with a part of it, all of them might wait for ever.
    let full = || Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", "other bodies take all memory");
    let missing = u32::try_from(missing).map_err(|_| full())?;
    let more = room.0.clone().try_acquire_many_owned(missing).map_err(|_| full())?;
    match held {
        Some(held) => held.merge(more),
        None => *held = Some(more),
    }
    Ok(())
}
