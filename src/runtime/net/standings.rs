//! Credit of peers whose reviews were answered, and the peers that are barred for a moment.
//!
//! Connections of peers with credit are the last to be evicted. A peer that begins many requests and completes none is barred:
//! to refuse a connection costs nothing, while each handshake and each head costs the server more than the client.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::peer::Peer;

/// The credit of one answered review, and the most that a peer has.
const ONE: Duration = Duration::from_secs(10);
const MOST: Duration = Duration::from_mins(1);
/// The most peers with credit. Without a bound, clients that change their address would fill the memory.
const PEERS: usize = 1024;

/// How long a peer is barred.
const BARRED: Duration = Duration::from_secs(2);

/// Until when each peer has credit, or is barred. A clone is the same account.
#[derive(Clone, Debug, Default)]
pub(crate) struct Credits {
    credit: Arc<Mutex<HashMap<Peer, Instant>>>,
    barred: Arc<Mutex<HashMap<Peer, Instant>>>,
}

impl Credits {
    /// Gives credit for an answered review. It expires: a peer keeps what it earned in the last minute.
    pub(crate) fn earn(&self, peer: Peer) {
        let now = Instant::now();
        update(&self.credit, peer, now, |until| (until.max(now) + ONE).min(now + MOST));
    }

    /// Bars a peer for a moment.
    pub(super) fn bar(&self, peer: Peer) {
        let now = Instant::now();
        update(&self.barred, peer, now, |_| now + BARRED);
    }

    /// Whether connections of a peer are refused: it is barred, and has no credit.
    pub(super) fn is_barred(&self, peer: Peer) -> bool {
        let now = Instant::now();
        is_before(&self.barred, peer, now) && !self.has(peer, now)
    }

    /// Whether a peer has credit.
    pub(super) fn has(&self, peer: Peer, now: Instant) -> bool {
        is_before(&self.credit, peer, now)
    }
}

fn is_before(times: &Mutex<HashMap<Peer, Instant>>, peer: Peer, now: Instant) -> bool {
    times.lock().unwrap_or_else(PoisonError::into_inner).get(&peer).is_some_and(|until| now < *until)
}

/// Sets the time of a peer, if there is room for one more.
fn update(times: &Mutex<HashMap<Peer, Instant>>, peer: Peer, now: Instant, change: impl FnOnce(Instant) -> Instant) {
    let mut times = times.lock().unwrap_or_else(PoisonError::into_inner);
    if times.len() >= PEERS && !times.contains_key(&peer) {
        times.retain(|_, until| *until > now);
        if times.len() >= PEERS {
            return;
        }
    }
    let until = times.entry(peer).or_insert(now);
    *until = change(*until);
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_peer_is_barred_for_a_moment_unless_it_has_credit() {
        let (credits, peer) = (Credits::default(), Peer::of(SocketAddr::from(([10, 0, 0, 1], 0))));
        assert!(!credits.is_barred(peer));
        credits.bar(peer);
        assert!(credits.is_barred(peer));
        credits.earn(peer);
        assert!(!credits.is_barred(peer));
        advance(ONE).await;
        credits.bar(peer);
        assert!(credits.is_barred(peer));
        advance(BARRED).await;
        assert!(!credits.is_barred(peer));
    }

    #[tokio::test(start_paused = true)]
    async fn credit_expires_and_has_bounds() {
        let (credits, peer) = (Credits::default(), |n: u32| Peer::of(SocketAddr::from((n.to_be_bytes(), 0))));
        let has = |n| credits.has(peer(n), Instant::now());
        assert!(!has(1));
        credits.earn(peer(1));
        assert!(has(1) && !has(2));
        advance(ONE).await;
        assert!(!has(1));
        for _ in 0..100 {
            credits.earn(peer(1));
        }
        advance(Duration::from_secs(59)).await;
        assert!(has(1));
        for n in 2..5000 {
            credits.earn(peer(n));
        }
        assert!(has(1) && has(1024) && !has(1025));
        advance(ONE).await;
        credits.earn(peer(1025));
        assert!(!has(1) && !has(1024) && has(1025));
    }
}
