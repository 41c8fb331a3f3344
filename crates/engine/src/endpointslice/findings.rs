//! Findings about slices, most of them behaviour of upstream that a user would not expect.

use std::collections::BTreeMap;

use crate::{
    canonical_ips::UncanonicalAddresses,
    model::{Endpoint, EndpointSlice, Family, ServiceType},
    phrase::{clip, counted},
    profile::MissingNode,
    reason::{Finding, Reason},
    state::SyncReport,
};

use super::{
    draft::SliceDraft,
    hints::{self, HintMode, Hinter},
    job::SliceJob,
    members::{Member, Members},
    records,
};

fn add(job: &SliceJob<'_>, report: &mut SyncReport, code: Reason, message: String) {
    report.problems.push(Finding::new(code, job.service.key(), message));
}

/// An ExternalName Service that is published, and settings without effect.
pub(super) fn of_service(job: &SliceJob<'_>, report: &mut SyncReport) {
    let (service, profile, minor) = (job.service, job.profile, job.context.minor);
    let known = report.problems.iter().any(|p| p.code == Reason::ExternalNamePublishes);
    if service.kind == ServiceType::ExternalName && !known {
        let message = format!("{minor} publishes endpoints for this ExternalName Service");
        add(job, report, Reason::ExternalNamePublishes, message);
    }
    for (code, message) in hints::without_effect(service, profile, minor) {
        add(job, report, code, message);
    }
}

/// Pods on missing nodes, and ports that only Endpoints publish.
pub(super) fn of_members(job: &SliceJob<'_>, members: &Members<'_>, report: &mut SyncReport) {
    if let Some(&first) = members.missing.first() {
        let (count, pod) = (members.missing.len(), job.pods[first]);
        let have = if count == 1 { "has" } else { "have" };
        let pods = counted(count, "pod");
        let why = format!("{pods} {have} no node that exists; pod {}: {}", pod.name(), records::missing_node(pod));
        let (code, message) = match job.profile.missing_node {
            MissingNode::Abort => (Reason::Frozen, format!("no slice is written: {why}")),
            MissingNode::Skip => (Reason::MissingNodeRetries, format!("the sync fails and is tried again: {why}")),
        };
        add(job, report, code, message);
    }
    if job.profile.sidecar_ports_endpoints && !job.profile.sidecar_ports_slices {
        split_sidecar_ports(job, members, report);
    }
}

/// Ports that some pod has in a native sidecar only, each with the first such pod.
fn split_sidecar_ports(job: &SliceJob<'_>, members: &Members<'_>, report: &mut SyncReport) {
    let targets = &members.targets;
    let mut split: BTreeMap<usize, usize> = BTreeMap::new();
    for (place, member) in members.list.iter().enumerate() {
        let row = &targets.rows()[member.row];
        let names = member.pod.ports.iter().filter(|p| p.sidecar).filter_map(|p| targets.name_of(p));
        for name in names.filter(|name| row.binary_search_by_key(name, |(known, _)| *known).is_err()) {
            // All Service ports with this name are handled together.
            if targets.askers(name).first().is_some_and(|port| !split.contains_key(port)) {
                split.extend(targets.askers(name).iter().map(|port| (*port, place)));
            }
        }
    }
    for (port, place) in split {
        let (port, pod) = (&job.service.ports[port], members.list[place].pod);
        let name = if port.name.is_empty() { String::new() } else { format!(" ({})", clip(&port.name)) };
        let message = format!(
            "port {}{name} is found in a native sidecar by the Endpoints only; pod {} has it there",
            port.port,
            pod.name()
        );
        add(job, report, Reason::SidecarPortSplit, message);
    }
}

/// A pod with an address that cannot be printed, or is not canonical.
pub(super) fn addresses(
    job: &SliceJob<'_>,
    family: Family,
    member: &Member<'_>,
    uncanonical: &mut UncanonicalAddresses,
    report: &mut SyncReport,
) {
    if member.pod.ips.iter().all(|ip| ip.canonical.is_some() && !ip.uncanonical) {
        return;
    }
    let of_family = member.pod.ips.iter().filter(|ip| ip.family == family);
    of_family.for_each(|ip| uncanonical.of_pod(member.pod, ip));
    if !records::unparsable(job, family, member.pod) {
        return;
    }
    let raw: Vec<_> = member.pod.ips.iter().filter(|ip| ip.canonical.is_none()).map(|ip| ip.raw.as_str()).collect();
    let message = format!("status.podIPs contains {raw:?}, which is not an IP address; it is left out of the slices");
    report.problems.push(Finding::new(Reason::UnparsablePodIp, member.pod.key(), message));
}

/// Pods that others with the same address hide.
pub(super) fn shared_addresses(job: &SliceJob<'_>, family: Family, pairs: &[(usize, usize)], report: &mut SyncReport) {
    let Some(&(hidden, listed)) = pairs.first().filter(|_| !job.profile.target_in_identity) else { return };
    let message = format!(
        "{} pods are hidden in the {} slices by others with the same address, such as {} by {}; which one is listed \
         is random upstream",
        pairs.len(),
        family.as_str(),
        job.pods[hidden].name(),
        job.pods[listed].name()
    );
    add(job, report, Reason::SharedAddressCollapses, message);
}

/// A placeholder slice that is written again.
pub(super) fn placeholder_churn(job: &SliceJob<'_>, stored: &EndpointSlice, report: &mut SyncReport) {
    let message =
        format!("{} writes this slice again at every sync, as the Service has no endpoints", job.context.minor);
    report.problems.push(Finding::new(Reason::PlaceholderChurn, stored.key(), message));
}

/// A slice without a port list, which is not the same as one with an empty list.
pub(super) fn portless_churn(
    job: &SliceJob<'_>,
    slice: &EndpointSlice,
    members: &Members<'_>,
    report: &mut SyncReport,
) {
    if slice.ports.is_none() && members.groups.portless() {
        let message = format!("{} writes this slice again whenever it reads it without a port list", job.context.minor);
        report.problems.push(Finding::new(Reason::PortlessChurn, slice.key(), message));
    }
}

/// What wrongly stays in the slices of one address type.
pub(super) fn of_draft(job: &SliceJob<'_>, draft: &SliceDraft<'_>, hinter: &Hinter<'_>, report: &mut SyncReport) {
    for (slice, count) in &draft.stale {
        let message = format!("{count} endpoints of the slice have an outdated node or zone, and keep it");
        report.problems.push(Finding::new(Reason::StaleNodeOrZone, slice.key(), message));
    }
    if hinter.mode == HintMode::None {
        return;
    }
    for slice in draft.update.iter().chain(draft.unchanged.iter().copied()) {
        let unready = slice.endpoints.iter().filter(|e| !hints::is_ready(e) && e.hints.is_some()).count();
        if unready > 0 {
            let message = format!("{unready} endpoints that are not ready keep their hints");
            report.problems.push(Finding::new(Reason::StaleHintOnUnready, slice.key(), message));
        }
    }
    if hinter.mode.hints_empty_zone() {
        let hinted = |e: &&Endpoint| e.hints.as_ref().is_some_and(|h| h.for_zones.iter().any(|z| z.name.is_empty()));
        let count = draft.all().flat_map(|s| &s.endpoints).filter(hinted).count();
        if count > 0 {
            let message = format!("{count} endpoints are hinted for the zone \"\": their nodes have no zone label");
            add(job, report, Reason::EmptyZoneHint, message);
        }
    }
}
