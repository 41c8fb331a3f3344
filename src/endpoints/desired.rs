//! The subsets that a Service's pods make.

use std::collections::HashSet;

use crate::{
    model::{EndpointAddress, EndpointPort, EndpointSubset, Family, ObjectRef, Pod, Service, ServicePort, Text},
    plan::{Context, Report},
    reason::{Note, Problem, Reason, Scope, Trace},
    repack::Repack,
    select::{self, Excluded, PortMiss},
};

/// The canonical subsets of a Service: addresses grouped by the ports they serve.
pub(super) fn subsets(
    service: &Service,
    pods: &[&Pod],
    context: &Context,
    report: &mut Report,
    trace: &mut impl Trace,
) -> Vec<EndpointSubset> {
    let mut found = Repack::with_capacity(pods.len());
    let publish = publishes_not_ready(service, context);
    for (index, pod) in pods.iter().enumerate() {
        let ip = match address_of(service, pod, publish, context, report) {
            Ok(ip) => ip,
            Err(reason) => {
                trace.note(|| Note::of_pod(Scope::Endpoints, index, reason, absence_detail(service, pod, reason)));
                continue;
            }
        };
        let ready = publish || pod.ready();
        found.address(address(service, pod, ip, context));
        for (i, port) in service.ports.iter().enumerate() {
            if let Some(number) = select::find_port(pod, port, context.profile.sidecar_ports_endpoints) {
                let id = found.port_of(i, number, || endpoint_port(port, number));
                found.serve(id, ready);
                trace.note(|| state_note(index, Some(i), pod, publish));
            } else {
                trace.note(|| miss_note(index, i, pod, port));
            }
        }
        if service.declared_headless() && service.ports.is_empty() {
            let id = found.no_port();
            found.serve(id, ready);
            trace.note(|| state_note(index, None, pod, publish));
        } else if service.ports.is_empty() {
            trace.note(|| Note::of_pod(Scope::Endpoints, index, Reason::NoPorts, String::new()));
        }
    }
    found.pack(context.profile.hash)
}

fn endpoint_port(port: &ServicePort, number: i32) -> EndpointPort {
    EndpointPort {
        name: port.name.clone(),
        port: number,
        protocol: port.protocol.clone(),
        app_protocol: port.app_protocol.clone(),
    }
}

/// `publishNotReadyAddresses`, or up to 1.23 what the tolerate-unready annotation says instead (E1).
fn publishes_not_ready(service: &Service, context: &Context) -> bool {
    context
        .profile
        .tolerate_unready_annotation
        .then(|| service.tolerates_unready())
        .flatten()
        .unwrap_or(service.publish_not_ready)
}

/// The family of the one address per pod that Endpoints hold (`podToEndpointAddressForService`). Where
/// early patches of 1.33 to 1.36 crash for want of `ipFamilies`, it is inferred as in all others (E7).
fn family(service: &Service, pod: &Pod) -> Family {
    if let Some(first) = service.families.first() {
        *first
    } else if service.headless() {
        pod.pod_ip_family
    } else {
        Family::of(&service.cluster_ip)
    }
}

/// The address under which a pod is listed, or why it is not.
fn address_of<'a>(
    service: &Service,
    pod: &'a Pod,
    include_terminating: bool,
    context: &Context,
    report: &mut Report,
) -> Result<&'a Text, Reason> {
    match select::excluded(pod, include_terminating) {
        Some(Excluded::Ended) => return Err(Reason::PodEnded),
        Some(Excluded::NoIp) => return Err(Reason::NoPodIp),
        Some(Excluded::Terminating) => return Err(Reason::Terminating),
        None => {}
    }
    let family = family(service, pod);
    let ip = pod.ips.iter().find(|ip| ip.family == family).ok_or(Reason::FamilyMismatch)?;
    // A text that is published as it stands may be empty, which upstream takes for no address at all.
    ip.published(context.profile.canonical_ips).filter(|text| !text.is_empty()).ok_or_else(|| {
        report.problems.push(Problem::new(
            Reason::UnparsablePodIp,
            pod.key(),
            format!(
                "status.podIPs holds {:?}, which is not an IP address; the pod is left out of the Endpoints",
                ip.raw
            ),
        ));
        Reason::UnparsablePodIp
    })
}

fn address(service: &Service, pod: &Pod, ip: &Text, context: &Context) -> EndpointAddress {
    let target_ref = if context.profile.target_resource_version {
        ObjectRef { resource_version: pod.resource_version.clone(), ..(*pod.reference).clone() }.into()
    } else {
        pod.reference.clone()
    };
    EndpointAddress {
        ip: ip.clone(),
        hostname: select::published_hostname(pod, service).cloned().unwrap_or_default(),
        node_name: Some(pod.node_name.clone()),
        target_ref: Some(target_ref),
    }
}

fn absence_detail(service: &Service, pod: &Pod, reason: Reason) -> String {
    match reason {
        Reason::FamilyMismatch => format!("Endpoints list {} addresses only", family(service, pod).as_str()),
        Reason::Terminating => "the pod is being deleted; Endpoints leave it out".into(),
        _ => String::new(),
    }
}

fn state_note(pod: usize, port: Option<usize>, of: &Pod, publish: bool) -> Note {
    let (reason, detail) = match (of.ready(), publish) {
        (true, _) => (Reason::Ready, String::new()),
        (false, true) => (Reason::PublishedNotReady, select::not_ready_detail(of)),
        (false, false) => (Reason::NotReady, select::not_ready_detail(of)),
    };
    Note { scope: Scope::Endpoints, pod, port, reason, detail }
}

fn miss_note(pod: usize, port: usize, of: &Pod, wanted: &ServicePort) -> Note {
    let reason = match select::port_miss(of, wanted) {
        PortMiss::Name => Reason::NamedPortMissing,
        PortMiss::Protocol => Reason::ProtocolMismatch,
        PortMiss::Sidecar => Reason::SidecarPortIgnored,
    };
    Note { scope: Scope::Endpoints, pod, port: Some(port), reason, detail: select::miss_detail(of, wanted) }
}

/// Writes down which pods truncation cut.
pub(super) fn trace_truncated<T: Trace>(
    service: &Service,
    pods: &[&Pod],
    context: &Context,
    kept: &[EndpointSubset],
    trace: &mut T,
) {
    if !T::ENABLED {
        return;
    }
    let kept: HashSet<(&Text, &str, i32)> = kept
        .iter()
        .flat_map(|s| s.addresses.iter().chain(&s.not_ready_addresses).map(move |a| (a, &s.ports)))
        .filter_map(|(a, ports)| a.target_ref.as_ref().map(|t| (&t.uid, ports)))
        .flat_map(|(uid, ports)| {
            let listed = ports.iter().map(move |p| (uid, p.name.as_str(), p.port));
            listed.chain(ports.is_empty().then_some((uid, "", 0)))
        })
        .collect();
    let publish = publishes_not_ready(service, context);
    let mut unheard = Report::default();
    for (index, pod) in pods.iter().enumerate() {
        if address_of(service, pod, publish, context, &mut unheard).is_err() {
            continue;
        }
        let note = |port| Note {
            scope: Scope::Endpoints,
            pod: index,
            port,
            reason: Reason::Truncated,
            detail: "the Endpoints hold 1000 other addresses".into(),
        };
        let uid = &pod.reference.uid;
        if service.ports.is_empty() && !kept.contains(&(uid, "", 0)) {
            trace.note(|| note(None));
        }
        for (i, port) in service.ports.iter().enumerate() {
            let number = select::find_port(pod, port, context.profile.sidecar_ports_endpoints);
            if number.is_some_and(|n| !kept.contains(&(uid, port.name.as_str(), n))) {
                trace.note(|| note(Some(i)));
            }
        }
    }
}
