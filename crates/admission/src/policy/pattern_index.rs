//! The names that policies list, of all policies together: a text is looked up once, however many policies there are.
//!
//! What a review brings (users, groups, names) has any length and number, and so have the lists of policies. An exact
//! name costs a look-up, and so does a pattern whose only `*` is at its end. Other patterns are compared one by one, and
//! of a list of texts only as many as [`MAX_STEPS`] allows.

use std::collections::{BTreeMap, HashMap, HashSet};

use roster_engine::model::{HashSeed, Text, wildcard};
use smallvec::SmallVec;

use crate::ranges::PolicySet;

/// The longest name or namespace, in bytes, that matches more than a lone `*`. An API server stores none that is longer.
pub(super) const MAX_NAME: usize = 253;

/// The same for users and groups. An entry of a policy has at most 253 characters.
pub(super) const MAX_USER: usize = 1 << 10;

/// Most distinct texts of a list that are compared with patterns.
const MAX_TEXTS: usize = 1 << 10;

/// Most steps in which the texts of a list are compared with patterns that are not looked up: a step is 64 bytes of a text
/// and one pattern. All of them take three to five milliseconds.
const MAX_STEPS: usize = 64 << 10;

/// The bytes of a text that are compared in a step.
const STEP: usize = 64;

/// Texts of a list that are so few that a repeated one costs less than the search for it.
const FEW: usize = 8;

/// Whether a pattern matches a text of at most `max` bytes. A longer text matches a lone `*` only.
pub(super) fn matches(pattern: &str, text: &str, max: usize) -> bool {
    pattern == "*" || text.len() <= max && wildcard::matches(pattern, text)
}

/// The policies that list something, by number and in order.
type Owners = SmallVec<[usize; 2]>;

/// One list of names of each policy, compiled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PatternIndex {
    /// The longest text that is compared.
    max: usize,
    /// The policies with a lone `*`.
    any: PolicySet,
    exact: HashMap<Text, Owners, HashSeed>,
    /// Patterns whose only `*` is at the end, without it and in order.
    prefixes: Vec<Prefix>,
    /// All other patterns.
    others: Vec<(Text, Owners)>,
}

/// A pattern whose only `*` is at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Prefix {
    text: Text,
    owners: Owners,
    /// The place of the longest other pattern that is a prefix of this one.
    shorter: Option<usize>,
}

impl PatternIndex {
    /// The lists of policies in order, for texts of at most `max` bytes.
    pub(super) fn new<'a>(max: usize, lists: impl Iterator<Item = &'a [Text]>) -> Self {
        let mut index = Self { max, ..Self::default() };
        let (mut prefixes, mut others): (BTreeMap<Text, Owners>, BTreeMap<Text, Owners>) = Default::default();
        for (policy, patterns) in lists.enumerate() {
            for pattern in patterns {
                let owners = match pattern.split_once('*') {
                    None => index.exact.entry(pattern.clone()).or_default(),
                    Some(("", "")) => {
                        index.any.insert(policy);
                        continue;
                    }
                    Some((prefix, "")) => prefixes.entry(prefix.into()).or_default(),
                    Some(_) => others.entry(pattern.clone()).or_default(),
                };
                // A policy may list a pattern twice.
                if owners.last() != Some(&policy) {
                    owners.push(policy);
                }
            }
        }
        for (text, owners) in prefixes {
            let mut shorter = index.prefixes.len().checked_sub(1);
            while let Some(at) = shorter.filter(|at| !text.starts_with(index.prefixes[*at].text.as_str())) {
                shorter = index.prefixes[at].shorter;
            }
            index.prefixes.push(Prefix { text, owners, shorter });
        }
        index.others = others.into_iter().collect();
        index
    }

    /// Whether no policy lists anything.
    pub(super) fn is_empty(&self) -> bool {
        self.any.is_empty() && self.exact.is_empty() && !self.has_patterns()
    }

    /// Adds the policies that list the text.
    pub(super) fn add_matching(&self, text: &str, found: &mut PolicySet) {
        found.extend(&self.any);
        if text.len() <= self.max {
            self.add_exact(text, found);
            self.add_prefixes(text, &mut [], found);
            self.add_others(text, found);
        }
    }

    /// Adds the policies that list one of the texts. A text beyond the limits is looked for among the exact names only.
    pub(super) fn add_matching_any(&self, texts: &[&str], found: &mut PolicySet) {
        if texts.is_empty() || self.is_empty() {
            return;
        }
        found.extend(&self.any);
        let mut seen: HashSet<&str, HashSeed> = HashSet::default();
        // Once a prefix was found, its policies and those of all shorter ones are there.
        let mut is_found = vec![false; if texts.len() > FEW { self.prefixes.len() } else { 0 }];
        let (mut left, mut steps) = (MAX_TEXTS, MAX_STEPS);
        for text in texts.iter().filter(|text| text.len() <= self.max) {
            if texts.len() > FEW && !seen.insert(text) {
                continue;
            }
            self.add_exact(text, found);
            if left == 0 || !self.has_patterns() {
                continue;
            }
            left -= 1;
            self.add_prefixes(text, &mut is_found, found);
            let cost = (text.len() / STEP + 1).saturating_mul(self.others.len());
            if let Some(rest) = steps.checked_sub(cost) {
                steps = rest;
                self.add_others(text, found);
            } else {
                steps = 0;
            }
        }
    }

    fn has_patterns(&self) -> bool {
        !self.prefixes.is_empty() || !self.others.is_empty()
    }

    fn add_exact(&self, text: &str, found: &mut PolicySet) {
        if !self.exact.is_empty()
            && let Some(owners) = self.exact.get(text)
        {
            found.insert_all(owners);
        }
    }

    /// Adds the policies of the prefixes of a text, as far as they are not marked as found; an empty list marks none.
    fn add_prefixes(&self, text: &str, is_found: &mut [bool], found: &mut PolicySet) {
        // The last one that is not greater than the text is its longest prefix, or has all its prefixes before itself.
        let mut next = self.prefixes.partition_point(|prefix| prefix.text.as_str() <= text).checked_sub(1);
        while let Some(at) = next {
            let prefix = &self.prefixes[at];
            next = prefix.shorter;
            if !text.starts_with(prefix.text.as_str()) {
                continue;
            }
            if is_found.get_mut(at).is_some_and(|is_found| std::mem::replace(is_found, true)) {
                return;
            }
            found.insert_all(&prefix.owners);
        }
    }

    fn add_others(&self, text: &str, found: &mut PolicySet) {
        for (pattern, owners) in &self.others {
            if wildcard::matches(pattern, text) {
                found.insert_all(owners);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(lists: &[&[&str]]) -> PatternIndex {
        let lists: Vec<Vec<Text>> = lists.iter().map(|list| list.iter().copied().map(Text::from).collect()).collect();
        PatternIndex::new(MAX_USER, lists.iter().map(Vec::as_slice))
    }

    /// The numbers of the policies that list one of the texts.
    fn matching(index: &PatternIndex, texts: &[&str]) -> Vec<usize> {
        let mut found = PolicySet::default();
        index.add_matching_any(texts, &mut found);
        (0..500).filter(|policy| found.contains(*policy)).collect()
    }

    #[test]
    fn an_index_finds_what_a_scan_finds() {
        let lists: &[&[&str]] = &[
            &["dev", "ops"],
            &["d*", "dev", "dev"],
            &["de*", "dev-*"],
            &["*-admins", "*v*e*", "**"],
            &[],
            &["*"],
            &["dev-team-*", "dev*x"],
            &["", "z*"],
        ];
        let index = index(lists);
        let many: Vec<String> = (0..40).map(|i| format!("dev-team-{}x", i % 20)).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        for texts in [
            &[][..],
            &["dev"],
            &["de"],
            &["e", "dev-team-1"],
            &["shop-admins"],
            &["ops", "ops"],
            &["dev-", "zz", ""],
            &["developer"],
            &["é", "dé"],
            &many,
        ] {
            let scan = |list: &[&str]| texts.iter().any(|text| list.iter().any(|p| wildcard::matches(p, text)));
            let want: Vec<usize> = (0..lists.len()).filter(|policy| scan(lists[*policy])).collect();
            assert_eq!(matching(&index, texts), want, "{texts:?}");
            let mut one_by_one = PolicySet::default();
            for text in texts {
                index.add_matching(text, &mut one_by_one);
            }
            assert_eq!((0..500).filter(|p| one_by_one.contains(*p)).collect::<Vec<_>>(), want, "{texts:?}");
        }
    }

    #[test]
    fn a_long_text_matches_a_lone_star_only() {
        let long = "x".repeat(MAX_USER + 1);
        let index = index(&[&["*"], &["x*"], &["*x*"], &[&long], &["**"]]);
        assert_eq!(matching(&index, &[&long]), [0]);
        assert_eq!(matching(&index, &[&long[1..]]), [0, 1, 2, 4]);
        for (pattern, length, want) in
            [("*", 254, true), ("x*", 254, false), ("x*", 253, true), ("*x*", 254, false), ("**", 254, false)]
        {
            assert_eq!(matches(pattern, &long[..length], MAX_NAME), want, "{pattern} {length}");
        }
    }

    /// What is not looked at exempts nobody.
    #[test]
    fn many_texts_are_looked_up_but_not_compared() {
        let others: Vec<String> = (0..200).map(|i| format!("*-{i}-x")).collect();
        let others: Vec<&str> = others.iter().map(String::as_str).collect();
        let (few, many) = (index(&[&["last"], &["la*"], &["*st"]]), index(&[&["last"], &["la*"], &["*st"], &others]));
        let groups: Vec<String> = (0..MAX_TEXTS).map(|i| format!("group-{i}")).collect();
        for (name, index, before, repeat, want) in [
            ("the last of few enough", &few, MAX_TEXTS - 1, 1, &[0, 1, 2][..]),
            ("repeated ones do not count", &few, MAX_TEXTS - 1, 3, &[0, 1, 2]),
            ("after too many", &few, MAX_TEXTS, 1, &[0]),
            ("after too many comparisons", &many, 400, 1, &[0, 1]),
        ] {
            let mut texts: Vec<&str> = groups[..before].iter().map(String::as_str).collect::<Vec<_>>().repeat(repeat);
            texts.push("last");
            assert_eq!(matching(index, &texts), want, "{name}");
        }
    }
}
