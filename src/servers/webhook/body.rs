//! Bodies: of which type, how large, how slow, and how many at once.

use std::sync::Arc;

use axum::{
    body::{Body, HttpBody},
    http::{HeaderMap, StatusCode, header},
};
use bytes::Bytes;
use futures::StreamExt;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout_at,
};

use super::{deadline::Deadline, status::Refusal};

/// The first bytes of each body have a part of the room for themselves: nearly every review is no longer, and large
/// bodies keep none of them out.
const FIRST: usize = 64 << 10;
/// What one permit of that part stands for. An open body has one before its first byte has come: the request that waits
/// for it takes about as much, and over HTTP/2 there are many on one connection.
const FIRST_UNIT: usize = 4 << 10;
/// What one permit of the rest stands for.
const UNIT: usize = 64 << 10;

/// Memory for bodies. Each byte of them has its place in it: one connection over HTTP/2 has room for a hundred bodies, and
/// a thousand connections would have it for more than the memory of a pod. (Fewer requests a connection are no way out:
/// over HTTP/2 an API server writes on a single one.)
pub(super) struct Room {
    first: Arc<Semaphore>,
    rest: Arc<Semaphore>,
}

impl Room {
    /// A quarter is for first bytes: by default 64 MiB, which is all that 1024 clients can open over HTTP/1.
    pub(super) fn new(bytes: usize) -> Self {
        let permits = |bytes: usize, unit: usize| Arc::new(Semaphore::new((bytes / unit).min(Semaphore::MAX_PERMITS)));
        Self { first: permits(bytes / 4, FIRST_UNIT), rest: permits(bytes - bytes / 4, UNIT) }
    }
}

/// A body, and what it takes of the room until it is dropped.
pub(super) struct Received {
    pub(super) bytes: Bytes,
    #[expect(dead_code, reason = "held, never read")]
    place: Place,
}

/// What is taken of the room.
#[derive(Default)]
struct Place {
    first: Option<OwnedSemaphorePermit>,
    rest: Option<OwnedSemaphorePermit>,
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
    let mut place = Place::default();
    place.hold(room, 0)?;
    let mut pieces = body.into_data_stream();
    let mut all: Vec<u8> = Vec::new();
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
        let length = all.len() + piece.len();
        if length > limit {
            return Err(too_large());
        }
        // Nearly every review comes in one piece, which is not copied. One that is not the whole is: a byte may hold the
        // kilobytes that came with it, uncounted.
        if all.is_empty() && pieces.is_end_stream() {
            place.hold(room, length)?;
            return Ok(Received { bytes: piece, place });
        }
        if length > all.capacity() {
            // Memory is taken for what has come, and some times as much: what was announced may never come, but small steps
            // would leave pieces of memory behind.
            let most = if announced < length { limit } else { announced };
            let capacity = (4 * all.capacity()).clamp(length, most);
            place.hold(room, capacity)?;
            all.reserve_exact(capacity - all.len());
        }
        all.extend_from_slice(&piece);
    }
    Ok(Received { bytes: all.into(), place })
}

impl Place {
    /// Sees to it that it is enough for `length` bytes.
    fn hold(&mut self, room: &Room, length: usize) -> Result<(), Refusal> {
        let first = length.min(FIRST).div_ceil(FIRST_UNIT).max(1);
        let rest = length.saturating_sub(FIRST).div_ceil(UNIT);
        // If bodies waited for room, each with a part of it, all of them might wait for ever.
        take(&room.first, &mut self.first, first).and_then(|()| take(&room.rest, &mut self.rest, rest)).ok_or_else(
            || {
                let message = "other bodies take all memory";
                Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", message)
            },
        )
    }
}

/// Sees to it that `held` are so many; `None` if there are none left.
fn take(permits: &Arc<Semaphore>, held: &mut Option<OwnedSemaphorePermit>, needed: usize) -> Option<()> {
    let missing = needed.saturating_sub(held.as_ref().map_or(0, OwnedSemaphorePermit::num_permits));
    if missing == 0 {
        return Some(());
    }
    let more = permits.clone().try_acquire_many_owned(u32::try_from(missing).ok()?).ok()?;
    match held {
        Some(held) => held.merge(more),
        None => *held = Some(more),
    }
    Some(())
}
