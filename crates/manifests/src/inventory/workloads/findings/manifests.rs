//! The objects of one namespace.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
};

use roster_engine::{
    model::{HashSeed, Labels, Pod, Service, Text},
    reason::{Finding, Reason},
};

use super::{
    candidate_index::CandidateIndex,
    comparisons::{Comparisons, NotCompared},
    matching::{Candidate, may_be_added},
    unread_index::UnreadOfNamespace,
};
use crate::inventory::{
    CustomResourcesOfNamespace,
    workloads::{assume::WorkloadPods, autoscaler::Autoscaler, workload::Workload},
};

/// A workload, and what became of it.
pub(super) type WorkloadOutcome<'a> = (&'a Workload, &'a WorkloadPods);

/// Key and value of a label.
type Label<'a> = (&'a Text, &'a Text);

/// The Services and workloads of a namespace.
#[derive(Default)]
pub(super) struct Manifests<'a> {
    pub(super) services: Vec<&'a Service>,
    pub(super) pods: Vec<&'a Pod>,
    pub(super) workloads: Vec<WorkloadOutcome<'a>>,
    pub(super) autoscalers: Vec<&'a Autoscaler>,
    /// Objects of which a controller may make pods in the namespace.
    pub(super) custom_resources: Option<&'a CustomResourcesOfNamespace>,
    /// What of the namespace cannot be read.
    pub(super) unread: UnreadOfNamespace<'a>,
    /// The places of the workloads, and after them of the pods, in the index of all namespaces.
    pub(super) places: Range<usize>,
    /// The selectors of the Services, each once, with one of their labels, sorted by it.
    selectors: Vec<(Label<'a>, &'a Labels)>,
    /// Those that have no label which only a template gives.
    open_selectors: Vec<&'a Labels>,
    /// The places of the Services, by name.
    by_name: BTreeMap<&'a str, usize>,
    /// The most pods that autoscalers allow, by the names of their workloads.
    most_replicas: HashMap<&'a str, i32, HashSeed>,
}

impl<'a> Manifests<'a> {
    /// Whether all that is known of the namespace comes from a cluster, which shows the pods themselves.
    pub(super) fn is_recorded(&self) -> bool {
        self.workloads.is_empty() && self.pods.iter().any(|p| !p.reference.uid.is_empty())
    }

    /// Makes the look-ups. To be called when all objects are added.
    pub(super) fn index(&mut self, index: &mut CandidateIndex<'a>) {
        let start = index.len();
        self.workloads.iter().for_each(|(workload, _)| index.push(Candidate::Workload(workload)));
        let is_recorded = self.is_recorded();
        let is_compared = |p: &&&Pod| !is_recorded || p.reference.uid.is_empty();
        self.pods.iter().filter(is_compared).for_each(|pod| index.push(Candidate::Pod(pod)));
        self.places = start..index.len();
        for (place, service) in self.services.iter().enumerate() {
            self.by_name.entry(&service.meta.name).or_insert(place);
        }
        for autoscaler in &self.autoscalers {
            let most = self.most_replicas.entry(&autoscaler.target.name).or_default();
            *most = autoscaler.max_replicas.max(autoscaler.min_replicas).max(*most);
        }
        for (selector, _) in self.by_selector() {
            match selector.iter().find(|(key, _)| !may_be_added(key)) {
                Some(label) => self.selectors.push((label, selector)),
                None => self.open_selectors.push(selector),
            }
        }
        self.selectors.sort_unstable();
    }

    /// The Services by their selectors, with their places; sorted. Services without one are left out.
    pub(super) fn by_selector(&self) -> Vec<(&'a Labels, Vec<(usize, &'a Service)>)> {
        let selector = |service: &'a Service| service.selector.as_ref().filter(|selector| !selector.is_empty());
        let places = self.services.iter().copied().enumerate();
        let mut all: Vec<(&Labels, usize, &Service)> =
            places.filter_map(|(place, service)| Some((selector(service)?, place, service))).collect();
        all.sort_unstable_by_key(|(selector, place, _)| (*selector, *place));
        let services = |group: &[(&'a Labels, usize, &'a Service)]| {
            (group[0].0, group.iter().map(|(_, place, service)| (*place, *service)).collect())
        };
        all.chunk_by(|a, b| a.0 == b.0).map(services).collect()
    }

    /// The most pods that an autoscaler allows a workload of this name, if there is one.
    pub(super) fn most_replicas(&self, workload: &Workload) -> Option<i32> {
        self.most_replicas.get(workload.name.as_str()).copied()
    }

    /// The Service of this name.
    pub(super) fn service(&self, name: &Text) -> Option<&'a Service> {
        self.by_name.get(name.as_str()).map(|place| self.services[*place])
    }

    /// Selectors that select the pods of a candidate: of thousands, the first.
    pub(super) fn selectors_of(
        &self,
        candidate: Candidate<'a>,
        comparisons: &Comparisons,
    ) -> impl Iterator<Item = Result<&'a Labels, NotCompared>> {
        const MAX_SELECTORS: usize = 1024;
        let has_any = candidate.may_have_any_label();
        let all = has_any.then_some(&self.selectors);
        let by_label = (!has_any).then(|| candidate.labels().iter().flat_map(|label| self.selectors_with(label)));
        let selectors = all.into_iter().flatten().chain(by_label.into_iter().flatten()).map(|(_, selector)| *selector);
        let selectors = selectors.chain(self.open_selectors.iter().copied());
        selectors.take(MAX_SELECTORS).filter_map(move |selector| match comparisons.take_selector(selector, 1) {
            Ok(()) => candidate.is_selected_by(selector).then_some(Ok(selector)),
            Err(not_compared) => Some(Err(not_compared)),
        })
    }

    /// The selectors that are found by a label.
    fn selectors_with(&self, label: Label<'_>) -> &[(Label<'a>, &'a Labels)] {
        let from = &self.selectors[self.selectors.partition_point(|(of, _)| *of < label)..];
        &from[..from.partition_point(|(of, _)| *of == label)]
    }
}

/// A finding about a field of a Service.
pub(super) fn of_service(code: Reason, service: &Service, pointer: &str, message: String) -> Finding {
    Finding { pointer: Some(pointer.to_owned()), ..Finding::new(code, service.key(), message) }
}
