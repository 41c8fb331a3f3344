//! What a selector selects in its namespace.

use std::ops::Range;

use roster_engine::model::{Labels, Pod};

use super::{
    candidate_index::{CandidateIndex, CandidatePlaces},
    comparisons::{Comparisons, NotCompared},
    listing::list,
    manifests::{Manifests, WorkloadOutcome},
    matching::{Candidate, workload_name},
    numbered_pods::AskedPod,
};
use crate::{
    inventory::workloads::{assume::WorkloadPods, workload::Workload},
    units::Units,
};

/// Most versions of the selected workloads that are looked at.
pub(super) const MAX_VERSIONS: usize = 32;

/// The workloads and pods of one unit that a selector selects.
#[derive(Debug)]
pub(super) struct Selection<'a> {
    /// The workloads, in their order.
    pub(super) workloads: Vec<WorkloadOutcome<'a>>,
    /// The places of the workloads in their namespace.
    pub(super) places: Vec<usize>,
    /// The pods of the input; of those with the same labels and ports, one.
    pub(super) pods: Vec<&'a Pod>,
}

/// What a selector selects.
#[derive(Debug)]
pub(super) enum Selected<'a> {
    /// Workloads and pods of its own unit.
    Here(Selection<'a>),
    /// Those of the nearest folder that has some: if these are several units, they are versions.
    Nearest(Vec<Selection<'a>>),
    /// Nothing: no workload makes the pod that the selector asks for. This is the first one that has all labels.
    Beyond(&'a Workload, AskedPod<'a>),
    /// Nothing for certain, but a custom resource of the namespace may have pods with all labels.
    Possibly,
    /// Nothing.
    Nothing,
}

/// The places of what a selector selects in some documents.
#[derive(Default)]
struct Found<'a> {
    workloads: Vec<usize>,
    pods: Vec<usize>,
    beyond: Option<(&'a Workload, AskedPod<'a>)>,
    /// Whether a custom resource may have all labels.
    is_possible: bool,
}

/// A selector of a unit, and where to look for what it selects.
#[derive(Clone, Copy)]
pub(super) struct SelectorSearch<'s, 'a> {
    /// The kind of the object that has it.
    pub(super) kind: &'static str,
    pub(super) selector: &'a Labels,
    /// A document of the unit.
    pub(super) document: usize,
    pub(super) manifests: &'s Manifests<'a>,
    pub(super) index: &'s CandidateIndex<'a>,
    pub(super) units: &'s Units,
    pub(super) comparisons: &'s Comparisons,
}

impl<'a> SelectorSearch<'_, 'a> {
    /// What the selector selects: of its unit, or of the nearest folder.
    pub(super) fn run(&self) -> Result<Selected<'a>, NotCompared> {
        let (mut beyond, mut is_possible, mut last) = (None, false, None);
        for documents in self.units.nearest(self.document) {
            if last.as_ref() == Some(&documents) {
                continue;
            }
            let found = self.within(&documents)?;
            if !found.workloads.is_empty() || !found.pods.is_empty() {
                let is_own = last.is_none();
                return Ok(if is_own { Selected::Here(self.selection(&found)?) } else { self.versions(found)? });
            }
            beyond = beyond.or(found.beyond);
            is_possible |= found.is_possible;
            last = Some(documents);
        }
        Ok(match beyond {
            Some((workload, asked)) => Selected::Beyond(workload, asked),
            None if is_possible => Selected::Possibly,
            None => Selected::Nothing,
        })
    }

    /// What is selected in some documents.
    fn within(&self, documents: &Range<usize>) -> Result<Found<'a>, NotCompared> {
        let [of_workloads, of_pods] =
            self.manifests.places_in(documents).map(|range| self.index.places(self.selector, range));
        self.comparisons.take_selector(self.selector, of_workloads.len() + of_pods.len())?;
        let mut found = self.workloads(of_workloads);
        found.pods = of_pods.in_order();
        found.pods.retain(|place| self.index.at(*place).pod().is_some_and(|pod| self.selector.selects(&pod.labels)));
        // A hook seldom exists beside what else is selected.
        let is_hook = |place: &usize| self.index.at(*place).is_hook();
        if found.workloads.iter().chain(&found.pods).any(|place| !is_hook(place)) {
            found.workloads.retain(|place| !is_hook(place));
            found.pods.retain(|place| !is_hook(place));
        }
        // A custom resource may add any label to its pods: nothing is concluded from what it may select.
        let of_all = found.workloads.len();
        found.workloads.retain(|place| self.index.at(*place).is_known_to_be_selected_by(self.selector));
        found.is_possible = of_all > found.workloads.len();
        Ok(found)
    }

    /// The workloads that may be selected.
    fn workloads(&self, places: CandidatePlaces<'_>) -> Found<'a> {
        let mut found = Found { workloads: places.in_order(), ..Found::default() };
        let beyond = &mut found.beyond;
        found.workloads.retain(|place| {
            let candidate = self.index.at(*place);
            let Candidate::Workload(workload) = candidate else { return false };
            let is_selected = candidate.is_selected_by(self.selector);
            let missing = || AskedPod::missing(self.selector, workload, self.manifests);
            match is_selected.then(missing).flatten() {
                Some(asked) => {
                    beyond.get_or_insert((workload, asked));
                    false
                }
                None => is_selected,
            }
        });
        found
    }

    /// Those of each unit.
    fn versions(&self, found: Found<'a>) -> Result<Selected<'a>, NotCompared> {
        let mut places = [found.workloads, found.pods].concat();
        places.sort_by_key(|place| self.manifests.document_at(*place));
        let unit = |place: &usize| self.units.unit(self.manifests.document_at(*place)).start;
        let is_pod = |place: &usize| self.index.at(*place).pod().is_some();
        let mut versions = Vec::new();
        for of_unit in places.chunk_by(|a, b| unit(a) == unit(b)).take(MAX_VERSIONS) {
            let (pods, workloads) = of_unit.iter().copied().partition(is_pod);
            versions.push(self.selection(&Found { workloads, pods, ..Found::default() })?);
        }
        Ok(Selected::Nearest(versions))
    }

    fn selection(&self, found: &Found<'a>) -> Result<Selection<'a>, NotCompared> {
        let start = self.manifests.places.start;
        let places: Vec<usize> = found.workloads.iter().map(|place| place - start).collect();
        let workloads: Vec<WorkloadOutcome<'a>> =
            places.iter().map(|place| self.manifests.workloads[*place].object).collect();
        let pods: Vec<&Pod> = found.pods.iter().filter_map(|place| self.index.at(*place).pod()).collect();
        let of_workloads: usize = workloads.iter().map(|(workload, _)| workload.template.ports.len()).sum();
        self.comparisons.take(of_workloads + pods.iter().map(|pod| pod.ports.len()).sum::<usize>())?;
        Ok(Selection { workloads, places, pods })
    }
}

impl Selection<'_> {
    /// The names of the workloads that make pods, if they are several.
    pub(super) fn several_workloads(&self) -> Option<String> {
        let with_pods = || self.workloads.iter().filter(|(_, outcome)| !matches!(outcome, WorkloadPods::OfAnother));
        (with_pods().nth(1).is_some()).then(|| list(with_pods().map(|(w, _)| workload_name(w))))
    }
}
