//! Request bodies: limits of size, time, pace and memory.

use std::time::Duration;

use axum::body::{Body, BodyDataStream, HttpBody};
use bytes::Bytes;
use futures::StreamExt;
use tokio::time::{Instant, timeout_at};

use super::{claim::Claim, exchange::Exchange, ledger::Ledger, response_clock::time_for};

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
                self.left = self.left.saturating_add(time_for(piece.len(), self.limits.pace));
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
    pub(crate) memory: Claim,
}

/// Receives a body. Its memory is charged as it arrives, so that a client which only announces a body, or sends it slowly,
/// keeps nobody else from sending. While it waits for memory, nothing more is read from its client.
pub(crate) async fn receive(
    body: Body,
    limits: BodyLimits,
    memory: &Ledger,
    exchange: &Exchange,
) -> Result<ReceivedBody, BodyError> {
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    let limit = usize::try_from(limits.size).unwrap_or(usize::MAX);
    let mut pieces = BodyPieces::new(body, limits)?;
    let (mut all, mut memory) = (Vec::<u8>::new(), Claim::new(memory, exchange));
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
                charge(&mut memory, length, limits.deadline).await?;
            }
            return Ok(ReceivedBody { bytes: piece, memory });
        }
        if length > all.capacity() {
            // Reserve a few times of what has arrived: what was announced may never arrive, but many small steps would
            // fragment the memory.
            let most = if pieces.is_end() {
                length
            } else if announced < length {
                limit
            } else {
                announced
            };
            let capacity = all.capacity().saturating_mul(4).clamp(length, most);
            charge(&mut memory, capacity, limits.deadline).await?;
            all.reserve_exact(capacity - all.len());
        }
        all.extend_from_slice(&piece);
    }
    Ok(ReceivedBody { bytes: all.into(), memory })
}

/// Charges a body so many bytes in all, as soon as there are enough.
async fn charge(memory: &mut Claim, bytes: usize, deadline: Option<Instant>) -> Result<(), BodyError> {
    let amount = bytes.max(SMALL_BODY) as u64;
    if memory.wait_for(amount, deadline).await { Ok(()) } else { Err(BodyError::NoMemory) }
}

#[cfg(test)]
mod tests {
    use std::{net::SocketAddr, sync::Arc};

    use axum::http::Extensions;
    use tokio::{join, time::sleep};

    use super::{
        super::{
            activity::{Activity, ActivityStage},
            ledger::{Holding, LedgerLimits},
            ledger_metrics::LedgerMetrics,
            peer::Peer,
            standings::Standings,
        },
        *,
    };

    const ALL: u64 = 64 << 10;
    const LIMITS: BodyLimits = BodyLimits { size: ALL, idle: Duration::from_secs(10), pace: 1, deadline: None };

    /// A server whose whole memory is shared by peers that hold little.
    struct Memory {
        ledger: Ledger,
        standings: Standings,
    }

    impl Memory {
        fn new() -> Self {
            let standings = Standings::default();
            let limits = LedgerLimits { total: ALL, reserve: 0, little: ALL, little_with_credit: ALL };
            Self { ledger: Ledger::new(limits, standings.clone(), LedgerMetrics::default()), standings }
        }

        fn exchange(peer: u8) -> Exchange {
            let mut exchange = Exchange::of(&Extensions::new());
            exchange.peer = Peer::of(SocketAddr::from(([10, 0, 0, peer], 0)));
            exchange
        }

        /// What another peer holds, at this stage.
        fn held(&self, peer: u8, amount: u64, stage: ActivityStage) -> (Holding, Arc<Activity>) {
            let exchange = Self::exchange(peer);
            exchange.activity.set(stage);
            (self.ledger.take(exchange.peer, amount, &exchange.activity).unwrap(), exchange.activity)
        }

        /// Sends 32 KiB. Returns how long it took, and the error.
        async fn send(&self, peer: u8, deadline: Option<Duration>) -> (u128, Option<BodyError>) {
            let began = Instant::now();
            let limits = BodyLimits { deadline: deadline.map(|after| began + after), ..LIMITS };
            let body = Body::from(vec![0; 32 << 10]);
            let received = receive(body, limits, &self.ledger, &Self::exchange(peer)).await;
            (began.elapsed().as_millis(), received.err())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_waits_until_others_are_done() {
        let memory = Memory::new();
        let (other, _) = memory.held(1, ALL, ActivityStage::Computing);
        let free = async {
            sleep(Duration::from_millis(100)).await;
            drop(other);
        };
        assert_eq!(join!(memory.send(2, None), free).0, (155, None));
    }

    /// Many that hold a part and wait for the rest would wait for each other.
    #[tokio::test(start_paused = true)]
    async fn a_body_that_waits_may_be_evicted_although_all_of_it_is_there() {
        let memory = Memory::new();
        let _computed = memory.held(1, ALL / 2, ActivityStage::Computing);
        let exchange = Memory::exchange(2);
        exchange.activity.set(ActivityStage::Computing);
        let mut waits = Claim::new(&memory.ledger, &exchange);
        assert!(waits.wait_for(ALL / 4, None).await);
        let other = async {
            sleep(Duration::from_millis(100)).await;
            memory.send(3, None).await
        };
        assert_eq!(join!(waits.wait_for(ALL, None), other), (false, (0, None)));
    }

    #[tokio::test(start_paused = true)]
    async fn it_does_not_wait_forever() {
        let memory = Memory::new();
        let _other = memory.held(1, ALL, ActivityStage::Computing);
        for (deadline, waited) in [(None, 1995), (Some(200), 155), (Some(1), 0)] {
            let answer = memory.send(2, deadline.map(Duration::from_millis)).await;
            assert_eq!(answer, (waited, Some(BodyError::NoMemory)), "{deadline:?}");
        }
    }

    /// What a client holds that is served all the time goes last, and not at once.
    #[tokio::test(start_paused = true)]
    async fn it_waits_before_it_takes_anything_from_a_peer_with_credit() {
        for (credit_of, waited) in [(None, 0), (Some(2), 0), (Some(1), 1995)] {
            let memory = Memory::new();
            let (_computed, _) = memory.held(3, ALL / 2, ActivityStage::Computing);
            let (_waits, other) = memory.held(1, ALL / 2, ActivityStage::Receiving);
            if let Some(peer) = credit_of {
                memory.standings.earn(Memory::exchange(peer).peer);
            }
            assert_eq!(memory.send(2, None).await, (waited, None), "{credit_of:?}");
            assert!(other.is_evicted(), "{credit_of:?}");
        }
    }
}
