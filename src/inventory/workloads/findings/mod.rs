//! What is wrong between Services and the workloads that they select, as far as the manifests show it.
//!
//! A directory of manifests seldom has everything that runs in a namespace. A finding is raised only if the manifests
//! themselves contradict each other, and nothing outside them could explain it.

mod manifests;
mod matching;
mod ports;
#[cfg(test)]
mod tests;
mod unmatched;

use std::collections::BTreeMap;

use self::{
    manifests::{Manifests, of_service},
    unmatched::OtherNamespaces,
};
use super::{
    assume::WorkloadPods,
    replicas::NoPods,
    template::LostProbe,
    workload::{Workload, WorkloadController},
};
use crate::{
    engine::reason::{Finding, Reason},
    inventory::CustomResources,
    model::{Pod, Service, ServiceType, Text},
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
    /// What became of the workloads.
    pub outcomes: &'a [(usize, WorkloadPods)],
    /// Objects of other kinds of which a controller may make pods.
    pub custom_resources: &'a CustomResources,
    /// The namespace of objects that do not name one; empty if all name theirs.
    pub assumed_namespace: &'a str,
}

/// The findings about Services and workloads, by namespace.
pub fn findings(objects: &ComparedObjects<'_>) -> Vec<Finding> {
    let mut namespaces: BTreeMap<&Text, Manifests<'_>> = BTreeMap::new();
    for (place, outcome) in objects.outcomes {
        let workload = &objects.workloads[*place];
        namespaces.entry(&workload.namespace).or_default().add_workload(workload, outcome);
    }
    for service in objects.services {
        namespaces.entry(&service.meta.namespace).or_default().services.push(service);
    }
    for pod in objects.pods {
        namespaces.entry(pod.namespace()).or_default().pods.push(pod);
    }
    let mut findings = Vec::new();
    for (namespace, manifests) in &mut namespaces {
        manifests.custom_resources = objects.custom_resources.of(namespace);
    }
    for (namespace, manifests) in &namespaces {
        let others = OtherNamespaces { all: &namespaces, own: namespace, assumed: objects.assumed_namespace };
        for &service in &manifests.services {
            manifests.check_service(service, &others, &mut findings);
        }
        for (workload, outcome) in &manifests.workloads {
            findings.extend(check_pods(workload, outcome));
            findings.extend(check_probes(workload));
            findings.extend(manifests.check_governing_service(workload));
        }
    }
    findings
}

impl<'a> Manifests<'a> {
    fn check_service(&self, service: &'a Service, others: &OtherNamespaces<'_, 'a>, findings: &mut Vec<Finding>) {
        let Some(selector) = service.selector.as_ref().filter(|s| !s.is_empty()) else { return };
        if service.kind == ServiceType::ExternalName || self.is_recorded() {
            return;
        }
        let selected = self.selected_by(selector);
        let has_pods = self.pods.iter().any(|p| selector.selects(&p.labels));
        if selected.is_empty() {
            if !has_pods {
                findings.extend(unmatched::finding(service, self, others));
            }
            return;
        }
        let workloads: Vec<&Workload> = selected.iter().map(|(w, _)| *w).collect();
        if !has_pods {
            findings.extend(ports::findings(service, &workloads));
        }
        match selected.as_slice() {
            [(workload, outcome)] => findings.extend(only_workload(service, workload, outcome)),
            _ => findings.extend(several_workloads(service, &selected)),
        }
        findings.extend(workloads.into_iter().filter_map(|w| unprobed(service, w)));
    }

    /// The Service that gives the pods of a StatefulSet their names.
    fn check_governing_service(&self, workload: &Workload) -> Option<Finding> {
        let WorkloadController::StatefulSet { service_name, .. } = &workload.controller else { return None };
        let (code, message) = match self.services.iter().find(|s| s.meta.name == *service_name) {
            Some(service) if service.headless() => return None,
            Some(_) => (
                Reason::GoverningServiceNotHeadless,
                format!("the Service {service_name} in serviceName has a cluster IP: DNS has no names of the pods"),
            ),
            None if service_name.is_empty() => {
                (Reason::GoverningServiceMissing, "there is no serviceName: DNS has no names of the pods".to_owned())
            }
            // The Service may be in another file that was not given.
            None if self.services.is_empty() => return None,
            None => (
                Reason::GoverningServiceMissing,
                format!("the Service {service_name} in serviceName is not among the manifests of the namespace"),
            ),
        };
        let pointer = Some("/spec/serviceName".to_owned());
        Some(Finding { pointer, ..Finding::new(code, workload.key(), message) })
    }
}

/// What a workload lacks that is the only one behind a Service.
fn only_workload(service: &Service, workload: &Workload, outcome: &WorkloadPods) -> Option<Finding> {
    let (kind, name) = (&workload.kind, &workload.name);
    match outcome {
        WorkloadPods::None(why) if !why.is_refusal() => {
            let message = format!("{kind} {name} is the only workload behind the Service and makes no pods: {why}");
            Some(of_service(Reason::NoReplicas, service, "/spec/selector", message))
        }
        WorkloadPods::Assumed(replicas) => {
            let WorkloadController::Deployment { strategy, .. } = &workload.controller else { return None };
            if *replicas == 0 || strategy.max_unavailable(*replicas) < *replicas {
                return None;
            }
            let why = if strategy.recreates() { "the strategy is Recreate" } else { "maxUnavailable allows it" };
            let message = format!(
                "a rollout may stop all {replicas} pods before new ones are ready ({why}), which leaves Service {} empty",
                service.meta.name
            );
            let pointer = Some("/spec/strategy".to_owned());
            Some(Finding { pointer, ..Finding::new(Reason::RolloutEmptiesService, workload.key(), message) })
        }
        _ => None,
    }
}

fn several_workloads(service: &Service, selected: &[(&Workload, &WorkloadPods)]) -> Option<Finding> {
    let with_pods = || selected.iter().filter(|(_, outcome)| !matches!(outcome, WorkloadPods::OfAnother));
    if with_pods().count() < 2 {
        return None;
    }
    let names = ports::list(with_pods().map(|(w, _)| format!("{} {}", w.kind, w.name)));
    let message = format!("the selector matches the pods of several workloads: {names}");
    Some(of_service(Reason::SeveralWorkloads, service, "/spec/selector", message))
}

/// A container without a readiness probe is ready as soon as it runs. Jobs end, and need none; nor do the pods of a Service
/// that publishes them before they are ready.
fn unprobed(service: &Service, workload: &Workload) -> Option<Finding> {
    let is_job = matches!(workload.controller, WorkloadController::Job(_) | WorkloadController::CronJob { .. });
    // One container with a probe is enough to hold a pod back.
    let template = &workload.template;
    if is_job || service.publish_not_ready || template.containers == 0 || template.unprobed.len() < template.containers
    {
        return None;
    }
    let containers = ports::list(template.unprobed.iter().map(ToString::to_string));
    let message = format!(
        "no container ({containers}) has a readinessProbe: Service {} sends to each pod as soon as it runs",
        service.meta.name
    );
    let pointer = Some("/spec/template/spec/containers".to_owned());
    Some(Finding { pointer, ..Finding::new(Reason::NoReadinessProbe, workload.key(), message) })
}

/// Whether a probe asks a port by a name that its container does not have.
fn check_probes(workload: &Workload) -> Option<Finding> {
    let LostProbe { container, probe, port } = workload.template.lost_probe.as_deref()?;
    let message = format!(
        "the {probe} of container {container} asks the port {port}, which the container does not have: no pod becomes ready"
    );
    let pointer = Some("/spec/template/spec/containers".to_owned());
    Some(Finding { pointer, ..Finding::new(Reason::ProbePortMissing, workload.key(), message) })
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
        WorkloadPods::Waiting(count) if *count > 0 => {
            (Reason::NoNodeFits, "/spec/template/spec", format!("no node of the input fits: {count} pods wait"))
        }
        WorkloadPods::TooMany(count) => {
            let message = format!("{count} pods are not assumed: they are too many, with those of the other workloads");
            (Reason::TooManyPods, "/spec/replicas", message)
        }
        _ => return None,
    };
    Some(Finding { pointer: Some(pointer.to_owned()), ..Finding::new(code, workload.key(), message) })
}
