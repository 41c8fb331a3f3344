//! The one address per pod that Endpoints list.

use crate::{
    membership,
    model::{EndpointAddress, Family, ObjectRef, Pod, PodIp, Service, Text},
    reason::{Finding, Reason},
    state::{SyncContext, SyncReport},
};

/// `publishNotReadyAddresses`; up to 1.23 the tolerate-unready annotation overrides it (versions.md#e1).
pub(super) fn publishes_not_ready(service: &Service, context: &SyncContext) -> bool {
    let annotation = context.profile.tolerate_unready_annotation.then(|| service.tolerates_unready());
    annotation.flatten().unwrap_or(service.publish_not_ready)
}

/// The family of the one address per pod that Endpoints hold (`podToEndpointAddressForService`). Early patches of 1.33
/// to 1.36 crash if `ipFamilies` is missing; here the family is inferred as in all other patches (versions.md#e7).
pub(super) fn family(service: &Service, pod: &Pod) -> Family {
    if let Some(first) = service.families.first() {
        *first
    } else if service.headless() {
        pod.pod_ip_family
    } else {
        Family::of(&service.cluster_ip)
    }
}

/// The address that lists a pod, or the reason why none does.
pub(super) fn of_pod<'a>(
    service: &Service,
    pod: &'a Pod,
    include_terminating: bool,
    context: &SyncContext,
    report: &mut SyncReport,
) -> Result<&'a PodIp, Reason> {
    if let Some(why) = membership::excluded(pod, include_terminating) {
        return Err(why);
    }
    // `status.podIP` alone makes the pod a candidate, but only `status.podIPs` is listed.
    if pod.ips.is_empty() {
        return Err(Reason::NoPodIp);
    }
    let family = family(service, pod);
    let ip = pod.ips.iter().find(|ip| ip.family == family).ok_or(Reason::FamilyMismatch)?;
    // An address that is published as it is may be empty; upstream treats that as no address.
    if ip.published(context.profile.canonical_ips).is_none_or(Text::is_empty) {
        report.problems.push(Finding::new(
            Reason::UnparsablePodIp,
            pod.key(),
            format!(
                "status.podIPs contains {:?}, which is not an IP address; the pod is left out of the Endpoints",
                ip.raw
            ),
        ));
        return Err(Reason::UnparsablePodIp);
    }
    Ok(ip)
}

pub(super) fn endpoint_address(service: &Service, pod: &Pod, ip: &PodIp, context: &SyncContext) -> EndpointAddress {
    let target_ref = if context.profile.target_resource_version {
        ObjectRef { resource_version: pod.resource_version.clone(), ..(*pod.reference).clone() }.into()
    } else {
        pod.reference.clone()
    };
    EndpointAddress {
        ip: ip.published(context.profile.canonical_ips).cloned().unwrap_or_default(),
        hostname: membership::published_hostname(pod, service).cloned().unwrap_or_default(),
        node_name: Some(pod.node_name.clone()),
        target_ref: Some(target_ref),
    }
}
