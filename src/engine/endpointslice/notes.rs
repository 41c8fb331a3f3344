//! What each decision about a pod reads like, for `explain`. Without a reader nothing here does anything.

use std::collections::BTreeMap;

use crate::{
    engine::{
        membership,
        phrase::clip,
        ports::{Targets, miss},
        reason::Reason,
        record::{Record, Recorder, Scope},
        stored_addresses::{StoredAddress, StoredGroup, record_stored},
    },
    model::{AddressType, Endpoint, EndpointSlice, Family, Hints, Pod, Text},
};

use super::{
    Job,
    members::{Member, Members},
    packing::Draft,
};

fn scope(family: Family) -> Scope {
    Scope::Slices(family)
}

/// A pod that is never listed.
pub(super) fn excluded(job: &Job<'_>, index: usize, why: Reason, trace: &mut impl Recorder) {
    for &family in &job.families {
        trace.record(|| Record::of_pod(scope(family), index, why, String::new()));
    }
}

/// All pods, where nothing is planned: what is stored stays.
pub(super) fn too_large(job: &Job<'_>, stored: &[&EndpointSlice], trace: &mut impl Recorder) {
    for index in 0..job.pods.len() {
        excluded(job, index, Reason::PlanTooLarge, trace);
    }
    for &family in &job.families {
        let address_type = AddressType::from(family);
        kept(job, family, stored.iter().copied().filter(|s| s.address_type == address_type), trace);
    }
}

/// What slices say of the pods that they list, where they are left alone.
fn kept<'a>(job: &Job<'_>, family: Family, slices: impl Iterator<Item = &'a EndpointSlice>, trace: &mut impl Recorder) {
    if !trace.open() {
        return;
    }
    let unnamed = Text::default();
    let listing = |e: &'a Endpoint| StoredAddress {
        target: e.target_ref.as_deref(),
        ready: e.ready(),
        terminating: e.conditions.terminating == Some(true),
        hints: e.hints.as_deref().map(hinted),
    };
    let block = |slice: &'a EndpointSlice| StoredGroup {
        object: format!("slice {}", slice.meta.name),
        ports: slice.ports.iter().flatten().map(|p| p.name.as_ref().unwrap_or(&unnamed)).collect(),
        addresses: slice.endpoints.iter().map(listing).collect(),
    };
    record_stored(scope(family), job.service, job.pods, &slices.map(block).collect::<Vec<_>>(), trace);
}

/// Pods that would have been listed in slices which are not made.
pub(super) fn not_created(job: &Job<'_>, family: Family, create: &[EndpointSlice], trace: &mut impl Recorder) {
    if !trace.open() || create.is_empty() {
        return;
    }
    let by_name = by_name(job);
    for endpoint in create.iter().flat_map(|s| &s.endpoints) {
        let Some(&index) = endpoint.target_ref.as_ref().and_then(|t| by_name.get(t.name.as_str())) else { continue };
        trace.record(|| {
            let detail = "no slice is created for it any more".to_owned();
            Record::of_pod(scope(family), index, Reason::ServiceDeleting, detail)
        });
    }
}

/// The place of each selected pod.
fn by_name<'a>(job: &Job<'a>) -> BTreeMap<&'a str, usize> {
    job.pods.iter().enumerate().map(|(i, p)| (p.name().as_str(), i)).collect()
}

/// Service ports that the pod does not have.
pub(super) fn port_misses(job: &Job<'_>, targets: &Targets<'_>, row: usize, index: usize, trace: &mut impl Recorder) {
    if !trace.open() {
        return;
    }
    for port in targets.missing(&targets.rows()[row]) {
        if !trace.open() {
            return;
        }
        let (reason, detail) = miss(job.pods[index], &job.service.ports[port]);
        for &family in &job.families {
            let detail = detail.clone();
            trace.record(|| Record { scope: scope(family), pod: index, port: Some(port), reason, detail });
        }
    }
}

/// A pod that is left out because its node is not there.
pub(super) fn node_unknown(job: &Job<'_>, index: usize, pod: &Pod, trace: &mut impl Recorder) {
    for &family in &job.families {
        trace.record(|| Record::of_pod(scope(family), index, Reason::NodeUnknown, missing_node(pod)));
    }
}

/// A sentence on the node of a pod that has none.
pub(super) fn missing_node(pod: &Pod) -> String {
    if pod.node_name.is_empty() {
        "the pod has no node yet".to_owned()
    } else {
        format!("the pod runs on node {}, which does not exist", pod.node_name)
    }
}

/// All pods of an address type of which nothing is written: the `existing` slices stay.
pub(super) fn frozen(
    job: &Job<'_>,
    family: Family,
    members: &Members<'_>,
    existing: &[&EndpointSlice],
    trace: &mut impl Recorder,
) {
    let Some(&first) = members.missing.first().filter(|_| trace.open()) else { return };
    let culprit = job.pods[first];
    for index in 0..job.pods.len() {
        trace.record(|| {
            let detail = format!("because of pod {}: {}", culprit.name(), missing_node(culprit));
            Record::of_pod(scope(family), index, Reason::Frozen, detail)
        });
    }
    kept(job, family, existing.iter().copied(), trace);
}

/// A pod without an address that could be listed.
pub(super) fn no_address(job: &Job<'_>, family: Family, member: &Member<'_>, trace: &mut impl Recorder) {
    trace.record(|| {
        let ips: Vec<_> = member.pod.ips.iter().map(|ip| clip(&ip.raw)).take(8).collect();
        let (reason, detail) = if ips.is_empty() {
            (Reason::NoPodIp, "status.podIPs is empty".to_owned())
        } else if unparsable(job, family, member.pod) {
            (Reason::UnparsablePodIp, format!("status.podIPs holds {}", ips.join(", ")))
        } else {
            (Reason::FamilyMismatch, format!("{} is asked for, the pod has {}", family.as_str(), ips.join(", ")))
        };
        Record::of_pod(scope(family), member.index, reason, detail)
    });
}

/// Whether an address of the pod counts for this family and cannot be printed.
pub(super) fn unparsable(job: &Job<'_>, family: Family, pod: &Pod) -> bool {
    let canonical = job.profile.canonical_ips;
    pod.ips.iter().any(|ip| ip.family == family && ip.published(canonical).is_none())
}

/// A pod that is listed, on every port that it has; without ports, in a slice that has none.
pub(super) fn published(job: &Job<'_>, family: Family, member: &Member<'_>, trace: &mut impl Recorder) {
    if !trace.open() {
        return;
    }
    let pod = member.pod;
    let publish = job.service.publish_not_ready;
    let reason = match (pod.deleting, pod.ready()) {
        (true, _) => Reason::Terminating,
        (false, true) => Reason::Ready,
        (false, false) if publish => Reason::PublishedNotReady,
        (false, false) => Reason::NotReady,
    };
    let mut detail = match (pod.deleting, pod.ready()) {
        (true, true) => "it still serves".to_owned(),
        _ => membership::not_ready_detail(pod),
    };
    if pod.deleting && publish {
        let more = "listed as ready all the same, as the Service says publishNotReadyAddresses";
        detail = [detail.as_str(), more].iter().filter(|d| !d.is_empty()).copied().collect::<Vec<_>>().join("; ");
    }
    trace.record(|| Record::of_pod(scope(family), member.index, reason, detail));
}

/// A pod that disappears behind another one.
pub(super) fn duplicate(job: &Job<'_>, family: Family, lost: usize, kept: usize, trace: &mut impl Recorder) {
    trace.record(|| {
        let detail = format!("the endpoint of pod {} is listed", job.pods[kept].name());
        Record::of_pod(scope(family), lost, Reason::DuplicateAddress, detail)
    });
}

/// Which of the listed pods got hints; `refused` says why nobody did.
pub(super) fn hints(
    job: &Job<'_>,
    family: Family,
    draft: &Draft<'_>,
    refused: Option<&str>,
    trace: &mut impl Recorder,
) {
    if !trace.open() {
        return;
    }
    let by_name = by_name(job);
    for endpoint in draft.all().flat_map(|s| &s.endpoints) {
        let Some(&index) = endpoint.target_ref.as_ref().and_then(|t| by_name.get(t.name.as_str())) else { continue };
        trace.record(|| match (&endpoint.hints, refused) {
            (Some(hints), _) => Record::of_pod(scope(family), index, Reason::HintGiven, hinted(hints)),
            (None, Some(why)) => Record::of_pod(scope(family), index, Reason::NoHint, why.to_owned()),
            (None, None) => {
                let why = if endpoint.ready() { "its node has no zone" } else { "only ready endpoints get hints" };
                Record::of_pod(scope(family), index, Reason::NoHint, why.to_owned())
            }
        });
    }
}

fn hinted(hints: &Hints) -> String {
    let zones = hints.for_zones.iter().map(|z| format!("zone {}", z.name));
    let nodes = hints.for_nodes.iter().map(|n| format!("node {}", n.name));
    zones.chain(nodes).collect::<Vec<_>>().join(", ")
}
