//! The places of access reviews: how many the API server gets at once, and who waits for one.
//!
//! Anybody can send one invalid token after the other, and each is a review. So callers to whom the API server has allowed
//! something have places of their own, and so have new tokens from hosts with such callers: tokens are renewed every hour. Of
//! all new tokens only some wait: a host that has many of them waiting gives way to one that has few. Known callers take turns:
//! one can ask about one name after the other, too.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{sleep, timeout},
};

use super::{
    caller::CallerDigest,
    caller_turns::{CallerTurn, CallerTurns, WAIT},
    metrics::LISTENER,
};
use crate::runtime::net::{ActivityStage, Exchange, Health, Ledger};

/// Reviews at once of each kind of callers.
const OF_KNOWN_CALLERS: usize = 8;
const OF_KNOWN_PEERS: usize = 4;
const OF_STRANGERS: usize = 4;
/// How many of known callers wait, and how many with new tokens.
const KNOWN_WAITING: usize = 1024;
const WAITING: u64 = 256;
/// How long a place stays taken after a refusal. It limits them to 80 in a second of strangers.
const REFUSED: Duration = Duration::from_millis(50);

/// Who asks for a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reviewed {
    /// A caller to whom something was allowed, or whose certificate a CA has signed.
    KnownCaller(CallerDigest),
    /// A new token of a host with other callers to whom something was allowed.
    KnownPeer,
    Stranger,
}

/// All places.
#[derive(Debug)]
pub(super) struct ReviewPlaces {
    of_known_callers: CallerTurns,
    of_known_peers: Arc<Semaphore>,
    of_strangers: Arc<Semaphore>,
    waiting: Ledger,
}

/// A place until it is dropped.
#[derive(Debug)]
#[expect(dead_code, reason = "held, never read")]
pub(super) enum ReviewPlace {
    OfKnownCaller(CallerTurn),
    OfOthers(OwnedSemaphorePermit),
}

impl ReviewPlaces {
    pub(super) fn new(health: &Health) -> Self {
        Self {
            of_known_callers: CallerTurns::new(OF_KNOWN_CALLERS, KNOWN_WAITING),
            of_known_peers: Arc::new(Semaphore::new(OF_KNOWN_PEERS)),
            of_strangers: Arc::new(Semaphore::new(OF_STRANGERS)),
            waiting: health.ledger(LISTENER, "access-reviews", WAITING),
        }
    }

    /// A place for a review of the exchange, once there is one; `None`: too many wait.
    pub(super) async fn take(&self, exchange: &Exchange, reviewed: Reviewed) -> Option<ReviewPlace> {
        let places = match reviewed {
            Reviewed::KnownCaller(caller) => {
                return self.of_known_callers.take(caller).await.map(ReviewPlace::OfKnownCaller);
            }
            Reviewed::KnownPeer => &self.of_known_peers,
            Reviewed::Stranger => &self.of_strangers,
        };
        if reviewed == Reviewed::Stranger {
            // It must not keep a place from others while it waits.
            exchange.activity.set(ActivityStage::Opening);
        }
        let waiting = self.waiting.take(exchange.peer, 1, &exchange.activity);
        let place = if waiting.is_some() { place(places).await } else { None };
        exchange.activity.set(ActivityStage::Computing);
        place
    }
}

impl ReviewPlace {
    /// Gives the place back a moment after a refusal.
    pub(super) fn refused(self) {
        tokio::spawn(async move {
            sleep(REFUSED).await;
            drop(self);
        });
    }
}

async fn place(places: &Arc<Semaphore>) -> Option<ReviewPlace> {
    // The semaphore is never closed.
    timeout(WAIT, places.clone().acquire_owned()).await.ok()?.ok().map(ReviewPlace::OfOthers)
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use axum::http::Extensions;
    use futures::FutureExt;
    use tokio::time::advance;

    use super::*;
    use crate::runtime::net::Peer;

    fn exchange(peer: u8) -> Exchange {
        let mut exchange = Exchange::of(&Extensions::new());
        exchange.peer = Peer::of(SocketAddr::from(([10, 0, 0, peer], 0)));
        exchange
    }

    #[tokio::test(start_paused = true)]
    async fn callers_to_whom_something_was_allowed_do_not_wait_for_strangers() {
        let (places, stranger) = (ReviewPlaces::new(&Health::default()), exchange(1));
        let mut held = Vec::new();
        for _ in 0..OF_STRANGERS {
            held.push(places.take(&stranger, Reviewed::Stranger).await.unwrap());
        }
        assert!(places.take(&exchange(2), Reviewed::Stranger).now_or_never().is_none(), "a stranger waits");
        let caller = CallerDigest::from_hex(&"0f".repeat(32)).unwrap();
        for known in [Reviewed::KnownCaller(caller), Reviewed::KnownPeer] {
            assert!(places.take(&exchange(3), known).now_or_never().flatten().is_some(), "{known:?}");
        }
        assert!(places.take(&exchange(2), Reviewed::Stranger).await.is_none(), "and not forever");
    }

    #[tokio::test(start_paused = true)]
    async fn of_many_that_wait_the_client_with_the_most_gives_way() {
        let places = Arc::new(ReviewPlaces::new(&Health::default()));
        let wait = |peer: u8| {
            let (places, exchange) = (places.clone(), exchange(peer));
            let activity = exchange.activity.clone();
            (activity, tokio::spawn(async move { places.take(&exchange, Reviewed::Stranger).await }))
        };
        let mut held = Vec::new();
        for _ in 0..OF_STRANGERS {
            held.push(places.take(&exchange(1), Reviewed::Stranger).await.unwrap());
        }
        let greedy: Vec<_> = (0..2 * WAITING).map(|_| wait(1)).collect();
        // Paused time goes on when no task can.
        sleep(Duration::from_millis(1)).await;
        let (modest, place) = wait(2);
        // Paused time goes on when no task can.
        sleep(Duration::from_millis(1)).await;
        // It is behind those that wait, and keeps its place among them.
        assert!(greedy.iter().any(|(activity, _)| activity.evicted().now_or_never().is_some()));
        assert!(modest.evicted().now_or_never().is_none());
        for (_, waits) in &greedy {
            waits.abort();
        }
        drop(held);
        assert!(place.await.unwrap().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_keeps_its_place_for_a_moment() {
        let (places, stranger) = (ReviewPlaces::new(&Health::default()), exchange(1));
        for _ in 0..OF_STRANGERS {
            places.take(&stranger, Reviewed::Stranger).await.unwrap().refused();
        }
        assert!(places.take(&stranger, Reviewed::Stranger).now_or_never().is_none());
        advance(REFUSED * 2).await;
        assert!(places.take(&stranger, Reviewed::Stranger).await.is_some());
    }
}
