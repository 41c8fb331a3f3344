//! The choice of victims: who of many gives back next what it holds.
//!
//! Activities change all the time without telling. So those that are chosen are looked up again before they are evicted.
//! To choose reads all entries, but only once for many victims.

use std::{collections::BTreeMap, time::Duration};

use tokio::time::Instant;

use super::{
    activity::EvictionRank,
    ledger::{EntryKey, LedgerEntry},
    standings::Credit,
};

/// How many victims are chosen at once, and how long the choice holds.
const CHOICE: usize = 64;
const CHOICE_AGE: Duration = Duration::from_millis(50);
/// How long nothing is chosen again after fewer were found, for each entry that was read, and at most: reading takes a small
/// part of the time.
const PAUSE_PER_ENTRY: Duration = Duration::from_micros(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(5);

/// The next victims.
#[derive(Debug, Default)]
pub(super) struct EvictionChoice {
    /// The first of them is the last.
    candidates: Vec<Candidate>,
    chosen: Option<Instant>,
    /// How long it takes until others are chosen when none is left.
    pause: Duration,
}

/// Whose entries may be evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Victims {
    /// Those of peers without credit before those with some, and these before those with much.
    All,
    /// Those of peers without credit only.
    WithoutCredit,
    /// None: there is room already.
    Nobody,
}

/// An entry that may be evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    /// Of the peer, when the candidate was chosen.
    credit: Credit,
    rank: EvictionRank,
    key: EntryKey,
}

impl EvictionChoice {
    /// The next of the `victims`, which gives way to `asks`: one of those that are `offered`, with the credit of their peers.
    pub(super) fn next<'a>(
        &mut self,
        all: &BTreeMap<EntryKey, LedgerEntry>,
        asks: EntryKey,
        now: Instant,
        victims: Victims,
        offered: impl Iterator<Item = (Credit, (&'a EntryKey, &'a LedgerEntry))>,
    ) -> Option<EntryKey> {
        let age = self.chosen.map(|at| now.duration_since(at));
        if age.is_none_or(|age| age > CHOICE_AGE) {
            self.candidates.clear();
        }
        let rank = |key: EntryKey| all.get(&key).and_then(|entry| entry.activity.rank(now));
        self.candidates.retain(|c| rank(c.key).is_some_and(|rank| rank.progress <= c.rank.progress));
        let may_go = |c: &Candidate| c.key != asks && (victims == Victims::All || c.credit == Credit::None);
        // One that has moved meanwhile keeps what it holds, unless all have.
        let unmoved = |c: &Candidate| may_go(c) && rank(c.key) == Some(c.rank);
        if let Some(victim) = self.take(unmoved).or_else(|| self.take(may_go)) {
            return Some(victim);
        }
        if age.is_some_and(|age| age < self.pause) {
            return None;
        }
        let pause = self.choose(now, offered);
        let is_few = self.candidates.len() < CHOICE;
        let victim = self.take(may_go);
        self.pause = if is_few || victim.is_none() { pause } else { Duration::ZERO };
        victim
    }

    fn take(&mut self, matches: impl Fn(&Candidate) -> bool) -> Option<EntryKey> {
        let at = self.candidates.iter().rposition(matches)?;
        Some(self.candidates.remove(at).key)
    }

    /// Returns how long nothing is chosen again if too little was found.
    fn choose<'a>(
        &mut self,
        now: Instant,
        offered: impl Iterator<Item = (Credit, (&'a EntryKey, &'a LedgerEntry))>,
    ) -> Duration {
        let (mut all, mut count) = (Vec::new(), 0_u32);
        for (credit, (key, entry)) in offered {
            count = count.saturating_add(1);
            all.extend(entry.activity.rank(now).map(|rank| Candidate { credit, rank, key: *key }));
        }
        if all.len() > CHOICE {
            all.select_nth_unstable(CHOICE - 1);
            all.truncate(CHOICE);
            all.shrink_to_fit();
        }
        all.sort_unstable_by(|a, b| b.cmp(a));
        (self.candidates, self.chosen) = (all, Some(now));
        PAUSE_PER_ENTRY.saturating_mul(count).min(LONGEST_PAUSE)
    }
}
