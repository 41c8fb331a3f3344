//! The places of access reviews: how many the API server gets at once, and who waits for one.
//!
//! Anybody can send one invalid token after the other, and each is a review. So callers to whom the API server has allowed
//! something have places of their own, and so have new tokens from hosts with such callers: tokens are renewed every hour. Of
//! all new tokens only some wait: a host that has many of them waiting gives way to one that has few. Callers of each kind take
//! turns: one token can ask about one name after the other, whether it may read something or not.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use tokio::time::{sleep, timeout};

use super::{caller::CallerDigest, caller_places};
use crate::runtime::{
    net::{ActivityStage, Exchange, Health},
    places::{NoPlace, Place, Places},
};
use crate::servers::edge::metrics::LISTENER;

/// Reviews at once of each kind of callers.
const OF_KNOWN_CALLERS: usize = 8;
const OF_KNOWN_PEERS: usize = 4;
const OF_STRANGERS: usize = 4;
/// How many of known callers wait, and how many of each kind with new tokens.
const KNOWN_WAITING: usize = 1024;
const WAITING: usize = 256;
/// How long a place stays taken after a review without a permission. It limits them to 80 in a second of strangers, and to 160 of
/// known callers, also where an API server says that it has too much to do.
const PAUSE: Duration = Duration::from_millis(50);

/// Who asks for a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reviewed {
    /// A caller to whom something was allowed, or whose certificate a CA has signed.
    KnownCaller,
    /// A new token of a host with other callers to whom something was allowed.
    KnownPeer,
    Stranger,
}

/// All places.
#[derive(Debug)]
pub(super) struct ReviewPlaces {
    of_known_callers: Places,
    of_known_peers: Places,
    of_strangers: Places,
    /// Requests with new tokens that gave way to others.
    evicted: Counter,
}

/// A place until it is dropped.
#[derive(Debug)]
pub(super) struct ReviewPlace(Place);

impl ReviewPlaces {
    pub(crate) fn new(health: &Health) -> Self {
        Self {
            of_known_callers: caller_places::in_turns(OF_KNOWN_CALLERS, KNOWN_WAITING),
            of_known_peers: caller_places::in_turns(OF_KNOWN_PEERS, WAITING),
            of_strangers: caller_places::in_turns(OF_STRANGERS, WAITING),
            evicted: health.evictions(LISTENER, "access-reviews"),
        }
    }

    /// A place for a review of a caller, once there is one; `None`: too many wait, or it took too long.
    pub(crate) async fn take(
        &self,
        exchange: &Exchange,
        reviewed: Reviewed,
        caller: CallerDigest,
    ) -> Option<ReviewPlace> {
        let Exchange { peer, activity, .. } = exchange;
        let places = match reviewed {
            // The API server knows the caller, wherever it is.
            Reviewed::KnownCaller => {
                return caller_places::wait(&self.of_known_callers, caller).await.map(ReviewPlace);
            }
            Reviewed::KnownPeer => &self.of_known_peers,
            Reviewed::Stranger => &self.of_strangers,
        };
        if reviewed == Reviewed::Stranger {
            // It must not keep a place from others while it waits.
            activity.set(ActivityStage::Unknown);
        }
        let place = timeout(caller_places::WAIT, places.wait(peer, caller, 1)).await;
        activity.set(ActivityStage::Computing);
        if let Ok(Err(NoPlace)) = place {
            self.evicted.inc();
            if reviewed == Reviewed::Stranger {
                // A connection with many such requests is closed.
                activity.evict();
            }
        }
        place.ok()?.ok().map(ReviewPlace)
    }
}

impl ReviewPlace {
    /// Gives the place back a moment after a refusal or a failure.
    pub(super) fn give_back_later(self) {
        tokio::spawn(async move {
            sleep(PAUSE).await;
            drop(self.0);
        });
    }
}

#[cfg(test)]
mod tests {
    use std::{net::SocketAddr, sync::Arc};

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

    fn caller(number: usize) -> CallerDigest {
        CallerDigest::from_hex(&format!("{number:064x}")).unwrap()
    }

    /// One token that is refused again and again does not delay another one of its kind.
    #[tokio::test(start_paused = true)]
    async fn tokens_of_one_kind_take_turns() {
        let places = ReviewPlaces::new(&Health::default());
        for reviewed in [Reviewed::KnownCaller, Reviewed::KnownPeer, Reviewed::Stranger] {
            let mut held = Vec::new();
            while let Some(place) = places.take(&exchange(1), reviewed, caller(1)).now_or_never().flatten() {
                held.push(place);
            }
            assert!(held.len() >= 2, "{reviewed:?}");
            let other = places.take(&exchange(2), reviewed, caller(2)).now_or_never().flatten();
            assert!(other.is_some(), "{reviewed:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn callers_to_whom_something_was_allowed_do_not_wait_for_strangers() {
        let (places, stranger) = (ReviewPlaces::new(&Health::default()), exchange(1));
        let mut held = Vec::new();
        for number in 0..OF_STRANGERS {
            held.push(places.take(&stranger, Reviewed::Stranger, caller(number)).await.unwrap());
        }
        let other = exchange(2);
        let late = || places.take(&other, Reviewed::Stranger, caller(99));
        assert!(late().now_or_never().is_none(), "a stranger waits");
        for known in [Reviewed::KnownCaller, Reviewed::KnownPeer] {
            let place = places.take(&exchange(3), known, caller(98)).now_or_never().flatten();
            assert!(place.is_some(), "{known:?}");
        }
        assert!(late().await.is_none(), "and not forever");
    }

    #[tokio::test(start_paused = true)]
    async fn of_many_that_wait_the_client_with_the_most_gives_way() {
        let places = Arc::new(ReviewPlaces::new(&Health::default()));
        let wait = |peer: u8, number: usize| {
            let (places, exchange) = (places.clone(), exchange(peer));
            let activity = exchange.activity.clone();
            (activity, tokio::spawn(async move { places.take(&exchange, Reviewed::Stranger, caller(number)).await }))
        };
        let mut held = Vec::new();
        for number in 0..OF_STRANGERS {
            held.push(places.take(&exchange(1), Reviewed::Stranger, caller(number)).await.unwrap());
        }
        let greedy: Vec<_> = (0..2 * WAITING).map(|number| wait(1, 100 + number)).collect();
        // Paused time goes on when no task can.
        sleep(Duration::from_millis(1)).await;
        let (modest, place) = wait(2, 99);
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
        for number in 0..OF_STRANGERS {
            places.take(&stranger, Reviewed::Stranger, caller(number)).await.unwrap().give_back_later();
        }
        assert!(places.take(&stranger, Reviewed::Stranger, caller(99)).now_or_never().is_none());
        advance(PAUSE * 2).await;
        assert!(places.take(&stranger, Reviewed::Stranger, caller(99)).await.is_some());
    }
}
