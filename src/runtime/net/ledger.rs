//! A ledger: who holds how much of something scarce, and who gives it back when all of it is taken.
//!
//! Places for connections, places for requests and memory for bodies follow one rule. A client that reaches a port can ask for
//! all there is of each. So none of them is first come, first served: what a peer lacks is taken from the peer that
//! holds the most, and of what this one holds, from the least progress.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::time::Instant;

use super::{
    activity::Activity,
    eviction_choice::{EvictionChoice, Victims},
    ledger_metrics::LedgerMetrics,
    peer::Peer,
    standings::{Credit, Standings},
};

/// How much there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LedgerLimits {
    /// All of it.
    pub(crate) total: u64,
    /// What is left to peers that hold little; half of it, to those of them that have credit.
    pub(crate) reserve: u64,
    /// The most that a peer may hold of the reserve.
    pub(crate) little: u64,
    /// The same for a peer with credit, as far as others give it back.
    pub(crate) little_with_credit: u64,
}

impl LedgerLimits {
    /// An eighth of `total` is left to peers that hold at most a 64th of it.
    pub(crate) fn of(total: u64) -> Self {
        Self { total, reserve: total / 8, little: (total / 64).max(1), little_with_credit: (total / 8).max(1) }
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
    entries: Mutex<Entries>,
    metrics: LedgerMetrics,
}

/// The peer, and the number of the entry.
pub(super) type EntryKey = (Peer, u64);

/// An amount that is held.
#[derive(Debug)]
pub(super) struct LedgerEntry {
    pub(super) amount: u64,
    pub(super) activity: Arc<Activity>,
}

#[derive(Debug)]
struct Entries {
    limits: LedgerLimits,
    standings: Standings,
    used: u64,
    next: u64,
    all: BTreeMap<EntryKey, LedgerEntry>,
    /// The peers that hold anything.
    peers: BTreeMap<Peer, PeerEntry>,
    /// Those that hold more than little, by amount: there is only enough for a few.
    rich: BTreeSet<(u64, Peer)>,
    /// The next victims among the others.
    choice: EvictionChoice,
}

#[derive(Debug, Default)]
struct PeerEntry {
    amount: u64,
    /// The next victims among its entries.
    choice: EvictionChoice,
}

/// An amount that is held until it is dropped, or evicted.
#[derive(Debug)]
pub(crate) struct Holding {
    ledger: Ledger,
    key: EntryKey,
}

impl Ledger {
    pub(crate) fn new(limits: LedgerLimits, standings: Standings, metrics: LedgerMetrics) -> Self {
        let (all, peers, rich, choice) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new(), EvictionChoice::default());
        let entries = Entries { limits, standings, used: 0, next: 0, all, peers, rich, choice };
        Self(Arc::new(LedgerShared { entries: Mutex::new(entries), metrics }))
    }

    /// Takes `amount` for `activity`, from others if there is too little. `None`: nobody has to give it back, which counts as
    /// a refusal.
    pub(crate) fn take(&self, peer: Peer, amount: u64, activity: &Arc<Activity>) -> Option<Holding> {
        let holding = self.take_from(Victims::All, peer, amount, activity);
        self.counted(holding.is_some());
        holding
    }

    /// The same at the expense of some only. To get nothing does not count as a refusal yet.
    pub(super) fn take_from(
        &self,
        victims: Victims,
        peer: Peer,
        amount: u64,
        activity: &Arc<Activity>,
    ) -> Option<Holding> {
        let mut entries = self.lock();
        let key = (peer, entries.next);
        entries.next += 1;
        let (has_room, evicted) = entries.make_room(key, amount, victims);
        if has_room {
            entries.all.insert(key, LedgerEntry { amount: 0, activity: activity.clone() });
            entries.set(key, amount);
        }
        drop(entries);
        self.end(evicted);
        has_room.then(|| Holding { ledger: self.clone(), key })
    }

    /// Whether more than half of it is held.
    pub(crate) fn is_scarce(&self) -> bool {
        let entries = self.lock();
        entries.used > entries.limits.total / 2
    }

    #[cfg(test)]
    pub(crate) fn used(&self) -> u64 {
        self.lock().used
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.0.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts one that got nothing. Returns whether it `got` something.
    pub(super) fn counted(&self, got: bool) -> bool {
        if !got {
            self.0.metrics.refused.inc();
        }
        got
    }

    /// Ends those that were evicted, without the lock, and counts.
    fn end(&self, evicted: Vec<LedgerEntry>) {
        for entry in evicted {
            self.0.metrics.evicted.inc();
            entry.activity.evict();
        }
    }
}

impl Holding {
    /// Changes the amount, and takes more from nobody with credit for a peer without. `false`: there is not so much, or it was
    /// evicted; the holding is as before, and this counts as a refusal.
    pub(crate) fn resize(&self, amount: u64) -> bool {
        self.ledger.counted(self.resize_from(Victims::WithoutCredit, amount))
    }

    /// The same at the expense of these. To get nothing does not count as a refusal yet.
    pub(super) fn resize_from(&self, victims: Victims, amount: u64) -> bool {
        let mut entries = self.ledger.lock();
        let Some(before) = entries.all.get(&self.key).map(|entry| entry.amount) else { return false };
        let (has_room, evicted) =
            if amount > before { entries.make_room(self.key, amount - before, victims) } else { (true, Vec::new()) };
        if has_room {
            entries.set(self.key, amount);
        }
        drop(entries);
        self.ledger.end(evicted);
        has_room
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        let gone = self.ledger.lock().remove(self.key);
        drop(gone);
    }
}

impl Entries {
    /// Sets the amount of an entry.
    fn set(&mut self, key: EntryKey, amount: u64) {
        let Some(entry) = self.all.get_mut(&key) else { return };
        let less = std::mem::replace(&mut entry.amount, amount);
        let (peer, little) = (key.0, self.limits.little);
        let of_peer = self.peers.entry(peer).or_default();
        let before = of_peer.amount;
        let after = before - less + amount;
        of_peer.amount = after;
        if after == 0 {
            self.peers.remove(&peer);
        }
        self.used = self.used - less + amount;
        if before > little {
            self.rich.remove(&(before, peer));
        }
        if after > little {
            self.rich.insert((after, peer));
        }
    }

    fn remove(&mut self, key: EntryKey) -> Option<LedgerEntry> {
        self.set(key, 0);
        self.all.remove(&key)
    }

    /// Evicts some of the `victims` until the peer can have `more` for an entry, and tells whether it can.
    fn make_room(&mut self, key: EntryKey, more: u64, victims: Victims) -> (bool, Vec<LedgerEntry>) {
        let mut evicted = Vec::new();
        loop {
            let wanted = self.peers.get(&key.0).map_or(0, |of_peer| of_peer.amount) + more;
            let reserve = match wanted > self.limits.little {
                true => self.limits.reserve,
                // What is being computed cannot be evicted: those that come back would find none.
                false if !self.standings.has_credit(key.0, Instant::now()) => self.limits.reserve / 2,
                false => 0,
            };
            if self.used + more <= self.limits.total - reserve {
                return (true, evicted);
            }
            if victims == Victims::Nobody {
                return (false, evicted);
            }
            let Some(victim) = self.victim(key, wanted, victims) else { return (false, evicted) };
            evicted.extend(self.remove(victim));
        }
    }

    /// The entry to evict for another one, whose peer will hold `wanted`. No peer gives anything to one that holds more.
    fn victim(&mut self, key: EntryKey, wanted: u64, victims: Victims) -> Option<EntryKey> {
        let Self { limits, standings, all, peers, rich, choice, .. } = self;
        let (all, now) = (&*all, Instant::now());
        let has_credit = |peer: &Peer| standings.has_credit(*peer, now);
        let victims = if has_credit(&key.0) { Victims::All } else { victims };
        let wanted = limits.weight(wanted, has_credit(&key.0));
        for (amount, peer) in rich.iter().rev().take_while(|(amount, _)| *amount >= wanted) {
            if limits.weight(*amount, has_credit(peer)) > limits.little
                && let Some(victim) = peers.get_mut(peer).and_then(|of_peer| of_peer.victim(*peer, all, key, now))
            {
                return Some(victim);
            }
        }
        if wanted <= limits.little {
            // Those that hold little are equal, and credit decides.
            let little = peers.iter().map(|(peer, of_peer)| (*peer, of_peer.amount, standings.credit(*peer, now)));
            let is_little = |amount, credit| limits.weight(amount, credit > Credit::None) <= limits.little;
            let little = little.filter(|(_, amount, credit)| is_little(*amount, *credit));
            let offered = little.flat_map(|(peer, _, credit)| of(peer, all).map(move |e| (credit, e)));
            if let Some(victim) = choice.next(all, key, now, victims, offered) {
                return Some(victim);
            }
        }
        peers.get_mut(&key.0)?.victim(key.0, all, key, now)
    }
}

impl PeerEntry {
    /// The entry of this peer to evict for `key`.
    fn victim(
        &mut self,
        peer: Peer,
        all: &BTreeMap<EntryKey, LedgerEntry>,
        key: EntryKey,
        now: Instant,
    ) -> Option<EntryKey> {
        self.choice.next(all, key, now, Victims::All, of(peer, all).map(|entry| (Credit::None, entry)))
    }
}

/// The entries of a peer that hold anything.
fn of(peer: Peer, all: &BTreeMap<EntryKey, LedgerEntry>) -> impl Iterator<Item = (&EntryKey, &LedgerEntry)> {
    all.range((peer, 0)..=(peer, u64::MAX)).filter(|(_, entry)| entry.amount > 0)
}

#[cfg(test)]
mod tests {
    use std::{net::SocketAddr, time::Duration};

    use tokio::time::advance;

    use super::{
        super::activity::{ARRIVING, ActivityStage},
        *,
    };

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
        use ActivityStage::{Computing, Idle, Receiving, Responding, Unknown};
        let rows: [(&str, &[_], &str, &str); 9] = [
            ("enough for all", &[("a", 6, Idle), ("b", 2, Idle)], "", ""),
            ("the oldest of the largest", &[("a1", 4, Idle), ("a2", 4, Idle), ("b", 2, Idle)], "", "a1"),
            ("the least advanced", &[("a1", 4, Receiving), ("a2", 4, Unknown), ("b", 2, Idle)], "", "a2"),
            ("nothing that is complete", &[("a1", 4, Computing), ("a2", 4, Computing), ("b", 2, Idle)], "b", ""),
            ("no response that moves", &[("a1", 4, Responding), ("a2", 4, Receiving), ("b", 2, Idle)], "", "a2"),
            ("its own, if it holds the most", &[("a1", 8, Idle), ("b", 1, Idle), ("a2", 7, Idle)], "", "a1"),
            ("nothing for who would hold the most", &[("a", 4, Idle), ("b", 7, Idle)], "b", ""),
            ("the reserve is for little", &[("a", 9, Idle), ("b", 8, Idle), ("c", 1, Idle)], "a", ""),
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
            vec![("g1", 1, ActivityStage::Idle), ("g2", 1, ActivityStage::Idle), ("g3", 1, ActivityStage::Unknown)];
        for name in ["a", "b", "c", "d", "e", "f", "h", "i", "j"] {
            wanted.push((name, 1, ActivityStage::Unknown));
        }
        let all = take(&ledger, &wanted).await;
        // There are places for nine of twelve, and one more for g. The oldest without credit go, although g holds the most,
        // and has an older one.
        assert_eq!(losers(&all).await, (String::new(), "abc".to_owned()));
    }

    /// Each host of a flood may have earned something by one request.
    #[tokio::test(start_paused = true)]
    async fn who_has_much_credit_goes_after_who_has_some() {
        let standings = Standings::default();
        (0..6).for_each(|_| standings.earn(peer("g")));
        for name in ["a", "b", "c", "d", "e", "f", "h", "i", "j", "k"] {
            standings.earn(peer(name));
        }
        let ledger = Ledger::new(TEN, standings, LedgerMetrics::default());
        let wanted = ["g", "a", "b", "c", "d", "e", "f", "h", "i", "j", "k"];
        let all = take(&ledger, &wanted.map(|name| (name, 1, ActivityStage::Opening))).await;
        assert_eq!(losers(&all).await, (String::new(), "a".to_owned()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_connection_has_a_moment_to_send_its_request() {
        let ledger = Ledger::new(TEN, Standings::default(), LedgerMetrics::default());
        let idle = take(&ledger, &["a", "b", "c", "d", "e", "f", "h"].map(|name| (name, 1, ActivityStage::Idle))).await;
        let new = take(&ledger, &[("g", 1, ActivityStage::Unknown), ("i", 1, ActivityStage::Unknown)]).await;
        let _next = take(&ledger, &[("j", 1, ActivityStage::Idle)]).await;
        assert_eq!((losers(&idle).await.1, losers(&new).await.1), ("a".to_owned(), String::new()));
        advance(ARRIVING).await;
        let _late = take(&ledger, &[("k", 1, ActivityStage::Idle)]).await;
        assert_eq!((losers(&idle).await.1, losers(&new).await.1), ("a".to_owned(), "g".to_owned()));
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_begun_to_speak_keeps_its_place_among_those_who_say_nothing() {
        let ledger = Ledger::new(TEN, Standings::default(), LedgerMetrics::default());
        let speaks = take(&ledger, &[("a", 1, ActivityStage::Opening)]).await;
        advance(ARRIVING).await;
        let silent = take(&ledger, &[("a", 1, ActivityStage::Unknown); 40]).await;
        assert_eq!(losers(&speaks).await, (String::new(), String::new()));
        assert_eq!(losers(&silent).await.1.len(), 33);
        advance(Duration::from_secs(1)).await;
        let _idle = take(&ledger, &[("a", 1, ActivityStage::Idle); 8]).await;
        assert_eq!(losers(&speaks).await.1, "a", "it has not said enough");
    }

    #[tokio::test(start_paused = true)]
    async fn a_part_is_left_to_peers_with_credit() {
        use ActivityStage::Computing;
        let standings = Standings::default();
        standings.earn(peer("g"));
        let ledger = Ledger::new(TEN, standings, LedgerMetrics::default());
        let flood = ["a", "b", "c", "d", "e", "f", "h", "i", "j", "k"].map(|name| (name, 1, Computing));
        let all = take(&ledger, &flood).await;
        assert_eq!(losers(&all).await, ("k".to_owned(), String::new()));
        let came_back = take(&ledger, &[("g1", 1, Computing), ("g2", 1, Computing)]).await;
        assert_eq!(losers(&came_back).await, ("g2".to_owned(), String::new()));
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

    #[tokio::test(start_paused = true)]
    async fn a_flood_reads_all_entries_once_for_many_victims() {
        use Victims::{All, WithoutCredit};
        for (stage, credit, victims, arrivals, evicted, reads) in [
            (ActivityStage::Idle, Credit::None, All, 64, 64, 1000),
            (ActivityStage::Idle, Credit::None, All, 65, 65, 1000 + 936),
            (ActivityStage::Computing, Credit::None, All, 100, 0, 1000),
            (ActivityStage::Idle, Credit::Some, All, 64, 64, 1000),
            (ActivityStage::Idle, Credit::Some, WithoutCredit, 100, 0, 1000),
            (ActivityStage::Idle, Credit::None, WithoutCredit, 64, 64, 1000),
        ] {
            let entry = |id| {
                let activity = Activity::connection();
                activity.set(stage);
                ((peer("a"), id), LedgerEntry { amount: 1, activity })
            };
            let mut all: BTreeMap<EntryKey, LedgerEntry> = (0..1000).map(entry).collect();
            let (mut choice, mut read) = (EvictionChoice::default(), 0);
            for _ in 0..arrivals {
                let offered = all.iter().map(|entry| (credit, entry)).inspect(|_| read += 1);
                if let Some(victim) = choice.next(&all, (peer("b"), 0), Instant::now(), victims, offered) {
                    all.remove(&victim);
                }
            }
            assert_eq!((1000 - all.len(), read), (evicted, reads), "{stage:?} {credit:?} {victims:?} {arrivals}");
        }
    }

    /// Peers that hold little give way to none that holds more, and to others when no richer one can.
    #[tokio::test(start_paused = true)]
    async fn the_richest_gives_first() {
        use ActivityStage::{Computing, Idle};
        let limits = LedgerLimits { total: 10, reserve: 0, little: 2, little_with_credit: 2 };
        let rows: [(&str, &[_], &str, &str); 3] = [
            ("the richest", &[("a", 2, Idle), ("b", 3, Idle), ("c", 5, Idle), ("d", 1, Idle)], "", "c"),
            ("the next one", &[("a", 2, Idle), ("b", 3, Idle), ("c", 5, Computing), ("d", 1, Idle)], "", "b"),
            ("little", &[("a", 2, Idle), ("b", 3, Computing), ("c", 5, Computing), ("d", 1, Idle)], "", "a"),
        ];
        for (name, wanted, refused, evicted) in rows {
            let ledger = Ledger::new(limits, Standings::default(), LedgerMetrics::default());
            let all = take(&ledger, wanted).await;
            assert_eq!(losers(&all).await, (refused.to_owned(), evicted.to_owned()), "{name}");
        }
    }
}
