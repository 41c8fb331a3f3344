//! The standings of the peers of a listener: the credit of those whose requests were answered, and those that are barred for
//! a moment.
//!
//! Connections of peers with credit are the last to be evicted. A peer that begins many requests and completes none is barred:
//! to refuse a connection costs nothing, while each handshake and each head costs the server more than the client.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use roster_engine::model::HashSeed;
use tokio::time::Instant;

use super::peer::Peer;

/// The credit of one answered request, and the most that a peer has.
const ONE: Duration = Duration::from_secs(10);
const MOST: Duration = Duration::from_mins(1);
/// Nearly the most: the credit of a peer with many reviews is not updated for each of them.
const ENOUGH: Duration = Duration::from_millis(59_500);
/// From so much credit on, a peer has much of it: it has sent requests for a while, and not only one of each kind.
const MUCH: Duration = Duration::from_secs(30);
/// The most peers with credit. Without a bound, clients that change their address would fill the memory.
const PEERS: usize = 1024;

/// How long a peer is barred.
const BARRED: Duration = Duration::from_secs(2);

/// How much credit a peer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Credit {
    None,
    Some,
    /// A flood earns it only by being served as often as those that it would displace.
    Much,
}

/// Until when each peer has credit, or is barred. A clone is the same table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Standings(Arc<StandingsShared>);

#[derive(Debug, Default)]
struct StandingsShared {
    credit: Mutex<PeerTimes>,
    barred: Mutex<PeerTimes>,
}

/// The end of something for each peer.
#[derive(Debug, Default)]
struct PeerTimes {
    until: HashMap<Peer, Instant, HashSeed>,
    /// The peer whose time ends first is the first.
    ends: BTreeSet<(Instant, Peer)>,
}

impl Standings {
    /// Gives credit for an answered request. It expires: a peer keeps what it earned in the last minute.
    pub(crate) fn earn(&self, peer: Peer) {
        let now = Instant::now();
        update(&self.0.credit, peer, |until| match until {
            Some(until) if until > now + ENOUGH => until,
            until => (until.map_or(now, |until| until.max(now)) + ONE).min(now + MOST),
        });
    }

    /// Takes all credit of a peer away.
    pub(super) fn forfeit(&self, peer: Peer) {
        let mut credit = self.0.credit.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(until) = credit.until.remove(&peer) {
            credit.ends.remove(&(until, peer));
        }
    }

    /// Bars a peer for a moment.
    pub(super) fn bar(&self, peer: Peer) {
        let now = Instant::now();
        update(&self.0.barred, peer, |_| now + BARRED);
    }

    /// Whether connections of a peer are refused: it is barred, and has no credit.
    pub(super) fn is_barred(&self, peer: Peer) -> bool {
        let now = Instant::now();
        !rest(&self.0.barred, peer, now).is_zero() && !self.has_credit(peer, now)
    }

    /// Whether a peer has credit.
    pub(super) fn has_credit(&self, peer: Peer, now: Instant) -> bool {
        self.credit(peer, now) > Credit::None
    }

    /// How much credit a peer has.
    pub(super) fn credit(&self, peer: Peer, now: Instant) -> Credit {
        match rest(&self.0.credit, peer, now) {
            Duration::ZERO => Credit::None,
            rest if rest < MUCH => Credit::Some,
            _ => Credit::Much,
        }
    }
}

/// How long the time of a peer still lasts.
fn rest(times: &Mutex<PeerTimes>, peer: Peer, now: Instant) -> Duration {
    let times = times.lock().unwrap_or_else(PoisonError::into_inner);
    times.until.get(&peer).map_or(Duration::ZERO, |until| until.saturating_duration_since(now))
}

/// Sets the time of a peer. If there is no room for one more, the peer whose time ends first makes room: a client that
/// sends one review from each of many addresses outlives none that sends reviews all the time.
fn update(times: &Mutex<PeerTimes>, peer: Peer, change: impl FnOnce(Option<Instant>) -> Instant) {
    let mut times = times.lock().unwrap_or_else(PoisonError::into_inner);
    let PeerTimes { until, ends } = &mut *times;
    let before = until.get(&peer).copied();
    let after = change(before);
    match before {
        Some(before) if before == after => return,
        Some(before) => {
            ends.remove(&(before, peer));
        }
        None if until.len() >= PEERS => {
            if let Some((_, first)) = ends.pop_first() {
                until.remove(&first);
            }
        }
        None => {}
    }
    until.insert(peer, after);
    ends.insert((after, peer));
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_peer_is_barred_for_a_moment_unless_it_has_credit() {
        let (standings, peer) = (Standings::default(), Peer::of(SocketAddr::from(([10, 0, 0, 1], 0))));
        assert!(!standings.is_barred(peer));
        standings.bar(peer);
        assert!(standings.is_barred(peer));
        standings.earn(peer);
        assert!(!standings.is_barred(peer));
        standings.forfeit(peer);
        assert!(standings.is_barred(peer));
        standings.earn(peer);
        advance(ONE).await;
        standings.bar(peer);
        assert!(standings.is_barred(peer));
        advance(BARRED).await;
        assert!(!standings.is_barred(peer));
    }

    #[tokio::test(start_paused = true)]
    async fn credit_expires_and_has_bounds() {
        let (standings, peer) = (Standings::default(), |n: u32| Peer::of(SocketAddr::from((n.to_be_bytes(), 0))));
        let has = |n| standings.has_credit(peer(n), Instant::now());
        assert!(!has(1));
        standings.earn(peer(1));
        assert!(has(1) && !has(2));
        advance(ONE).await;
        assert!(!has(1));
        for _ in 0..100 {
            standings.earn(peer(1));
        }
        advance(Duration::from_secs(59)).await;
        assert!(has(1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_table_forgets_the_least_credit() {
        let (standings, peer) = (Standings::default(), |n: u32| Peer::of(SocketAddr::from((n.to_be_bytes(), 0))));
        let has = |n| standings.has_credit(peer(n), Instant::now());
        standings.earn(peer(1));
        standings.earn(peer(1));
        for n in 2..5000 {
            advance(Duration::from_millis(1)).await;
            standings.earn(peer(n));
        }
        assert!(has(1) && !has(2) && !has(5000 - 1024) && has(5000 - 1023) && has(4999));
        // A new peer finds room at once.
        standings.earn(peer(5000));
        assert!(has(1) && has(5000));
    }
}
