//! Credit of peers whose reviews were answered: their connections are the last to be evicted.

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

/// Until when each peer has credit. A clone is the same account.
#[derive(Clone, Debug, Default)]
pub(crate) struct Credits(Arc<Mutex<HashMap<Peer, Instant>>>);

impl Credits {
    /// Gives credit for an answered review. It expires: a peer keeps what it earned in the last minute.
    pub(crate) fn earn(&self, peer: Peer) {
        let now = Instant::now();
        let mut until = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if until.len() >= PEERS && !until.contains_key(&peer) {
            until.retain(|_, until| *until > now);
            if until.len() >= PEERS {
                return;
            }
        }
        let credit = until.entry(peer).or_insert(now);
        *credit = ((*credit).max(now) + ONE).min(now + MOST);
    }

    /// Whether a peer has credit.
    pub(super) fn has(&self, peer: Peer, now: Instant) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&peer).is_some_and(|until| *until > now)
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use tokio::time::advance;

    use super::*;

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
        advance(MOST - Duration::from_secs(1)).await;
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
