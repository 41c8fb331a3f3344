//! Autoscalers that cannot compute how many pods there should be: a metric that has no value, or another autoscaler.

use std::collections::BTreeSet;

use super::{
    letters::may_be_mistyped, listing::list, manifests::Manifests, matching::workload_name,
    scale_targets::of_autoscaler,
};
use crate::{
    engine::reason::{Finding, Reason, Severity},
    inventory::workloads::{
        autoscaler::{Autoscaler, ResourceMetric},
        requests::ContainerRequests,
        workload::{Workload, api_group},
    },
    model::{Text, json::message::shortened},
};

/// Most containers whose names are compared with that of a metric.
const MAX_COMPARED: usize = 256;

/// The findings about the metrics of an autoscaler, whose workload this is.
pub(super) fn check_metrics(autoscaler: &Autoscaler, workload: &Workload) -> Vec<Finding> {
    // An API server refuses a template without containers.
    if workload.template.requests.is_empty() {
        return Vec::new();
    }
    let check =
        |metric| check_container(autoscaler, metric, workload).or_else(|| check_request(autoscaler, metric, workload));
    autoscaler.metrics.iter().filter_map(check).collect()
}

/// Whether the container of a metric exists. What does not look like a typo may be the name of a sidecar that an admission webhook adds.
fn check_container(autoscaler: &Autoscaler, metric: &ResourceMetric, workload: &Workload) -> Option<Finding> {
    let wanted = metric.container.as_ref().filter(|wanted| !wanted.is_empty())?;
    let containers = &workload.template.requests;
    if containers.iter().any(|container| container.name == *wanted) {
        return None;
    }
    let names = list(containers.iter().map(|container| container.name.as_str()));
    let verb = if containers.len() == 1 { "its only container is" } else { "its containers are" };
    let message = format!("no container of {} is named {}; {verb} {names}", workload_name(workload), shortened(wanted));
    let is_typo = containers.iter().take(MAX_COMPARED).any(|c| may_be_mistyped(&c.name, wanted));
    let severity = if is_typo { Reason::MetricContainerMissing.severity() } else { Severity::Info };
    let pointer = format!("{}/container", metric.pointer);
    Some(Finding { severity, ..of_autoscaler(Reason::MetricContainerMissing, autoscaler, pointer, message) })
}

/// Whether the containers ask for what a metric divides by (`calculateRequests`). Sidecars count, other init containers do not;
/// requests of the pod itself replace those of its containers.
fn check_request(autoscaler: &Autoscaler, metric: &ResourceMetric, workload: &Workload) -> Option<Finding> {
    let template = &workload.template;
    if !metric.is_utilization || (metric.container.is_none() && template.has_pod_requests) {
        return None;
    }
    let counts = |c: &&ContainerRequests| metric.container.as_ref().is_none_or(|wanted| c.name == *wanted);
    let lacks = |c: &&ContainerRequests| c.has(&metric.resource) == Some(false);
    let lacking: Vec<_> = template.requests.iter().filter(counts).filter(lacks).map(|c| c.name.as_str()).collect();
    let (container, verb) = match lacking.len() {
        0 => return None,
        1 => ("container", "has"),
        _ => ("containers", "have"),
    };
    let message = format!(
        "the {container} {} of {} {verb} no request for {}: without one, which a LimitRange may add, the metric has no value",
        list(lacking.into_iter()),
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
    /// The findings about workloads that several autoscalers name: the controller acts for none of them
    /// (`AmbiguousSelector`). Those of overlays are alternatives.
    pub(super) fn check_several_autoscalers(&self) -> Vec<Finding> {
        let mut all = self.autoscalers.clone();
        all.retain(|a| !a.is_of_overlay && !a.target.name.is_empty());
        // Stable: the autoscalers of one workload stay in their order.
        all.sort_by_key(|a| target(a));
        let mut findings = Vec::new();
        for autoscalers in all.chunk_by(|a, b| target(a) == target(b)) {
            let (kind, name, _) = target(autoscalers[0]);
            let names: BTreeSet<&str> = autoscalers.iter().map(|a| a.name.as_str()).collect();
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
            let finding = |a: &&Autoscaler| of_autoscaler(Reason::SeveralAutoscalers, a, pointer(), message.clone());
            findings.extend(autoscalers.iter().map(finding));
        }
        findings
    }
}
