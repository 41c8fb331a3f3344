//! Membership: which pods a Service selects, which of them can be published at all, and which port of
//! a pod a Service port means. Shared by Endpoints and slices.

use crate::model::{Phase, Pod, Readiness, Service, ServicePort, TargetPort};

/// The pods that `service` selects: same namespace, labels that match. Without a selector, none.
pub(crate) fn selected<'a>(service: &Service, pods: &[&'a Pod]) -> Vec<&'a Pod> {
    let Some(selector) = &service.selector else { return Vec::new() };
    pods.iter().copied().filter(|p| *p.namespace() == service.meta.namespace && selector.selects(&p.labels)).collect()
}

/// Why a pod is no candidate, whatever the ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Excluded {
    Ended,
    NoIp,
    Terminating,
}

/// `ShouldPodBeInEndpoints`.
#[inline]
pub(crate) fn excluded(pod: &Pod, include_terminating: bool) -> Option<Excluded> {
    if pod.phase != Phase::Live {
        return Some(Excluded::Ended);
    }
    if !pod.has_pod_ip && pod.ips.is_empty() {
        return Some(Excluded::NoIp);
    }
    if pod.deleting && !include_terminating {
        return Some(Excluded::Terminating);
    }
    None
}

/// Why a Service port has no counterpart in a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PortMiss {
    /// No port of that name.
    Name,
    /// The name is there, with another protocol.
    Protocol,
    /// It is there, in a native sidecar that this release does not search.
    Sidecar,
}

/// `FindPort`: the number of the pod's port that `port` means.
#[inline]
pub(crate) fn find_port(pod: &Pod, port: &ServicePort, sidecars: bool) -> Option<i32> {
    match &port.target_port {
        TargetPort::Number(n) => Some(*n),
        TargetPort::Name(name) => pod
            .ports
            .iter()
            .find(|p| (sidecars || !p.sidecar) && p.name == *name && p.protocol == port.protocol)
            .map(|p| p.number),
    }
}

/// Tells why [`find_port`] found nothing.
pub(crate) fn port_miss(pod: &Pod, port: &ServicePort) -> PortMiss {
    let TargetPort::Name(name) = &port.target_port else { return PortMiss::Name };
    if pod.ports.iter().any(|p| p.sidecar && p.name == *name && p.protocol == port.protocol) {
        PortMiss::Sidecar
    } else if pod.ports.iter().any(|p| p.name == *name) {
        PortMiss::Protocol
    } else {
        PortMiss::Name
    }
}

/// Whether the pod's host name is published: `ShouldSetHostname`.
#[inline]
pub(crate) fn published_hostname<'a>(pod: &'a Pod, service: &Service) -> Option<&'a crate::model::Text> {
    (!pod.hostname.is_empty() && pod.subdomain == service.meta.name && *pod.namespace() == service.meta.namespace)
        .then_some(&pod.hostname)
}

/// What the pod tells of why it is not ready, in a sentence; empty if it is ready.
pub(crate) fn not_ready_detail(pod: &Pod) -> String {
    let Readiness::NotReady(why) = &pod.readiness else { return String::new() };
    let mut said = match (why.status.as_str(), why.reason.as_str()) {
        ("", _) => "it has no Ready condition".to_owned(),
        (status, "") => format!("condition Ready is {status}"),
        (status, reason) => format!("condition Ready is {status} ({reason})"),
    };
    if why.unscheduled {
        said.push_str("; it waits for a node");
    }
    for (container, reason) in &why.containers {
        said.push_str("; container ");
        said.push_str(container);
        said.push_str(" is not ready");
        if !reason.is_empty() {
            said.push_str(" (");
            said.push_str(reason);
            said.push(')');
        }
    }
    for gate in &why.gates {
        said.push_str("; readiness gate ");
        said.push_str(gate);
        said.push_str(" is not true");
    }
    said
}

/// What a pod has instead of the port that was looked for.
pub(crate) fn miss_detail(pod: &Pod, port: &ServicePort) -> String {
    let TargetPort::Name(name) = &port.target_port else { return String::new() };
    let namesakes: Vec<_> = pod.ports.iter().filter(|p| p.name == *name).map(|p| p.protocol.as_str()).collect();
    if namesakes.is_empty() {
        let have: Vec<_> = pod.ports.iter().filter(|p| !p.name.is_empty()).map(|p| p.name.as_str()).take(8).collect();
        let have = if have.is_empty() { "none is named".to_owned() } else { format!("there is {}", have.join(", ")) };
        return format!("no container port is named {name:?}; {have}");
    }
    format!("port {name:?} is {} in the pod, {} in the Service", namesakes.join(", "), port.protocol)
}
