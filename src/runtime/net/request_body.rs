//! Request bodies: limits of size, time, pace and memory.

use std::time::Duration;

use axum::body::{Body, BodyDataStream, HttpBody};
use bytes::Bytes;
use futures::StreamExt;
use tokio::time::{Instant, timeout_at};

use super::{
    exchange::Exchange,
    ledger::{Holding, Ledger},
};

/// The least that a body counts in bytes, once its first byte has arrived: the request itself needs about as much. So a body
/// up to this size that arrives in one piece takes nothing: the place of its request or connection covers it.
pub(crate) const SMALL_BODY: usize = 8 << 10;

/// The limits of a body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyLimits {
    /// The size in bytes.
    pub(crate) size: u64,
    /// The longest pause between two pieces.
    pub(crate) idle: Duration,
    /// The least average pace in bytes per second, after one `idle` of grace. Only the time counts in which the server
    /// waits for the client.
    pub(crate) pace: u32,
    /// The time by which it must have arrived.
    pub(crate) deadline: Option<Instant>,
}

/// Why a body was not received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BodyError {
    /// It has more bytes than this.
    TooLarge(u64),
    /// It did not arrive in time.
    TooSlow,
    /// The connection or the framing broke.
    Broken(String),
    /// Other bodies take all memory, and each has more right to it.
    NoMemory,
}

/// A body that arrives in pieces.
pub(crate) struct BodyPieces {
    stream: BodyDataStream,
    limits: BodyLimits,
    /// How long the server still waits for the client.
    left: Duration,
}

impl BodyPieces {
    /// Refuses a body whose announced length is over the limit, before it is sent.
    pub(crate) fn new(body: Body, limits: BodyLimits) -> Result<Self, BodyError> {
        if body.size_hint().lower() > limits.size {
            return Err(BodyError::TooLarge(limits.size));
        }
        Ok(Self { stream: body.into_data_stream(), limits, left: limits.idle })
    }

    /// The next piece; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, BodyError> {
        let began = Instant::now();
        let patience = began + self.limits.idle.min(self.left);
        let end = self.limits.deadline.map_or(patience, |deadline| deadline.min(patience));
        let next = timeout_at(end, self.stream.next()).await;
        self.left = self.left.saturating_sub(began.elapsed());
        match next {
            Ok(None) => Ok(None),
            Ok(Some(Ok(piece))) => {
                let more = Duration::from_secs(1).saturating_mul(u32::try_from(piece.len()).unwrap_or(u32::MAX));
                self.left = self.left.saturating_add(more / self.limits.pace.max(1));
                Ok(Some(piece))
            }
            Ok(Some(Err(error))) => Err(BodyError::Broken(error.to_string())),
            Err(_) => Err(BodyError::TooSlow),
        }
    }

    /// Whether nothing follows.
    fn is_end(&self) -> bool {
        self.stream.is_end_stream()
    }
}

/// A body that has arrived completely.
#[derive(Debug)]
pub(crate) struct ReceivedBody {
    pub(crate) bytes: Bytes,
    /// The memory that it takes. A small body takes none.
    pub(crate) memory: Option<Holding>,
}

/// Receives a body. Its memory is charged as it arrives, so that a client which only announces a body, or sends it slowly,
/// keeps nobody else from sending.
pub(crate) async fn receive(
    body: Body,
    limits: BodyLimits,
    memory: &Ledger,
    exchange: &Exchange,
) -> Result<ReceivedBody, BodyError> {
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    let limit = usize::try_from(limits.size).unwrap_or(usize::MAX);
    let mut pieces = BodyPieces::new(body, limits)?;
    let (mut all, mut charge) = (Vec::<u8>::new(), BodyCharge { memory, exchange, held: None });
    loop {
        let next = tokio::select! {
            biased;
            next = pieces.next() => next?,
            () = exchange.activity.evicted() => return Err(BodyError::NoMemory),
        };
        let Some(piece) = next else { break };
        if exchange.activity.is_evicted() {
            return Err(BodyError::NoMemory);
        }
        let length = all.len().saturating_add(piece.len());
        if length > limit {
            return Err(BodyError::TooLarge(limits.size));
        }
        // Nearly every review arrives in one piece, which is not copied. A piece that is only a part is copied: a byte of it
        // may keep kilobytes alive that are not counted.
        if all.is_empty() && pieces.is_end() {
            if length > SMALL_BODY {
                charge.grow_to(length)?;
            }
            return Ok(ReceivedBody { bytes: piece, memory: charge.held });
        }
        if length > all.capacity() {
            // Reserve a few times of what has arrived: what was announced may never arrive, but many small steps would
            // fragment the memory.
            let most = if announced < length { limit } else { announced };
            let capacity = all.capacity().saturating_mul(4).clamp(length, most);
            charge.grow_to(capacity)?;
            all.reserve_exact(capacity - all.len());
        }
        all.extend_from_slice(&piece);
    }
    Ok(ReceivedBody { bytes: all.into(), memory: charge.held })
}

/// The memory of a body that arrives.
struct BodyCharge<'a> {
    memory: &'a Ledger,
    exchange: &'a Exchange,
    held: Option<Holding>,
}

impl BodyCharge<'_> {
    fn grow_to(&mut self, bytes: usize) -> Result<(), BodyError> {
        let amount = bytes.max(SMALL_BODY) as u64;
        let grown = if let Some(held) = &self.held {
            held.resize(amount)
        } else {
            self.held = self.memory.take(self.exchange.peer, amount, &self.exchange.activity);
            self.held.is_some()
        };
        if grown { Ok(()) } else { Err(BodyError::NoMemory) }
    }
}
