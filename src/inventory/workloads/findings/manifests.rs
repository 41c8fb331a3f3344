//! The objects of one namespace.

use std::collections::BTreeMap;

use super::matching::{Candidate, is_opaque};
use crate::{
    engine::reason::{Finding, Reason},
    inventory::{
        CustomResourcesOfNamespace,
        workloads::{assume::WorkloadPods, workload::Workload},
    },
    model::{Labels, Pod, Service, Text},
};

/// A workload, and what became of it.
pub(super) type WorkloadOutcome<'a> = (&'a Workload, &'a WorkloadPods);

/// The Services and workloads of a namespace.
#[derive(Default)]
pub(super) struct Manifests<'a> {
    pub(super) services: Vec<&'a Service>,
    pub(super) pods: Vec<&'a Pod>,
    pub(super) workloads: Vec<WorkloadOutcome<'a>>,
    /// Objects of which a controller may make pods in the namespace.
    pub(super) custom_resources: Option<&'a CustomResourcesOfNamespace>,
    /// The places of the workloads by each label of their templates.
    by_label: BTreeMap<(&'a Text, &'a Text), Vec<usize>>,
    /// The places of those that may have further labels.
    open: Vec<usize>,
}

impl<'a> Manifests<'a> {
    pub(super) fn add_workload(&mut self, workload: &'a Workload, outcome: &'a WorkloadPods) {
        let place = self.workloads.len();
        self.workloads.push((workload, outcome));
        for label in workload.template.labels.iter() {
            self.by_label.entry(label).or_default().push(place);
        }
        if workload.controller_adds_labels() {
            self.open.push(place);
        }
    }

    /// The workloads whose pods a selector may select, in their order.
    pub(super) fn selected_by(&self, selector: &'a Labels) -> Vec<WorkloadOutcome<'a>> {
        let known = selector.iter().filter(|(key, _)| !is_opaque(key));
        let none = Vec::new();
        // The rarest of the labels: thousands of Services may each select one of thousands of workloads.
        let rarest = known.map(|label| self.by_label.get(&label).unwrap_or(&none)).min_by_key(|places| places.len());
        let mut places: Vec<usize> = match rarest {
            Some(rarest) => rarest.iter().chain(&self.open).copied().collect(),
            None => (0..self.workloads.len()).collect(),
        };
        places.sort_unstable();
        places.dedup();
        let workloads = places.into_iter().map(|place| self.workloads[place]);
        workloads.filter(|(workload, _)| workload.is_selected_by(selector)).collect()
    }

    /// Whether all that is known of the namespace comes from a cluster, which shows the pods themselves.
    pub(super) fn is_recorded(&self) -> bool {
        self.workloads.is_empty() && self.pods.iter().any(|p| !p.reference.uid.is_empty())
    }

    /// The workloads, and the pods that were never in a cluster.
    pub(super) fn candidates(&self) -> impl Iterator<Item = Candidate<'a>> {
        let pods = self.pods.iter().filter(|p| p.reference.uid.is_empty()).map(|p| Candidate::Pod(p));
        self.workloads.iter().map(|(w, _)| Candidate::Workload(w)).chain(pods)
    }
}

/// A finding about a field of a Service.
pub(super) fn of_service(code: Reason, service: &Service, pointer: &str, message: String) -> Finding {
    Finding { pointer: Some(pointer.to_owned()), ..Finding::new(code, service.key(), message) }
}
