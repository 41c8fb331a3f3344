//! A ledger: who holds how much of something scarce, and who gives it back when all of it is taken.
//!
//! Places for connections, places for requests and memory for bodies follow one rule. A client that reaches a port can ask for
//! all there is of each. So none of them is first come, first served: what a peer lacks is taken from the peer that
//! holds the most, and of what this one holds, from the least progress.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::{
    activity::{Activity, ActivityStage, EvictionRank},
    ledger_metrics::LedgerMetrics,
    peer::Peer,
    standings::Standings,
};

/// How many victims are chosen at once, and how long the choice holds: choosing reads the whole ledger.
const CHOICE: usize = 64;
const CHOICE_AGE: Duration = Duration::from_millis(50);

/// How much there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LedgerLimits {
    /// All of it.
    pub(crate) total: u64,
    /// What is left to peers that hold little.
    pub(crate) reserve: u64,
    /// The most that a peer may hold of the reserve.
    pub(crate) little: u64,
    /// The same for a peer with credit, as far as others give it back.
    pub(crate) little_with_credit: u64,
}

impl LedgerLimits {
    /// An eighth of `total` is left to peers that hold at most a 64th of it.
    pub(crate) fn of(total: u64) -> Self {
        Self { total, reserve: total / 8, little: (total / 64).max(1), little_with_credit: (total / 16).max(1) }
    }

    /// What a peer counts as holding. Those that hold little count as equal: a thousand hosts with a connection each must
    /// not outrank an API server with twenty.
    fn weight(&self, amount: u64, has_credit: bool) -> u64 {
        let little = if has_credit { self.little_with_credit } else { self.little };
        if amount <= little { self.little } else { amount }
    }
}

/// A ledger. A clone is the same ledger.
#[derive(Clone, Debug)]
pub(crate) struct Ledger(Arc<LedgerShared>);

#[derive(Debug)]
struct LedgerShared {
    limits: LedgerLimits,
    standings: Standings,
    entries: Mutex<Entries>,
    metrics: LedgerMetrics,
}

#[derive(Debug, Default)]
struct Entries {
    used: u64,
    next: u64,
    peers: BTreeMap<Peer, PeerEntries>,
    choice: Vec<Candidate>,
    chosen: Option<Instant>,
}

#[derive(Debug, Default)]
struct PeerEntries {
    amount: u64,
    entries: BTreeMap<u64, Entry>,
}

#[derive(Debug)]
struct Entry {
    amount: u64,
    activity: Arc<Activity>,
}

/// An entry that may be evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    /// Of the peer, when the candidate was chosen.
    has_credit: bool,
    progress: ActivityStage,
    moved: Instant,
    peer: Peer,
    id: u64,
}

/// An amount that is held until it is dropped, or evicted.
#[derive(Debug)]
pub(crate) struct Holding {
    ledger: Ledger,
    peer: Peer,
    id: u64,
}

impl Ledger {
    pub(crate) fn new(limits: LedgerLimits, standings: Standings, metrics: LedgerMetrics) -> Self {
        Self(Arc::new(LedgerShared { limits, standings, entries: Mutex::default(), metrics }))
    }

    /// Takes `amount` for `activity`, from others if there is too little. `None`: nobody has to give it back.
    pub(crate) fn take(&self, peer: Peer, amount: u64, activity: &Arc<Activity>) -> Option<Holding> {
        let mut entries = self.lock();
        if !entries.make_room(&self.0, peer, amount, None) {
            self.0.metrics.refused.inc();
            return None;
        }
        let id = entries.next;
        entries.next += 1;
        entries.used += amount;
        let of_peer = entries.peers.entry(peer).or_default();
        of_peer.amount += amount;
        of_peer.entries.insert(id, Entry { amount, activity: activity.clone() });
        Some(Holding { ledger: self.clone(), peer, id })
    }

    /// Whether more than half of it is held.
    pub(crate) fn is_scarce(&self) -> bool {
        self.lock().used > self.0.limits.total / 2
    }

    #[cfg(test)]
    pub(crate) fn used(&self) -> u64 {
        self.lock().used
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.0.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Holding {
    /// Changes the amount. `false`: there is not so much, or it was evicted; the holding is as before.
    pub(crate) fn resize(&self, amount: u64) -> bool {
        let shared = &self.ledger.0;
        let mut entries = self.ledger.lock();
        let Some(before) = entries.amount_of(self.peer, self.id) else { return false };
        if amount > before && !entries.make_room(shared, self.peer, amount - before, Some(self.id)) {
            shared.metrics.refused.inc();
            return false;
        }
        entries.set(self.peer, self.id, amount);
        true
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        self.ledger.lock().remove(self.peer, self.id);
    }
}

impl Entries {
    fn held_by(&self, peer: Peer) -> u64 {
        self.peers.get(&peer).map_or(0, |p| p.amount)
    }

    fn amount_of(&self, peer: Peer, id: u64) -> Option<u64> {
        Some(self.peers.get(&peer)?.entries.get(&id)?.amount)
    }

    fn set(&mut self, peer: Peer, id: u64, amount: u64) {
        let Some(of_peer) = self.peers.get_mut(&peer) else { return };
        let Some(entry) = of_peer.entries.get_mut(&id) else { return };
        of_peer.amount = of_peer.amount - entry.amount + amount;
        self.used = self.used - entry.amount + amount;
        entry.amount = amount;
    }

    fn remove(&mut self, peer: Peer, id: u64) -> Option<Entry> {
        let of_peer = self.peers.get_mut(&peer)?;
        let entry = of_peer.entries.remove(&id)?;
        of_peer.amount -= entry.amount;
        self.used -= entry.amount;
        if of_peer.entries.is_empty() {
            self.peers.remove(&peer);
        }
        Some(entry)
    }

    /// Evicts until `peer` can have `more`. `but` is the entry that asks.
    fn make_room(&mut self, shared: &LedgerShared, peer: Peer, more: u64, but: Option<u64>) -> bool {
        loop {
            let wanted = self.held_by(peer) + more;
            let reserve = if wanted > shared.limits.little { shared.limits.reserve } else { 0 };
            if self.used + more <= shared.limits.total - reserve {
                return true;
            }
            let Some(victim) = self.victim(shared, peer, wanted, but) else { return false };
            if let Some(entry) = self.remove(victim.peer, victim.id) {
                shared.metrics.evicted.inc();
                entry.activity.evict();
            }
        }
    }

    /// The entry to evict for `peer`, which will hold `wanted`. No peer gives anything to one that holds more.
    fn victim(&mut self, shared: &LedgerShared, peer: Peer, wanted: u64, but: Option<u64>) -> Option<Candidate> {
        let now = Instant::now();
        let weight = |peer: Peer, amount: u64| shared.limits.weight(amount, shared.standings.has_credit(peer, now));
        let wanted = weight(peer, wanted);
        if self.peers.iter().all(|(peer, p)| weight(*peer, p.amount) < wanted) {
            // It holds the most itself.
            let own = self.peers.get(&peer)?.candidates(peer, false, now);
            return own.into_iter().map(|(c, _)| c).find(|c| Some(c.id) != but);
        }
        if self.chosen.is_none_or(|at| now.duration_since(at) > CHOICE_AGE) {
            self.choice.clear();
        }
        for fresh in [false, true] {
            if fresh {
                self.choose(shared, now);
            }
            while let Some(candidate) = self.choice.pop() {
                let of_peer = self.peers.get(&candidate.peer);
                let entry = of_peer.and_then(|p| p.entries.get(&candidate.id));
                let rank = EvictionRank { progress: candidate.progress, moved: candidate.moved };
                let unchanged = entry.is_some_and(|e| e.activity.rank(now) == Some(rank));
                let richer =
                    candidate.peer == peer || of_peer.is_some_and(|p| weight(candidate.peer, p.amount) >= wanted);
                if unchanged && richer && !(candidate.peer == peer && Some(candidate.id) == but) {
                    return Some(candidate);
                }
            }
        }
        None
    }

    /// Chooses the next victims; the first of them is the last.
    ///
    /// Evicting lowers what a peer holds, so that another one holds the most: the *n*th candidate of a peer has its turn when
    /// the peer holds what is left after the *n* before it.
    fn choose(&mut self, shared: &LedgerShared, now: Instant) {
        let mut all: Vec<(u64, Candidate)> = Vec::new();
        for (peer, of_peer) in &self.peers {
            let mut level = of_peer.amount;
            let has_credit = shared.standings.has_credit(*peer, now);
            for (candidate, amount) in of_peer.candidates(*peer, has_credit, now) {
                all.push((shared.limits.weight(level, has_credit), candidate));
                level -= amount;
            }
        }
        all.sort_unstable_by(|(level, a), (other, b)| other.cmp(level).then(a.cmp(b)));
        all.truncate(CHOICE);
        self.choice = all.into_iter().rev().map(|(_, candidate)| candidate).collect();
        self.chosen = Some(now);
    }
}

impl PeerEntries {
    /// The entries that may be evicted, in order, with their amounts.
    fn candidates(&self, peer: Peer, has_credit: bool, now: Instant) -> Vec<(Candidate, u64)> {
        let evictable = self.entries.iter().filter(|(_, entry)| entry.amount > 0);
        let ranked = evictable.filter_map(|(id, entry)| {
            let EvictionRank { progress, moved } = entry.activity.rank(now)?;
            Some((Candidate { progress, has_credit, moved, peer, id: *id }, entry.amount))
        });
        let mut all: Vec<_> = ranked.collect();
        all.sort_unstable();
        all
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use tokio::time::advance;

    use super::*;

    /// A holding that a test has by name, such as `a1`: the first of peer `a`.
    struct Named {
        name: &'static str,
        holding: Option<Holding>,
        activity: Arc<Activity>,
    }

    fn peer(name: &str) -> Peer {
        Peer::of(SocketAddr::from(([10, 0, 0, name.as_bytes().first().copied().unwrap_or(0)], 0)))
    }

    /// Takes what each of these wants, one after the other.
    async fn take(ledger: &Ledger, wanted: &[(&'static str, u64, ActivityStage)]) -> Vec<Named> {
        let mut all = Vec::new();
        for (name, amount, progress) in wanted {
            let activity = Activity::connection();
            activity.set(*progress);
            let holding = ledger.take(peer(name), *amount, &activity);
            all.push(Named { name, holding, activity });
            advance(Duration::from_millis(10)).await;
        }
        all
    }

    async fn is_evicted(activity: &Activity) -> bool {
        tokio::time::timeout(Duration::ZERO, activity.evicted()).await.is_ok()
    }

    /// The names of those that were refused, and of those that were evicted.
    async fn losers(all: &[Named]) -> (String, String) {
        let (mut refused, mut evicted) = (String::new(), String::new());
        for Named { name, holding, activity } in all {
            refused += if holding.is_none() { name } else { "" };
            evicted += if is_evicted(activity).await { name } else { "" };
        }
        (refused, evicted)
    }

    const TEN: LedgerLimits = LedgerLimits { total: 10, reserve: 2, little: 1, little_with_credit: 2 };

    #[tokio::test(start_paused = true)]
    async fn the_peer_that_holds_the_most_gives_back_what_is_least_advanced() {
        use ActivityStage::{Computing, Idle, Opening, Receiving, Responding};
        let rows: [(&str, &[_], &str, &str); 9] = [
            ("enough for all", &[("a", 6, Idle), ("b", 2, Idle)], "", ""),
            ("the oldest of the largest", &[("a1", 4, Idle), ("a2", 4, Idle), ("b", 2, Idle)], "", "a1"),
            ("the least advanced", &[("a1", 4, Receiving), ("a2", 4, Opening), ("b", 2, Idle)], "", "a2"),
            ("nothing that is complete", &[("a1", 4, Computing), ("a2", 4, Computing), ("b", 2, Idle)], "b", ""),
            ("no response that moves", &[("a1", 4, Responding), ("a2", 4, Receiving), ("b", 2, Idle)], "", "a2"),
            ("its own, if it holds the most", &[("a1", 8, Idle), ("b", 1, Idle), ("a2", 7, Idle)], "", "a1"),
            ("nothing for who would hold the most", &[("a", 4, Idle), ("b", 7, Idle)], "b", ""),
            ("the reserve is for little", &[("a", 9, Idle), ("b", 8, Idle), ("c", 1, Idle), ("d", 1, Idle)], "a", ""),
            ("more than there is", &[("a", 4, Idle), ("b", 11, Idle)], "b", ""),
        ];
        for (name, wanted, refused, evicted) in rows {
            let ledger = Ledger::new(TEN, Standings::default(), LedgerMetrics::default());
            let all = take(&ledger, wanted).await;
            assert_eq!(losers(&all).await, (refused.to_owned(), evicted.to_owned()), "{name}");
            drop(all);
            assert_eq!(ledger.used(), 0, "{name}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn peers_that_hold_little_are_equal_and_credit_decides() {
        let limits = LedgerLimits { total: 10, reserve: 2, little: 1, little_with_credit: 4 };
        let standings = Standings::default();
        standings.earn(peer("g"));
        let ledger = Ledger::new(limits, standings, LedgerMetrics::default());
        let mut wanted =
            vec![("g1", 1, ActivityStage::Idle), ("g2", 1, ActivityStage::Idle), ("g3", 1, ActivityStage::Opening)];
        for name in ["a", "b", "c", "d", "e", "f", "h", "i", "j"] {
            wanted.push((name, 1, ActivityStage::Opening));
        }
        let all = take(&ledger, &wanted).await;
        // There are places for ten of twelve. The oldest without credit go, although g holds the most, and has an older one.
        assert_eq!(losers(&all).await, (String::new(), "ab".to_owned()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_holding_grows_at_the_expense_of_others_and_never_of_itself() {
        let ledger = Ledger::new(TEN, Standings::default(), LedgerMetrics::default());
        let all = take(&ledger, &[("a1", 3, ActivityStage::Receiving), ("a2", 3, ActivityStage::Receiving)]).await;
        let second = all[1].holding.as_ref().unwrap();
        assert!(second.resize(5) && ledger.used() == 8);
        assert!(second.resize(6) && ledger.used() == 6, "the first gave way");
        assert!(!second.resize(9), "the reserve");
        assert!(second.resize(2) && ledger.used() == 2);
        assert!(!all[0].holding.as_ref().unwrap().resize(1), "it was evicted");
        assert_eq!(losers(&all).await, (String::new(), "a1".to_owned()));
    }
}
