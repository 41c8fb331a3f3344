//! The objects of one namespace.

use std::{
    collections::{BTreeSet, HashMap},
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
use crate::{
    inventory::{
        CustomResourcesOfNamespace,
        workloads::{assume::WorkloadPods, autoscaler::Autoscaler, workload::Workload},
    },
    units::Units,
};

/// A workload, and what became of it.
pub(super) type WorkloadOutcome<'a> = (&'a Workload, &'a WorkloadPods);

/// An object, and the number of its document.
#[derive(Clone, Copy, Debug)]
pub(super) struct Located<T> {
    pub(super) document: usize,
    pub(super) object: T,
}

/// Key and value of a label.
type Label<'a> = (&'a Text, &'a Text);

/// A selector of one unit, and the Services of the unit that have it, by their places.
pub(super) struct SelectorOfUnit<'a> {
    pub(super) selector: &'a Labels,
    pub(super) services: Vec<(usize, Located<&'a Service>)>,
}

/// The Services and workloads of a namespace, each kind in the order of the documents.
#[derive(Default)]
pub(super) struct Manifests<'a> {
    pub(super) services: Vec<Located<&'a Service>>,
    pub(super) pods: Vec<Located<&'a Pod>>,
    pub(super) workloads: Vec<Located<WorkloadOutcome<'a>>>,
    pub(super) autoscalers: Vec<Located<&'a Autoscaler>>,
    /// Objects of which a controller may make pods in the namespace.
    pub(super) custom_resources: Option<&'a CustomResourcesOfNamespace>,
    /// What of the namespace cannot be read.
    pub(super) unread: UnreadOfNamespace<'a>,
    /// The places of the workloads, and after them of the pods, in the index of all namespaces.
    pub(super) places: Range<usize>,
    /// The documents at these places: of the workloads, and then of the pods, each in order.
    documents: Vec<usize>,
    /// The first documents of the units that have pods from a cluster, and no workloads; sorted.
    recorded: Vec<usize>,
    /// The selectors of the Services, each once, with one of their labels, sorted by it.
    selectors: Vec<(Label<'a>, &'a Labels)>,
    /// Those that have no label which only a template gives.
    open_selectors: Vec<&'a Labels>,
    /// The places of the Services, by name.
    by_name: HashMap<&'a str, Vec<usize>, HashSeed>,
    /// The most pods that autoscalers allow, by the names of their workloads.
    most_replicas: HashMap<&'a str, i32, HashSeed>,
}

impl<'a> Manifests<'a> {
    /// Whether all that is known of a unit of the namespace comes from a cluster, which shows the pods themselves.
    pub(super) fn is_recorded(&self, unit: &Range<usize>) -> bool {
        self.recorded.binary_search(&unit.start).is_ok()
    }

    /// Whether some documents have a workload of the namespace.
    pub(super) fn has_workload(&self, documents: &Range<usize>) -> bool {
        let first = self.workloads.partition_point(|workload| workload.document < documents.start);
        self.workloads.get(first).is_some_and(|workload| workload.document < documents.end)
    }

    /// The units that have pods from a cluster, and no workloads.
    fn find_recorded(&mut self, units: &Units) {
        let unit = |document: usize| units.unit(document).start;
        let with_workloads: BTreeSet<usize> = self.workloads.iter().map(|workload| unit(workload.document)).collect();
        let recorded = self.pods.iter().filter(|pod| !pod.object.reference.uid.is_empty());
        let recorded: BTreeSet<usize> = recorded.map(|pod| unit(pod.document)).collect();
        self.recorded = recorded.difference(&with_workloads).copied().collect();
    }

    /// Makes the look-ups. To be called when all objects are added.
    pub(super) fn index(&mut self, index: &mut CandidateIndex<'a>, units: &Units) {
        self.workloads.sort_by_key(|workload| workload.document);
        self.find_recorded(units);
        let start = index.len();
        for workload in &self.workloads {
            index.push(Candidate::Workload(workload.object.0));
            self.documents.push(workload.document);
        }
        for pod in &self.pods {
            let is_written = || pod.object.reference.uid.is_empty();
            if (is_written() || !self.is_recorded(&units.unit(pod.document))) && index.push(Candidate::Pod(pod.object))
            {
                self.documents.push(pod.document);
            }
        }
        self.places = start..index.len();
        for (place, service) in self.services.iter().enumerate() {
            self.by_name.entry(&service.object.meta.name).or_default().push(place);
        }
        for Located { object: autoscaler, .. } in &self.autoscalers {
            let most = self.most_replicas.entry(&autoscaler.target.name).or_default();
            *most = autoscaler.max_replicas.max(autoscaler.min_replicas).max(*most);
        }
        let mut selectors: Vec<&Labels> = self.services.iter().filter_map(|s| selector(s.object)).collect();
        selectors.sort_unstable();
        selectors.dedup();
        for selector in selectors {
            match selector.iter().find(|(key, _)| !may_be_added(key)) {
                Some(label) => self.selectors.push((label, selector)),
                None => self.open_selectors.push(selector),
            }
        }
        self.selectors.sort_unstable();
    }

    /// The places of the workloads, and of the pods, of a range of documents.
    pub(super) fn places_in(&self, documents: &Range<usize>) -> [Range<usize>; 2] {
        let (workloads, pods) = self.documents.split_at(self.workloads.len());
        let places = |all: &[usize], start: usize| {
            let place = |limit: usize| start + all.partition_point(|document| *document < limit);
            place(documents.start)..place(documents.end)
        };
        [places(workloads, self.places.start), places(pods, self.places.start + workloads.len())]
    }

    /// Whether some documents have a workload or a pod.
    pub(super) fn has_candidate(&self, documents: &Range<usize>) -> bool {
        !self.places_in(documents).iter().all(Range::is_empty)
    }

    /// The document of the candidate at a place.
    pub(super) fn document_at(&self, place: usize) -> usize {
        self.documents[place - self.places.start]
    }

    /// The Services of each unit by their selectors, sorted. Services without one are left out.
    pub(super) fn by_selector(&self, units: &Units) -> Vec<SelectorOfUnit<'a>> {
        let mut all: Vec<(usize, &Labels, usize, Located<&Service>)> = Vec::new();
        for (place, service) in self.services.iter().enumerate() {
            if let Some(selector) = selector(service.object) {
                all.push((units.unit(service.document).start, selector, place, *service));
            }
        }
        all.sort_unstable_by_key(|(unit, selector, place, _)| (*unit, *selector, *place));
        let of_unit = |group: &[(usize, &'a Labels, usize, Located<&'a Service>)]| SelectorOfUnit {
            selector: group[0].1,
            services: group.iter().map(|(_, _, place, service)| (*place, *service)).collect(),
        };
        all.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)).map(of_unit).collect()
    }

    /// The most pods that an autoscaler allows a workload of this name, if there is one.
    pub(super) fn most_replicas(&self, workload: &Workload) -> Option<i32> {
        self.most_replicas.get(workload.name.as_str()).copied()
    }

    /// The places of the Services of this name that are nearest to a document: several are versions of one.
    pub(super) fn services_named(&self, name: &Text, document: usize, units: &Units) -> &[usize] {
        let Some(places) = self.by_name.get(name.as_str()) else { return &[] };
        nearest(places, document, units, |place| self.services[*place].document)
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

/// Of some objects in the order of their documents, those that are nearest to a document.
pub(super) fn nearest<'l, T>(
    all: &'l [T],
    document: usize,
    units: &Units,
    document_of: impl Fn(&T) -> usize,
) -> &'l [T] {
    let within = |documents: Range<usize>| {
        let place = |limit: usize| all.partition_point(|one| document_of(one) < limit);
        &all[place(documents.start)..place(documents.end)]
    };
    units.nearest(document).map(within).find(|found| !found.is_empty()).unwrap_or_default()
}

/// The selector of a Service, if it is not empty.
pub(super) fn selector(service: &Service) -> Option<&Labels> {
    service.selector.as_ref().filter(|selector| !selector.is_empty())
}

/// A finding about a field of a Service.
pub(super) fn of_service(code: Reason, service: &Service, pointer: &str, message: String) -> Finding {
    Finding { pointer: Some(pointer.to_owned()), ..Finding::new(code, service.key(), message) }
}
