//! The workload or pod that a selector almost matches.

use std::collections::{BTreeSet, HashMap};

use roster_engine::{
    label_values::{LabelValues, NEIGHBOURS},
    model::{
        HashSeed, Labels, Text,
        spelling::{are_alike, letters, letters_below, typo},
    },
    phrase::label_text,
};

use super::{
    comparisons::{Comparisons, NotCompared},
    matching::{Candidate, may_be_added},
};

/// The most candidates that share a label, or a value, with a selector and are compared with it.
const MAX_ALIKE: usize = 64;
/// The most labels of a selector by which candidates are looked for.
const MAX_LABELS: usize = 64;

/// The candidates of a namespace, by what a selector that matches none of them may have almost.
#[derive(Debug)]
pub(super) struct NearbyCandidates<'a> {
    all: Vec<Candidate<'a>>,
    /// By key.
    by_key: HashMap<&'a str, LabelValues<'a>, HashSeed>,
    /// The places of the candidates that have a value under any key.
    by_value: HashMap<&'a str, Vec<usize>, HashSeed>,
}

impl<'a> NearbyCandidates<'a> {
    /// An index of these candidates.
    pub(super) fn new(all: Vec<Candidate<'a>>) -> Self {
        let mut this = Self { all, by_key: HashMap::default(), by_value: HashMap::default() };
        if this.all.len() <= NEIGHBOURS {
            return this;
        }
        for (place, candidate) in this.all.iter().enumerate() {
            for (key, value) in candidate.labels().iter() {
                this.by_key.entry(key).or_default().push(value, place);
                this.by_value.entry(value).or_default().push(place);
            }
        }
        this.by_key.values_mut().for_each(LabelValues::sort);
        this
    }

    /// The candidate that comes closest to `selector`.
    pub(super) fn nearest(
        &self,
        selector: &'a Labels,
        comparisons: &Comparisons,
    ) -> Result<Option<NearMiss<'a>>, NotCompared> {
        NearMiss::find(selector, self.candidates(selector, comparisons)?, comparisons)
    }

    /// The candidate that comes closest to `selector`, but cannot have all of its labels.
    pub(super) fn nearest_that_differs(
        &self,
        selector: &'a Labels,
        comparisons: &Comparisons,
    ) -> Result<Option<NearMiss<'a>>, NotCompared> {
        let candidates = self.candidates(selector, comparisons)?;
        NearMiss::find(selector, candidates.filter(|candidate| !candidate.is_selected_by(selector)), comparisons)
    }

    fn candidates(
        &self,
        selector: &Labels,
        comparisons: &Comparisons,
    ) -> Result<impl Iterator<Item = Candidate<'a>>, NotCompared> {
        let close = self.close(selector);
        for (key, value) in selector.iter() {
            // Short labels are looked up as well.
            comparisons.take_letters(key.len().max(value.len()).max(8), close.len())?;
        }
        Ok(close.into_iter().map(|place| self.all[place]))
    }

    /// The places of the candidates that may be meant: all if they are few; otherwise some that have a label, or a value,
    /// of the selector, and those that have a value close to a wanted one.
    fn close(&self, selector: &Labels) -> BTreeSet<usize> {
        if self.all.len() <= NEIGHBOURS {
            return (0..self.all.len()).collect();
        }
        let mut close = BTreeSet::from([0]);
        for (key, wanted) in selector.iter().take(MAX_LABELS) {
            if let Some(values) = self.by_key.get(key.as_str()) {
                close.extend(values.equal(wanted).take(MAX_ALIKE));
                close.extend(values.neighbours(wanted));
            }
            close.extend(self.by_value.get(wanted.as_str()).into_iter().flatten().take(MAX_ALIKE));
        }
        close
    }
}

/// A candidate that a selector almost matches.
#[derive(Debug)]
pub(super) struct NearMiss<'a> {
    pub(super) candidate: Candidate<'a>,
    /// How many labels of the selector its pods have.
    same: usize,
    /// The labels of the selector that its pods do not have, in their order.
    differing: Vec<(&'a Text, &'a Text)>,
    /// How many of them its pods are not known to have: these, and those that a custom resource may add.
    unknown: usize,
    /// How many letters differ in all of them.
    distance: usize,
    is_alike: bool,
}

impl<'a> NearMiss<'a> {
    /// The candidate that comes closest.
    fn find(
        selector: &'a Labels,
        candidates: impl Iterator<Item = Candidate<'a>>,
        comparisons: &Comparisons,
    ) -> Result<Option<Self>, NotCompared> {
        let mut best: Option<Self> = None;
        for candidate in candidates {
            best = Self::better(selector, candidate, best.as_ref(), comparisons)?.or(best);
        }
        Ok(best)
    }

    /// The candidate, if it comes closer than the best one so far. Nothing is computed beyond the point where it is known
    /// to be farther.
    fn better(
        selector: &'a Labels,
        candidate: Candidate<'a>,
        best: Option<&Self>,
        comparisons: &Comparisons,
    ) -> Result<Option<Self>, NotCompared> {
        let differing = || selector.iter().filter(|(key, value)| !candidate.may_have(key, value));
        let most = best.map_or(usize::MAX, |b| b.unknown);
        // A label that nothing contradicts brings a custom resource no closer than a workload that lacks it.
        let not_known = selector.iter().filter(|(key, value)| !candidate.is_known_to_have(key, value));
        let unknown = not_known.take(most.saturating_add(1)).count();
        if unknown > most {
            return Ok(None);
        }
        let is_alike = is_alike(selector, candidate);
        let limit = match best.filter(|b| b.unknown == unknown) {
            Some(best) if best.is_alike == is_alike => best.distance,
            // Rather another value of a label than a label that has nothing to do with it.
            Some(_) if !is_alike => return Ok(None),
            _ => usize::MAX,
        };
        let labels = candidate.labels();
        let mut distance = 0;
        for (key, value) in differing() {
            let letters = if let Some(other) = labels.get(key) {
                letters_below(value, other, limit - distance)
            } else {
                comparisons.take_mistyped(key.len(), alike_keys(labels, key, value).count())?;
                Some(almost_key(labels, key, value).map_or(key.len(), |k| letters(key, k).min(key.len())))
            };
            match letters.map(|letters| distance + letters) {
                Some(sum) if sum < limit => distance = sum,
                _ => return Ok(None),
            }
        }
        let differing: Vec<_> = differing().collect();
        let same = selector.len() - differing.len();
        Ok((distance < limit).then_some(Self { candidate, same, differing, unknown, distance, is_alike }))
    }

    /// Whether it looks like a typo: the pods have the other labels, and of this one almost the value, or the
    /// value under almost the key.
    pub(super) fn is_typo(&self) -> bool {
        let [(key, value)] = self.differing.as_slice() else { return false };
        let labels = self.candidate.labels();
        match labels.get(key) {
            Some(other) => typo(value, other).is_some(),
            None => almost_key(labels, key, value).is_some(),
        }
    }

    /// Whether it has anything in common with the selector: a key or a value.
    pub(super) fn is_alike(&self) -> bool {
        self.is_alike
    }

    /// Whether the pods may get the missing labels while they run, as programs mark the leader of a group: they have the
    /// other labels, and either they are such a group, or another Service selects them by the other labels.
    pub(super) fn may_come_at_run_time(&self, mut selectors: impl Iterator<Item = &'a Labels>) -> bool {
        let labels = self.candidate.labels();
        // The labels that controllers add do not change, and those of a workload are meant for its pods as well.
        let is_new = |(key, value): &(&Text, &Text)| {
            !labels.contains_key(key)
                && !may_be_added(key)
                && !self.candidate.has_itself(key, value)
                && almost_key(labels, key, value).is_none()
        };
        let is_wider = |other: &Labels| {
            other.len() <= self.same
                && self.candidate.is_selected_by(other)
                && other
                    .iter()
                    .all(|(key, _)| self.differing.binary_search_by_key(&key, |(differing, _)| *differing).is_err())
        };
        self.same > 0
            && self.differing.iter().all(is_new)
            && (self.candidate.has_members() || selectors.any(|other| !other.is_empty() && is_wider(other)))
    }

    /// What differs, for a message.
    pub(super) fn text(&self) -> String {
        let labels = self.candidate.labels();
        let difference = |(key, value): &(&Text, &Text)| {
            let other = labels.get(key);
            let other_key = almost_key(labels, key, value).map(|k| label_text(k));
            let (is_added, is_own) = (may_be_added(key), self.candidate.has_itself(key, value));
            let (key, value) = (label_text(key), label_text(value));
            match (other, other_key) {
                (Some(other), _) => format!("{key}={} instead of {value}", label_text(other)),
                (None, Some(other_key)) => format!("{other_key}={value} instead of {key}={value}"),
                (None, None) if is_added => format!("no pod with the label {key}={value}"),
                (None, None) if is_own => format!("the label {key}={value} itself, but not in its template"),
                (None, None) => format!("no label {key}={value}"),
            }
        };
        let all: Vec<String> = self.differing.iter().take(3).map(difference).collect();
        format!("{}, which has {}", self.candidate.name(), all.join(", "))
    }
}

/// Whether a candidate has anything in common with a selector: a key or a value. Labels that are missing are a mistake.
fn is_alike(selector: &Labels, candidate: Candidate<'_>) -> bool {
    let labels = candidate.labels();
    let values: Vec<&Text> = labels.iter().take(MAX_LABELS).map(|(_, value)| value).collect();
    let has = |(key, value): (&Text, &Text)| {
        labels.contains_key(key) || may_be_added(key) || candidate.has_itself(key, value) || values.contains(&value)
    };
    labels.is_empty() || selector.iter().take(MAX_LABELS).any(has)
}

/// The key under which the labels have `value`, if it is `key` but for a letter or two.
fn almost_key<'a>(labels: &'a Labels, key: &str, value: &Text) -> Option<&'a Text> {
    alike_keys(labels, key, value).find(|k| typo(key, k).is_some())
}

/// The keys under which the labels have `value`, and which are as long as `key` but for a letter or two.
fn alike_keys<'a>(labels: &'a Labels, key: &str, value: &Text) -> impl Iterator<Item = &'a Text> {
    // Each label of a selector may be compared with each of a template.
    let few = Some(labels).filter(|labels| labels.len() <= MAX_LABELS);
    let of_value = few.into_iter().flat_map(Labels::iter).filter(move |(_, v)| *v == value);
    of_value.map(|(k, _)| k).filter(move |k| are_alike(key.len(), k.len()))
}
