//! Autoscalers that cannot compute how many pods there should be: a metric that has no value, or another autoscaler.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use roster_engine::{
    model::{
        HashSeed, Text,
        json::message::shortened,
        spelling::{are_alike, typo},
    },
    reason::{Finding, Reason, Severity},
};

use super::{
    comparisons::Comparisons,
    listing::list,
    manifests::{Located, Manifests},
    matching::workload_name,
    scale_targets::{ScaleTargets, of_autoscaler},
    unmatched::Namespaces,
};
use crate::inventory::workloads::{
    autoscaler::{Autoscaler, ResourceMetric},
    requests::ContainerRequests,
    workload::{Workload, api_group},
};

/// Most containers whose names are compared with that of a metric.
const MAX_COMPARED: usize = 256;

/// Checks the metrics of autoscalers. Any number of them may ask for the containers of one workload.
#[derive(Default)]
pub(super) struct MetricChecks<'a> {
    containers: HashMap<*const Workload, ContainersByName<'a>, HashSeed>,
}

/// The containers of a workload, as metrics ask for them.
struct ContainersByName<'a> {
    by_name: BTreeMap<&'a str, Vec<&'a ContainerRequests>>,
    /// The names of the first, and how many there are.
    names: String,
    /// The names of those without a request for CPU and for memory.
    without_cpu: Lacking,
    without_memory: Lacking,
}

/// The names of containers that lack a request, and how many they are.
#[derive(Clone, Debug, Default)]
struct Lacking {
    names: String,
    count: usize,
}

impl Lacking {
    fn of<'c>(resource: &str, containers: impl Iterator<Item = &'c ContainerRequests>) -> Self {
        let lacks = |c: &&ContainerRequests| c.has(resource) == Some(false);
        let names: Vec<&str> = containers.filter(lacks).map(|c| c.name.as_str()).collect();
        Self { count: names.len(), names: list(names.into_iter()) }
    }
}

impl<'a> ContainersByName<'a> {
    fn of(workload: &'a Workload) -> Self {
        let all = &workload.template.requests;
        let mut by_name: BTreeMap<&str, Vec<&ContainerRequests>> = BTreeMap::new();
        for container in all {
            by_name.entry(&container.name).or_default().push(container);
        }
        Self {
            by_name,
            names: list(all.iter().map(|container| container.name.as_str())),
            without_cpu: Lacking::of("cpu", all.iter()),
            without_memory: Lacking::of("memory", all.iter()),
        }
    }

    /// The containers that lack a request for what a metric asks for.
    fn lacking(&self, metric: &ResourceMetric) -> Lacking {
        match (&metric.container, metric.resource.as_str()) {
            (Some(name), resource) => {
                let of_name = self.by_name.get(name.as_str()).map(Vec::as_slice).unwrap_or_default();
                // An API server refuses two containers of one name.
                Lacking::of(resource, of_name.iter().take(MAX_COMPARED).copied())
            }
            (None, "cpu") => self.without_cpu.clone(),
            (None, "memory") => self.without_memory.clone(),
            (None, _) => Lacking::default(),
        }
    }
}

impl<'a> MetricChecks<'a> {
    /// The findings about the metrics of an autoscaler, whose workload this is.
    pub(super) fn check(
        &mut self,
        autoscaler: &Autoscaler,
        workload: &'a Workload,
        comparisons: &Comparisons,
    ) -> Vec<Finding> {
        // An API server refuses a template without containers.
        if workload.template.requests.is_empty() || autoscaler.metrics.is_empty() {
            return Vec::new();
        }
        let containers =
            self.containers.entry(std::ptr::from_ref(workload)).or_insert_with(|| ContainersByName::of(workload));
        let check = |metric| {
            check_container(autoscaler, metric, workload, containers, comparisons)
                .or_else(|| check_request(autoscaler, metric, workload, containers))
        };
        autoscaler.metrics.iter().filter_map(check).collect()
    }
}

/// Whether the container of a metric exists. What does not look like a typo may be the name of a sidecar that an admission webhook adds.
fn check_container(
    autoscaler: &Autoscaler,
    metric: &ResourceMetric,
    workload: &Workload,
    known: &ContainersByName<'_>,
    comparisons: &Comparisons,
) -> Option<Finding> {
    let wanted = metric.container.as_ref().filter(|wanted| !wanted.is_empty())?;
    if known.by_name.contains_key(wanted.as_str()) {
        return None;
    }
    let containers = &workload.template.requests;
    let verb = if containers.len() == 1 { "its only container is" } else { "its containers are" };
    let (of, names) = (workload_name(workload), &known.names);
    let mut message = format!("no container of {of} is named {}; {verb} {names}", shortened(wanted));
    let compared = containers.iter().take(MAX_COMPARED);
    let alike = || compared.clone().filter(|c| are_alike(c.name.len(), wanted.len()));
    let is_compared = comparisons.take_mistyped(wanted.len(), alike().count()).is_ok();
    if !is_compared {
        message += "; too many names are compared to find the nearest";
    }
    let is_typo = is_compared && alike().any(|c| typo(&c.name, wanted).is_some());
    let severity = if is_typo { Reason::MetricContainerMissing.severity() } else { Severity::Info };
    let pointer = format!("{}/container", metric.pointer);
    Some(Finding { severity, ..of_autoscaler(Reason::MetricContainerMissing, autoscaler, pointer, message) })
}

/// Whether the containers ask for what a metric divides by (`calculateRequests`). Sidecars count, other init containers do not;
/// requests of the pod itself replace those of its containers.
fn check_request(
    autoscaler: &Autoscaler,
    metric: &ResourceMetric,
    workload: &Workload,
    known: &ContainersByName<'_>,
) -> Option<Finding> {
    if !metric.is_utilization || (metric.container.is_none() && workload.template.has_pod_requests) {
        return None;
    }
    let Lacking { names, count } = known.lacking(metric);
    let (container, verb) = match count {
        0 => return None,
        1 => ("container", "has"),
        _ => ("containers", "have"),
    };
    let message = format!(
        "the {container} {names} of {} {verb} no request for {}: without one, which a LimitRange may add, the metric has no value",
        workload_name(workload),
        metric.resource
    );
    Some(of_autoscaler(Reason::MetricRequestMissing, autoscaler, metric.pointer.clone(), message))
}

/// Kind, name and group of the workload that an autoscaler names.
fn target(autoscaler: &Autoscaler) -> (&Text, &Text, &str) {
    let target = &autoscaler.target;
    (&target.kind, &target.name, api_group(&target.api_version))
}

impl Manifests<'_> {
    /// The findings about workloads that several autoscalers of one unit name: the controller acts for none of them
    /// (`AmbiguousSelector`). An autoscaler that leaves the workloads beside it for one of another unit counts there, if both
    /// name their namespace.
    pub(super) fn check_several_autoscalers(
        &self,
        namespaces: &Namespaces<'_, '_>,
        targets: &ScaleTargets<'_, '_>,
    ) -> Vec<Located<Finding>> {
        let unit_of = |document| namespaces.units.unit(document);
        let unit = |autoscaler: &Located<&Autoscaler>| {
            let own = unit_of(autoscaler.document);
            let is_placed = autoscaler.object.namespace != namespaces.assumed;
            match targets.of(*autoscaler) {
                [target] if is_placed && self.has_workload(&own) => unit_of(target.document).start,
                _ => own.start,
            }
        };
        let mut all = self.autoscalers.clone();
        all.retain(|a| namespaces.is_judged(a.document) && !a.object.target.name.is_empty());
        // Stable: the autoscalers of one workload stay in their order.
        all.sort_by_cached_key(|a| (unit(a), target(a.object)));
        let mut findings = Vec::new();
        for autoscalers in all.chunk_by(|a, b| (unit(a), target(a.object)) == (unit(b), target(b.object))) {
            let (kind, name, _) = target(autoscalers[0].object);
            let names: BTreeSet<&str> = autoscalers.iter().map(|a| a.object.name.as_str()).collect();
            if names.len() < 2 {
                continue;
            }
            let message = format!(
                "{} autoscalers scale {} {}, so that none of them does: {}",
                names.len(),
                shortened(kind),
                shortened(name),
                list(names.into_iter())
            );
            let pointer = || "/spec/scaleTargetRef".to_owned();
            let finding = |a: &Located<&Autoscaler>| Located {
                document: a.document,
                object: of_autoscaler(Reason::SeveralAutoscalers, a.object, pointer(), message.clone()),
            };
            findings.extend(autoscalers.iter().map(finding));
        }
        findings
    }
}
