//! What a selector selects in its namespace.

use super::{
    candidate_index::CandidateIndex,
    listing::list,
    manifests::{Manifests, WorkloadOutcome},
    matching::workload_name,
};
use crate::{inventory::workloads::assume::WorkloadPods, model::Labels};

/// The most comparisons of selectors with labels, and ports of workloads that are looked at for a selector, of one input.
/// Several thousand Services may all select the same thousands of workloads, each by other labels: a second or two of time.
pub(super) const MAX_COMPARISONS: usize = 1 << 24;

/// The comparisons that are left for an input.
#[derive(Debug)]
pub(super) struct Comparisons {
    left: usize,
}

impl Comparisons {
    pub(super) fn new(left: usize) -> Self {
        Self { left }
    }

    /// Takes a number of comparisons, if so many are left.
    pub(super) fn take(&mut self, count: usize) -> Option<()> {
        self.left = self.left.checked_sub(count)?;
        Some(())
    }
}

/// The workloads and pods that a selector selects.
#[derive(Debug)]
pub(super) struct Selection<'a> {
    /// The workloads, in their order.
    pub(super) workloads: Vec<WorkloadOutcome<'a>>,
    /// The places of the workloads in their namespace.
    pub(super) places: Vec<usize>,
    /// Whether it selects pods of the input.
    pub(super) has_pods: bool,
}

impl<'a> Selection<'a> {
    /// What `selector` selects; `None` if too many comparisons were made before.
    pub(super) fn find(
        selector: &Labels,
        manifests: &Manifests<'a>,
        index: &CandidateIndex<'a>,
        comparisons: &mut Comparisons,
    ) -> Option<Self> {
        let places = index.places(selector, manifests.places.clone());
        comparisons.take(places.len())?;
        let in_namespace = |place: usize| place - manifests.places.start;
        let first_pod = places.partition_point(|place| in_namespace(*place) < manifests.workloads.len());
        let (of_workloads, of_pods) = places.split_at(first_pod);
        let is_selected = |place: &&usize| index.at(**place).is_selected_by(selector);
        let mut places: Vec<usize> =
            of_workloads.iter().filter(is_selected).map(|place| in_namespace(*place)).collect();
        let has_pods = of_pods.iter().any(|place| selector.selects(index.at(*place).labels()));
        // A custom resource may add any label to its pods. It is not taken to add these where other pods have them for certain.
        let is_known = |place: &usize| index.at(manifests.places.start + place).is_known_to_be_selected_by(selector);
        if has_pods || places.iter().any(is_known) {
            places.retain(is_known);
        }
        let workloads: Vec<WorkloadOutcome<'a>> = places.iter().map(|place| manifests.workloads[*place]).collect();
        comparisons.take(workloads.iter().map(|(workload, _)| workload.template.ports.len()).sum())?;
        Some(Self { workloads, places, has_pods })
    }

    /// The names of the workloads that make pods, if they are several.
    pub(super) fn several_workloads(&self) -> Option<String> {
        let with_pods = || self.workloads.iter().filter(|(_, outcome)| !matches!(outcome, WorkloadPods::OfAnother));
        (with_pods().nth(1).is_some()).then(|| list(with_pods().map(|(w, _)| workload_name(w))))
    }
}
