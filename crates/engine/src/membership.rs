//! Membership: the pods that a Service selects, and those of them that can be published. Shared by Endpoints and slices.

use std::{fmt::Write, sync::Arc};

use crate::{
    model::{Labels, Pod, PodPhase, PodReadiness, Service, ServiceType, Text},
    phrase::clip,
    profile::Profile,
    reason::Reason,
};

/// The pods that `service` selects: same namespace, labels that match. Without a selector, none.
pub fn selected<'a>(service: &Service, pods: &[&'a Pod]) -> Vec<&'a Pod> {
    let Some(selector) = &service.selector else { return Vec::new() };
    // Pods of one workload share their labels, and mostly follow each other.
    let mut last: Option<(&Arc<Labels>, bool)> = None;
    let mut is_selected = |labels: &'a Arc<Labels>| match last {
        Some((known, selected)) if Arc::ptr_eq(known, labels) => selected,
        _ => last.insert((labels, selector.selects(labels))).1,
    };
    let chosen = |p: &&'a Pod| is_selected(&p.labels) && *p.namespace() == service.meta.namespace;
    pods.iter().copied().filter(chosen).collect()
}

/// Why a pod is not a candidate, whatever its ports (`ShouldPodBeInEndpoints`).
#[inline]
pub(crate) fn excluded(pod: &Pod, include_terminating: bool) -> Option<Reason> {
    if pod.phase != PodPhase::Live {
        return Some(Reason::PodEnded);
    }
    if !pod.has_pod_ip && pod.ips.is_empty() {
        return Some(Reason::NoPodIp);
    }
    if pod.deleting && !include_terminating {
        return Some(Reason::Terminating);
    }
    None
}

/// Whether the Endpoints and EndpointSlice controllers handle this Service.
pub(crate) fn serves(service: &Service, profile: &Profile) -> bool {
    service.selector.is_some() && !only_a_name(service, profile)
}

/// Whether the Service is only a CNAME for this release (versions.md#e3).
pub(crate) fn only_a_name(service: &Service, profile: &Profile) -> bool {
    service.kind == ServiceType::ExternalName && !profile.external_name
}

/// The host name of a pod, if it is published (`ShouldSetHostname`).
#[inline]
pub(crate) fn published_hostname<'a>(pod: &'a Pod, service: &Service) -> Option<&'a crate::model::Text> {
    (!pod.hostname.is_empty() && pod.subdomain == service.meta.name && *pod.namespace() == service.meta.namespace)
        .then_some(&pod.hostname)
}

/// The most containers and readiness gates of a pod that are named.
const NAMED: usize = 4;

/// Until when a pod with scheduling gates waits, in a sentence; `None` for other pods. It has no address before.
pub(crate) fn gated_detail(pod: &Pod) -> Option<String> {
    match &pod.readiness {
        PodReadiness::NotReady(why) if why.scheduling_gated => {
            Some(format!("the pod waits until {}", gates_text(&why.scheduling_gates)))
        }
        _ => None,
    }
}

/// `the scheduling gate example.com/a is removed`.
fn gates_text(names: &[Text]) -> String {
    let named: Vec<&str> = names.iter().take(NAMED).map(|name| clip(name)).collect();
    let more = match names.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    match names.len() {
        0 => "its scheduling gates are removed".to_owned(),
        1 => format!("the scheduling gate {} is removed", named.concat()),
        _ => format!("the scheduling gates {}{more} are removed", named.join(", ")),
    }
}

/// Why the pod is not ready by its own status, in a sentence; empty if it is ready.
pub(crate) fn not_ready_detail(pod: &Pod) -> String {
    let PodReadiness::NotReady(why) = &pod.readiness else { return String::new() };
    let mut text = match (clip(&why.status), clip(&why.reason)) {
        ("", _) => "it has no Ready condition".to_owned(),
        (status, "") => format!("condition Ready is {status}"),
        (status, reason) => format!("condition Ready is {status} ({reason})"),
    };
    if why.scheduling_gated {
        text.push_str("; it waits until ");
        text.push_str(&gates_text(&why.scheduling_gates));
    } else if why.unscheduled {
        text.push_str("; it waits for a node");
    }
    for (container, reason) in why.containers.iter().take(NAMED) {
        text.push_str("; container ");
        text.push_str(clip(container));
        text.push_str(" is not ready");
        if !reason.is_empty() {
            text.push_str(" (");
            text.push_str(clip(reason));
            text.push(')');
        }
    }
    for gate in why.gates.iter().take(NAMED) {
        text.push_str("; readiness gate ");
        text.push_str(clip(gate));
        text.push_str(" is not true");
    }
    match why.containers.len().saturating_sub(NAMED) + why.gates.len().saturating_sub(NAMED) {
        0 => {}
        more => {
            let _ = write!(text, "; and {more} more");
        }
    }
    text
}
