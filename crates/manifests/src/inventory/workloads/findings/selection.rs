//! What a selector selects in its namespace.

use roster_engine::model::{Labels, Pod};

use super::{
    candidate_index::CandidateIndex,
    comparisons::{Comparisons, NotCompared},
    listing::list,
    manifests::{Manifests, WorkloadOutcome},
    matching::{Candidate, workload_name},
    numbered_pods::AskedPod,
};
use crate::inventory::workloads::{assume::WorkloadPods, workload::Workload};

/// The workloads and pods that a selector selects.
#[derive(Debug)]
pub(super) struct Selection<'a> {
    /// The workloads, in their order.
    pub(super) workloads: Vec<WorkloadOutcome<'a>>,
    /// The places of the workloads in their namespace.
    pub(super) places: Vec<usize>,
    /// The pods of the input; of those with the same labels and ports, one.
    pub(super) pods: Vec<&'a Pod>,
    /// The first workload that has all labels, but does not make the pod of this number.
    pub(super) beyond: Option<(&'a Workload, AskedPod<'a>)>,
    /// Whether it selects nothing for certain, and a custom resource of the namespace may have pods with all labels.
    pub(super) is_possible: bool,
}

impl<'a> Selection<'a> {
    /// What `selector` selects.
    pub(super) fn find(
        selector: &'a Labels,
        manifests: &Manifests<'a>,
        index: &CandidateIndex<'a>,
        comparisons: &Comparisons,
    ) -> Result<Self, NotCompared> {
        let places = index.places(selector, manifests.places.clone());
        comparisons.take_selector(selector, places.len())?;
        let mut places = places.in_order();
        let mut beyond = None;
        places.retain(|place| match index.at(*place) {
            Candidate::Pod(pod) => selector.selects(&pod.labels),
            candidate @ Candidate::Workload(workload) => {
                let missing = || AskedPod::missing(selector, workload, manifests);
                let is_selected = candidate.is_selected_by(selector);
                match is_selected.then(missing).flatten() {
                    Some(asked) => {
                        beyond.get_or_insert((workload, asked));
                        false
                    }
                    None => is_selected,
                }
            }
        });
        // A hook seldom exists beside what else is selected.
        if places.iter().any(|place| !index.at(*place).is_hook()) {
            places.retain(|place| !index.at(*place).is_hook());
        }
        let pods: Vec<&Pod> = places.iter().filter_map(|place| index.at(*place).pod()).collect();
        // A custom resource may add any label to its pods: nothing is concluded from what it may select.
        places.retain(|place| index.at(*place).pod().is_none());
        let of_all = places.len();
        places.retain(|place| index.at(*place).is_known_to_be_selected_by(selector));
        let is_possible = pods.is_empty() && places.is_empty() && of_all > 0;
        let places: Vec<usize> = places.into_iter().map(|place| place - manifests.places.start).collect();
        let workloads: Vec<WorkloadOutcome<'a>> = places.iter().map(|place| manifests.workloads[*place]).collect();
        let of_workloads: usize = workloads.iter().map(|(workload, _)| workload.template.ports.len()).sum();
        comparisons.take(of_workloads + pods.iter().map(|pod| pod.ports.len()).sum::<usize>())?;
        Ok(Self { workloads, places, pods, beyond, is_possible })
    }

    /// The names of the workloads that make pods, if they are several.
    pub(super) fn several_workloads(&self) -> Option<String> {
        let with_pods = || self.workloads.iter().filter(|(_, outcome)| !matches!(outcome, WorkloadPods::OfAnother));
        (with_pods().nth(1).is_some()).then(|| list(with_pods().map(|(w, _)| workload_name(w))))
    }
}
