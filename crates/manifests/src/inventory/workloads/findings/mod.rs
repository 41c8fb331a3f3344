//! What is wrong between Services and the workloads that they select, as far as the manifests show it.
//!
//! A directory of manifests seldom has everything that runs in a namespace. A finding is raised only if the manifests
//! themselves contradict each other, and nothing outside them could explain it.

mod candidate_index;
mod comparisons;
mod governing_service;
mod listing;
mod manifests;
#[cfg(test)]
mod many_tests;
mod matching;
mod near_miss;
mod numbered_pods;
mod ports;
mod scale_targets;
mod scaling_metrics;
#[cfg(test)]
mod scaling_tests;
mod selected_objects;
#[cfg(test)]
mod selected_tests;
mod selection;
mod service_checks;
mod service_references;
#[cfg(test)]
mod tests;
mod unassumed;
mod unmatched;
mod unread_index;
#[cfg(test)]
mod unread_tests;

use std::collections::{BTreeMap, BTreeSet};

use self::{
    candidate_index::CandidateIndex,
    comparisons::{Comparisons, MAX_COMPARISONS},
    listing::{ServiceNames, list},
    manifests::{Located, Manifests},
    scale_targets::{ByOwner, ScaleTargets},
    scaling_metrics::MetricChecks,
    selection::MAX_VERSIONS,
    service_checks::{CheckedServices, ServiceChecks},
    unmatched::Namespaces,
};
pub use self::{
    selected_objects::{ObjectSelections, ObjectSelector, PortNames, SelectedObjects},
    service_references::{NamedService, ServiceReference, ServiceReferences},
    unassumed::UnassumedWorkloads,
    unread_index::{UnreadIndex, UnreadMatch, UnreadOfNamespace},
};
use roster_engine::{
    model::{Pod, Service, Text},
    reason::{Finding, Reason, Severity},
};

use super::{
    assume::WorkloadPods,
    autoscaler::Autoscaler,
    replicas::NoPods,
    template::LostProbe,
    unread::UnreadObjects,
    workload::{Workload, WorkloadController, api_group},
};
use crate::{
    inventory::{CustomResources, Inventory},
    units::Units,
};

/// The objects that are compared.
#[derive(Clone, Copy, Debug)]
pub struct ComparedObjects<'a> {
    /// The Services.
    pub services: &'a [Service],
    /// The pods of the input, without assumed ones.
    pub pods: &'a [Pod],
    /// The workloads, and by their places what became of them.
    pub workloads: &'a [Workload],
    /// The autoscalers.
    pub autoscalers: &'a [Autoscaler],
    /// What became of the workloads.
    pub outcomes: &'a [(usize, WorkloadPods)],
    /// Objects of other kinds of which a controller may make pods.
    pub custom_resources: &'a CustomResources,
    /// Objects that cannot be read.
    pub unread: &'a UnreadObjects,
    /// The namespace of objects that do not name one; empty if all name theirs.
    pub assumed_namespace: &'a str,
    /// The documents of the objects.
    pub documents: &'a ObjectDocuments,
    /// What is applied together.
    pub units: &'a Units,
    /// For each document, whether a kustomization changes it before it is applied; those beyond the end are applied as they are.
    pub unrendered: &'a [bool],
    /// For each document, whether it is data of a test, which is complete only in itself.
    pub in_tests: &'a [bool],
}

/// The numbers of the documents that objects come from, for each kind in the order of the objects. They ascend.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are Kubernetes' kinds")]
pub struct ObjectDocuments {
    pub services: Vec<usize>,
    pub pods: Vec<usize>,
    pub workloads: Vec<usize>,
    pub autoscalers: Vec<usize>,
    pub nodes: Vec<usize>,
}

impl ObjectDocuments {
    /// All of them from one document.
    #[cfg(test)]
    pub(super) fn one(services: usize, pods: usize, workloads: usize, autoscalers: usize) -> Self {
        let [services, pods, workloads, autoscalers] =
            [services, pods, workloads, autoscalers].map(|count| vec![0; count]);
        Self { services, pods, workloads, autoscalers, nodes: Vec::new() }
    }

    /// Adds the objects of a document.
    pub fn add(&mut self, document: usize, objects: &Inventory) {
        let Self { services, pods, workloads, autoscalers, nodes } = self;
        let counts = [
            objects.services.len(),
            objects.pods.len(),
            objects.workloads.len(),
            objects.autoscalers.len(),
            objects.nodes.len(),
        ];
        for (of_kind, count) in [services, pods, workloads, autoscalers, nodes].into_iter().zip(counts) {
            of_kind.extend(std::iter::repeat_n(document, count));
        }
    }
}

/// The findings about Services and workloads, by namespace, each with the number of the document that it is about.
pub fn findings(objects: &ComparedObjects<'_>) -> Vec<(usize, Finding)> {
    Comparison::new(objects, &UnreadIndex::new(objects.unread)).findings()
}

/// The objects of all namespaces, indexed for whatever is asked about them together.
pub struct Comparison<'a> {
    objects: ComparedObjects<'a>,
    all: BTreeMap<&'a Text, Manifests<'a>>,
    index: CandidateIndex<'a>,
    comparisons: Comparisons,
}

impl<'a> Comparison<'a> {
    /// An index of these objects, and of those that cannot be read.
    pub fn new(objects: &ComparedObjects<'a>, unread: &'a UnreadIndex<'a>) -> Self {
        Self::within(objects, unread, MAX_COMPARISONS)
    }

    /// The same, with a limit on comparisons.
    fn within(objects: &ComparedObjects<'a>, unread: &'a UnreadIndex<'a>, comparisons: usize) -> Self {
        let (all, index) = by_namespace(objects, unread);
        Self { objects: *objects, all, index, comparisons: Comparisons::new(comparisons) }
    }

    fn namespaces(&self) -> Namespaces<'_, 'a> {
        Namespaces {
            all: &self.all,
            index: &self.index,
            units: self.objects.units,
            unrendered: self.objects.unrendered,
            in_tests: self.objects.in_tests,
            assumed: self.objects.assumed_namespace,
        }
    }

    /// The findings about Services and workloads, by namespace, each with the number of the document that it is about.
    pub fn findings(&self) -> Vec<(usize, Finding)> {
        let (objects, namespaces, comparisons) = (&self.objects, self.namespaces(), &self.comparisons);
        let mut elsewhere = ByOwner::default();
        for (place, _) in objects.outcomes.iter().filter(|_| !objects.autoscalers.is_empty()) {
            let workload = &objects.workloads[*place];
            elsewhere.entry((&workload.name, &workload.kind, api_group(&workload.api_version))).or_insert(workload);
        }
        let mut findings = Vec::new();
        for (namespace, manifests) in &self.all {
            let mut services = ServiceChecks::new(namespace, manifests, &namespaces);
            services.check(comparisons);
            let CheckedServices { findings: of_services, backed, selected } = services.finish();
            findings.extend(of_services);
            for (placed, backed) in manifests.workloads.iter().zip(&backed) {
                let Located { document, object: (workload, outcome) } = *placed;
                let at = Located { document, object: workload };
                let is_judged = namespaces.is_judged(document);
                let of_pods = check_pods(workload, outcome).filter(|f| is_judged || f.code != Reason::PodsRefused);
                let mut of_workload: Vec<Finding> = of_pods.into_iter().chain(check_probes(workload)).collect();
                if is_judged {
                    of_workload.extend(manifests.check_governing_service(at, &selected, &namespaces));
                    of_workload.extend(manifests.check_subdomain(at, objects.units));
                    of_workload.extend(check_rollout(workload, outcome, &backed.alone));
                    of_workload.extend(check_readiness(workload, &backed.waiting));
                }
                findings.extend(of_workload.into_iter().map(|object| Located { document, object }));
            }
            findings.extend(manifests.check_autoscalers(&namespaces, &elsewhere, comparisons));
        }
        findings.into_iter().map(|Located { document, object }| (document, object)).collect()
    }
}

/// The objects of each namespace, and the index of all that selectors may select.
fn by_namespace<'a>(
    objects: &ComparedObjects<'a>,
    unread: &'a UnreadIndex<'a>,
) -> (BTreeMap<&'a Text, Manifests<'a>>, CandidateIndex<'a>) {
    let mut all: BTreeMap<&Text, Manifests<'_>> = BTreeMap::new();
    let documents = objects.documents;
    for (place, outcome) in objects.outcomes {
        let workload = &objects.workloads[*place];
        let placed = Located { document: documents.workloads[*place], object: (workload, outcome) };
        all.entry(&workload.namespace).or_default().workloads.push(placed);
    }
    for (object, document) in objects.services.iter().zip(&documents.services) {
        all.entry(&object.meta.namespace).or_default().services.push(Located { document: *document, object });
    }
    for (object, document) in objects.autoscalers.iter().zip(&documents.autoscalers) {
        all.entry(&object.namespace).or_default().autoscalers.push(Located { document: *document, object });
    }
    for (object, document) in objects.pods.iter().zip(&documents.pods) {
        all.entry(object.namespace()).or_default().pods.push(Located { document: *document, object });
    }
    let mut index = CandidateIndex::default();
    for (namespace, manifests) in &mut all {
        manifests.custom_resources = objects.custom_resources.of(namespace);
        manifests.unread = unread.of(namespace);
        manifests.index(&mut index, objects.units);
    }
    (all, index)
}

impl<'a> Manifests<'a> {
    /// The findings about the autoscalers of the namespace.
    fn check_autoscalers(
        &self,
        namespaces: &Namespaces<'_, 'a>,
        elsewhere: &ByOwner<'a>,
        comparisons: &Comparisons,
    ) -> Vec<Located<Finding>> {
        if self.autoscalers.is_empty() {
            return Vec::new();
        }
        let targets = ScaleTargets::new(self, namespaces, elsewhere, comparisons);
        let mut metrics = MetricChecks::default();
        let mut findings = Vec::new();
        for autoscaler in self.autoscalers.iter().filter(|autoscaler| namespaces.is_judged(autoscaler.document)) {
            let mut found: Vec<Finding> = targets.check(*autoscaler).into_iter().collect();
            let versions = targets.of(*autoscaler).iter().take(MAX_VERSIONS);
            found.extend(in_all_versions(
                versions.map(|workload| metrics.check(autoscaler.object, workload.object, comparisons)),
            ));
            findings.extend(found.into_iter().map(|object| Located { document: autoscaler.document, object }));
        }
        findings.extend(self.check_several_autoscalers(namespaces, &targets));
        findings
    }
}

/// What is found in each of several versions, in the words of the first one.
fn in_all_versions(mut found: impl Iterator<Item = Vec<Finding>>) -> Vec<Finding> {
    let place = |finding: &Finding| (finding.code, finding.pointer.clone());
    let mut common = found.next().unwrap_or_default();
    for other in found {
        let of_other: BTreeSet<_> = other.iter().map(place).collect();
        common.retain(|finding| of_other.contains(&place(finding)));
    }
    common
}

/// Whether a rollout may leave the Services empty that have no other workload.
fn check_rollout(workload: &Workload, outcome: &WorkloadPods, services: &ServiceNames<'_>) -> Option<Finding> {
    let (WorkloadPods::Assumed(replicas), WorkloadController::Deployment { strategy, .. }) =
        (outcome, &workload.controller)
    else {
        return None;
    };
    if services.is_empty() || *replicas == 0 || strategy.max_unavailable(*replicas) < *replicas {
        return None;
    }
    let pointer = Some("/spec/strategy".to_owned());
    if strategy.recreates() {
        let pods = if *replicas == 1 { "its only pod".to_owned() } else { format!("all {replicas} pods") };
        let message = format!(
            "a rollout stops {pods} before it starts new ones (Recreate), which leaves {} empty",
            services.text()
        );
        let finding = Finding::new(Reason::RolloutEmptiesService, workload.key(), message);
        return Some(Finding { pointer, severity: Severity::Info, ..finding });
    }
    let pods = match replicas {
        1 => "its only pod before a new one is".to_owned(),
        n => format!("all {n} pods before new ones are"),
    };
    let message =
        format!("a rollout may stop {pods} ready (maxUnavailable allows it), which leaves {} empty", services.text());
    Some(Finding { pointer, ..Finding::new(Reason::RolloutEmptiesService, workload.key(), message) })
}

/// A container without a readiness probe is ready as soon as it runs. Jobs end, and need none.
fn check_readiness(workload: &Workload, services: &ServiceNames<'_>) -> Option<Finding> {
    // One container with a probe is enough to hold a pod back.
    let template = &workload.template;
    if workload.is_job()
        || workload.is_hook
        || services.is_empty()
        || template.containers == 0
        || template.unprobed.len() < template.containers
    {
        return None;
    }
    let containers = list(template.unprobed.iter().map(Text::as_str));
    let message = format!(
        "no container ({containers}) has a readinessProbe: {} {} traffic to each pod before the pod can answer",
        services.text(),
        services.verb("sends", "send")
    );
    let pointer = Some("/spec/template/spec/containers".to_owned());
    Some(Finding { pointer, ..Finding::new(Reason::NoReadinessProbe, workload.key(), message) })
}

/// Whether a probe asks a port that its container does not have.
fn check_probes(workload: &Workload) -> Option<Finding> {
    let template = &workload.template;
    let (lost, severity) = match (template.lost_probe.as_deref(), template.undeclared_probe.as_deref()) {
        (Some(lost), _) => (lost, Severity::Warning),
        (None, undeclared) => (undeclared?, Severity::Info),
    };
    let LostProbe { container, probe, port, path } = lost;
    let asks = format!("the {probe} of container {container} asks the port {port}");
    let message = if severity == Severity::Warning {
        format!("{asks}, which the container does not have: no pod becomes ready")
    } else {
        format!("{asks}, which no container declares: if none listens there, no pod becomes ready")
    };
    let pointer = Some(format!("{}/spec{path}", workload.template_pointer()));
    Some(Finding { pointer, severity, ..Finding::new(Reason::ProbePortMissing, workload.key(), message) })
}

/// Whether pods are refused, wait, or are too many.
fn check_pods(workload: &Workload, outcome: &WorkloadPods) -> Option<Finding> {
    let (code, pointer, message) = match outcome {
        WorkloadPods::None(why) if why.is_refusal() => {
            let pointer = match why {
                NoPods::SelectorDiffers => "/spec/selector",
                NoPods::HostPortTwice(_) => "/spec/template/spec/containers",
                _ => "/metadata/name",
            };
            (Reason::PodsRefused, pointer, format!("no pod is made: {why}"))
        }
        WorkloadPods::Waiting(count) if *count > 0 => (Reason::NoNodeFits, "/spec/template/spec", waiting_text(*count)),
        WorkloadPods::TooMany(count) => return Some(too_many_pods(workload, *count)),
        _ => return None,
    };
    Some(Finding { pointer: Some(pointer.to_owned()), ..Finding::new(code, workload.key(), message) })
}

/// The finding about pods that are too many, at the field that says how many.
fn too_many_pods(workload: &Workload, count: u32) -> Finding {
    let message = format!(
        "{count} pods are not assumed: they are too many, with those of the other workloads and counted for each Service \
         that may select them"
    );
    Finding { pointer: workload.number_pointer(), ..Finding::new(Reason::TooManyPods, workload.key(), message) }
}

fn waiting_text(count: u32) -> String {
    match count {
        1 => "no node of the input fits: 1 pod waits".to_owned(),
        n => format!("no node of the input fits: {n} pods wait"),
    }
}
