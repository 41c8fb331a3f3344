//! The workloads and pods of all namespaces by their labels.

use std::{collections::HashMap, ops::Range};

use roster_engine::model::{HashSeed, Labels};

use super::matching::{Candidate, POD_NAME, may_be_added};
use crate::inventory::workloads::workload::WorkloadController;

/// Workloads and pods, those of one namespace beside each other, and their places by each label that a selector may ask
/// for: thousands of Services may each select one of thousands of workloads.
#[derive(Debug, Default)]
pub(super) struct CandidateIndex<'a> {
    all: Vec<Candidate<'a>>,
    by_label: HashMap<(&'a str, &'a str), Vec<usize>, HashSeed>,
    /// StatefulSets by name, for selectors of single pods.
    stateful_sets: HashMap<&'a str, Vec<usize>, HashSeed>,
    /// Those that may have any further label.
    open: Vec<usize>,
}

impl<'a> CandidateIndex<'a> {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// The one at this place.
    pub(super) fn at(&self, place: usize) -> Candidate<'a> {
        self.all[place]
    }

    /// Those at these places that may be what a selector almost matches.
    pub(super) fn written(&self, places: Range<usize>) -> Vec<Candidate<'a>> {
        self.all[places].iter().copied().filter(|candidate| candidate.may_be_meant()).collect()
    }

    /// Adds a candidate. Pods that differ in their names alone are one. Returns whether it is a new one.
    pub(super) fn push(&mut self, candidate: Candidate<'a>) -> bool {
        let place = self.all.len();
        if let (Candidate::Pod(pod), Some(Candidate::Pod(before))) = (candidate, self.all.last())
            && candidate.is_recorded() == Candidate::Pod(before).is_recorded()
            && (pod.namespace(), &pod.labels, &pod.ports) == (before.namespace(), &before.labels, &before.ports)
            && pod.is_hook == before.is_hook
        {
            return false;
        }
        self.all.push(candidate);
        for (key, value) in candidate.labels().iter() {
            self.by_label.entry((key, value)).or_default().push(place);
        }
        if candidate.may_have_any_label() {
            self.open.push(place);
        }
        if let Candidate::Workload(workload) = candidate
            && matches!(workload.controller, WorkloadController::StatefulSet { .. })
        {
            self.stateful_sets.entry(&workload.name).or_default().push(place);
        }
        true
    }

    /// The places in `range` of all candidates that `selector` may select, and of some that it does not.
    pub(super) fn places<'s>(&'s self, selector: &'s Labels, range: Range<usize>) -> CandidatePlaces<'s> {
        let lists = selector.iter().filter_map(|(key, value)| self.of_label(key, value));
        let in_range = lists.map(|lists| lists.map(|list| within(list, &range)));
        match in_range.min_by_key(|[labelled, sets]| labelled.len() + sets.len()) {
            Some([labelled, sets]) => CandidatePlaces::Some([labelled, sets, within(&self.open, &range)]),
            None => CandidatePlaces::All(range),
        }
    }

    /// The candidates that may have a label; `None` if that cannot be said.
    fn of_label<'s>(&'s self, key: &'s str, value: &'s str) -> Option<[&'s [usize]; 2]> {
        let listed = || self.by_label.get(&(key, value)).map(Vec::as_slice).unwrap_or_default();
        match key {
            POD_NAME => {
                let set = value.rsplit_once('-').and_then(|(set, _)| self.stateful_sets.get(set));
                Some([listed(), set.map(Vec::as_slice).unwrap_or_default()])
            }
            _ if may_be_added(key) => None,
            _ => Some([listed(), &[]]),
        }
    }
}

/// Places of candidates, which are not put together before it is known how many they are.
#[derive(Debug)]
pub(super) enum CandidatePlaces<'i> {
    All(Range<usize>),
    /// Sorted lists, which may have some places in common.
    Some([&'i [usize]; 3]),
}

impl CandidatePlaces<'_> {
    /// How many there are, at most.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::All(range) => range.len(),
            Self::Some(lists) => lists.iter().map(|list| list.len()).sum(),
        }
    }

    /// The places in order.
    pub(super) fn in_order(self) -> Vec<usize> {
        match self {
            Self::All(range) => range.collect(),
            Self::Some(lists) => {
                let mut places: Vec<usize> = lists.into_iter().flatten().copied().collect();
                places.sort_unstable();
                places.dedup();
                places
            }
        }
    }

    /// The first places of each list, in order.
    pub(super) fn first(self, most: usize) -> Vec<usize> {
        match self {
            Self::All(range) => range.take(most).collect(),
            Self::Some(lists) => Self::Some(lists.map(|list| &list[..list.len().min(most)])).in_order(),
        }
    }
}

/// The part of a sorted list that is in `range`.
fn within<'l>(list: &'l [usize], range: &Range<usize>) -> &'l [usize] {
    let place = |limit: usize| list.partition_point(|place| *place < limit);
    &list[place(range.start)..place(range.end)]
}
