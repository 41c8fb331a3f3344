//! The settings that were made lately: few combinations of policies apply to the objects of a cluster.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use roster_engine::model::HashSeed;
use smallvec::SmallVec;

use crate::Settings;

/// How a policy counts for an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PolicyCount {
    /// It does not apply.
    Not,
    /// It applies.
    Applies,
    /// It applies, and exempts the object.
    Exempts,
    /// It depends on labels of the namespace that could not be read.
    May,
}

/// How each policy counts, packed: two bits for each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct PolicyCounts(SmallVec<[u64; 2]>);

/// The policies in a word.
const IN_WORD: usize = 32;

impl FromIterator<PolicyCount> for PolicyCounts {
    fn from_iter<I: IntoIterator<Item = PolicyCount>>(counts: I) -> Self {
        let mut words = SmallVec::new();
        for (i, count) in counts.into_iter().enumerate() {
            if i % IN_WORD == 0 {
                words.push(0);
            }
            words[i / IN_WORD] |= (count as u64) << (2 * (i % IN_WORD));
        }
        Self(words)
    }
}

impl PolicyCounts {
    /// How a policy counts.
    pub(super) fn of(&self, policy: usize) -> PolicyCount {
        match self.0.get(policy / IN_WORD).map_or(0, |word| word >> (2 * (policy % IN_WORD)) & 3) {
            1 => PolicyCount::Applies,
            2 => PolicyCount::Exempts,
            3 => PolicyCount::May,
            _ => PolicyCount::Not,
        }
    }
}

/// Settings by the policies that make them. What is not there is made again: two equal sets of policies have different
/// caches, and are equal.
#[derive(Debug, Default)]
pub(super) struct SettingsCache(RwLock<HashMap<PolicyCounts, Arc<Settings>, HashSeed>>);

impl SettingsCache {
    /// Most settings that are kept. Each takes about two kilobytes.
    const MOST: usize = 1024;
    /// The settings of more policies are not kept: their sets are large.
    const MOST_POLICIES: usize = 1024;

    /// The settings, which `make` makes if they are not there.
    pub(super) fn get(&self, counts: PolicyCounts, make: impl FnOnce(&PolicyCounts) -> Settings) -> Arc<Settings> {
        if let Some(known) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(&counts) {
            return known.clone();
        }
        let made = Arc::new(make(&counts));
        if counts.0.len() * IN_WORD <= Self::MOST_POLICIES {
            let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
            if known.len() >= Self::MOST {
                known.clear();
            }
            known.insert(counts, made.clone());
        }
        made
    }
}

impl Clone for SettingsCache {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for SettingsCache {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for SettingsCache {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_packed_and_read_again() {
        use PolicyCount::{Applies, Exempts, May, Not};
        let all: Vec<PolicyCount> = [Not, Applies, Exempts, May, Applies].into_iter().cycle().take(77).collect();
        let packed: PolicyCounts = all.iter().copied().collect();
        assert_eq!((0..77).map(|i| packed.of(i)).collect::<Vec<_>>(), all);
        assert_eq!(packed.of(500), Not);
    }

    #[test]
    fn settings_are_made_once() {
        let cache = SettingsCache::default();
        let counts = |n| (0..n).map(|_| PolicyCount::Applies).collect::<PolicyCounts>();
        let first = cache.get(counts(3), |_| Settings::default());
        assert!(Arc::ptr_eq(&first, &cache.get(counts(3), |_| panic!("they are known"))));
        assert!(!Arc::ptr_eq(&first, &cache.get(counts(4), |_| Settings::default())));
    }
}
