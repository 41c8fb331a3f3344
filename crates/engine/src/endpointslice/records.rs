//! Records of the decisions about pods. Nothing here does any work unless the recorder is open.

use std::collections::BTreeMap;

use crate::{
    membership,
    model::{AddressType, Endpoint, EndpointSlice, Family, Hints, Pod, Text},
    phrase::clip,
    ports::{PortMiss, PortTargets},
    reason::Reason,
    record::{Record, Recorder, Scope},
    stored_addresses::{StoredAddress, StoredGroup, record_stored},
};

use super::{draft::SliceDraft, job::SliceJob};

fn scope(family: Family) -> Scope {
    Scope::Slices(family)
}

/// A pod that is never listed.
pub(super) fn excluded(job: &SliceJob<'_>, index: usize, why: Reason, recorder: &mut impl Recorder) {
    for &family in &job.families {
        recorder.record(|| {
            let detail = match why {
                Reason::NoPodIp => membership::gated_detail(job.pods[index]).unwrap_or_default(),
                _ => String::new(),
            };
            Record::of_pod(scope(family), index, why, detail)
        });
    }
}

/// All pods, where nothing is planned and the stored slices stay.
pub(super) fn too_large(job: &SliceJob<'_>, stored: &[&EndpointSlice], recorder: &mut impl Recorder) {
    for index in 0..job.pods.len() {
        excluded(job, index, Reason::PlanTooLarge, recorder);
    }
    for &family in &job.families {
        let address_type = AddressType::from(family);
        stored_pods(job, family, stored.iter().copied().filter(|s| s.address_type == address_type), recorder);
    }
}

/// The pods that stored slices list, where the slices stay as they are.
fn stored_pods<'a>(
    job: &SliceJob<'_>,
    family: Family,
    slices: impl Iterator<Item = &'a EndpointSlice>,
    recorder: &mut impl Recorder,
) {
    if !recorder.open() {
        return;
    }
    let unnamed = Text::default();
    let address = |e: &'a Endpoint| StoredAddress {
        target: e.target_ref.as_deref(),
        ready: e.ready(),
        terminating: e.conditions.terminating == Some(true),
        hints: e.hints.as_deref().map(hinted),
    };
    let group = |slice: &'a EndpointSlice| StoredGroup {
        object: format!("slice {}", slice.meta.name),
        ports: slice.ports.iter().flatten().map(|p| p.name.as_ref().unwrap_or(&unnamed)).collect(),
        addresses: slice.endpoints.iter().map(address).collect(),
    };
    record_stored(scope(family), job.service, job.pods, &slices.map(group).collect::<Vec<_>>(), recorder);
}

/// Pods of slices that are not created.
pub(super) fn not_created(job: &SliceJob<'_>, family: Family, create: &[EndpointSlice], recorder: &mut impl Recorder) {
    if !recorder.open() || create.is_empty() {
        return;
    }
    let by_name = by_name(job);
    for endpoint in create.iter().flat_map(|s| &s.endpoints) {
        let Some(&index) = endpoint.target_ref.as_ref().and_then(|t| by_name.get(t.name.as_str())) else { continue };
        recorder.record(|| {
            let detail = "no slice is created for it any more".to_owned();
            Record::of_pod(scope(family), index, Reason::ServiceDeleting, detail)
        });
    }
}

/// The place of each selected pod.
fn by_name<'a>(job: &SliceJob<'a>) -> BTreeMap<&'a str, usize> {
    job.pods.iter().enumerate().map(|(i, p)| (p.name().as_str(), i)).collect()
}

/// Service ports that the pod does not have.
pub(super) fn port_misses(
    job: &SliceJob<'_>,
    targets: &PortTargets<'_>,
    row: usize,
    index: usize,
    recorder: &mut impl Recorder,
) {
    if !recorder.open() {
        return;
    }
    for PortMiss { ports, reason, detail } in targets.misses(row, job.pods[index]) {
        for &family in &job.families {
            let (ports, detail) = (Some(ports.clone()), detail.clone());
            recorder.record(|| Record { scope: scope(family), pod: index, ports, reason, detail });
        }
    }
}

/// A pod that is left out because its node does not exist.
pub(super) fn node_unknown(job: &SliceJob<'_>, index: usize, pod: &Pod, recorder: &mut impl Recorder) {
    for &family in &job.families {
        recorder.record(|| Record::of_pod(scope(family), index, Reason::NodeUnknown, missing_node(pod)));
    }
}

/// A sentence about the missing node of a pod.
pub(super) fn missing_node(pod: &Pod) -> String {
    if pod.node_name.is_empty() {
        "the pod has no node yet".to_owned()
    } else {
        format!("the pod runs on node {}, which does not exist", pod.node_name)
    }
}

/// All pods of an address type, where a missing node keeps everything from being written.
pub(super) fn frozen(
    job: &SliceJob<'_>,
    family: Family,
    missing: &[usize],
    existing: &[&EndpointSlice],
    recorder: &mut impl Recorder,
) {
    let Some(&first) = missing.first().filter(|_| recorder.open()) else { return };
    let culprit = job.pods[first];
    for index in 0..job.pods.len() {
        recorder.record(|| {
            let detail = format!("because of pod {}: {}", culprit.name(), missing_node(culprit));
            Record::of_pod(scope(family), index, Reason::Frozen, detail)
        });
    }
    stored_pods(job, family, existing.iter().copied(), recorder);
}

/// A pod without an address that could be listed.
pub(super) fn no_address(job: &SliceJob<'_>, family: Family, index: usize, recorder: &mut impl Recorder) {
    recorder.record(|| {
        let ips: Vec<_> = job.pods[index].ips.iter().map(|ip| clip(&ip.raw)).take(8).collect();
        let (reason, detail) = if ips.is_empty() {
            (Reason::NoPodIp, "status.podIPs is empty".to_owned())
        } else if unparsable(job, family, job.pods[index]) {
            (Reason::UnparsablePodIp, format!("status.podIPs contains {}", ips.join(", ")))
        } else {
            (Reason::FamilyMismatch, format!("{} is asked for, the pod has {}", family.as_str(), ips.join(", ")))
        };
        Record::of_pod(scope(family), index, reason, detail)
    });
}

/// Whether an address of the pod counts for this family and cannot be printed.
pub(super) fn unparsable(job: &SliceJob<'_>, family: Family, pod: &Pod) -> bool {
    let canonical = job.profile.canonical_ips;
    pod.ips.iter().any(|ip| ip.family == family && ip.published(canonical).is_none())
}

/// A pod that is listed, on every port that it has; a pod without ports is listed in a slice without ports.
pub(super) fn published(job: &SliceJob<'_>, family: Family, index: usize, recorder: &mut impl Recorder) {
    if !recorder.open() {
        return;
    }
    let pod = job.pods[index];
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
        let more = "still listed as ready, because the Service sets publishNotReadyAddresses";
        detail = [detail.as_str(), more].iter().filter(|d| !d.is_empty()).copied().collect::<Vec<_>>().join("; ");
    }
    recorder.record(|| Record::of_pod(scope(family), index, reason, detail));
}

/// A pod that another one with the same identity hides.
pub(super) fn duplicate(
    job: &SliceJob<'_>,
    family: Family,
    hidden: usize,
    listed: usize,
    recorder: &mut impl Recorder,
) {
    recorder.record(|| {
        let detail = format!("the endpoint of pod {} is listed", job.pods[listed].name());
        Record::of_pod(scope(family), hidden, Reason::DuplicateAddress, detail)
    });
}

/// The hints of the listed pods; `refused` is the reason why there are none.
pub(super) fn hints(
    job: &SliceJob<'_>,
    family: Family,
    draft: &SliceDraft<'_>,
    refused: Option<&str>,
    recorder: &mut impl Recorder,
) {
    if !recorder.open() {
        return;
    }
    let by_name = by_name(job);
    for endpoint in draft.all().flat_map(|s| &s.endpoints) {
        let Some(&index) = endpoint.target_ref.as_ref().and_then(|t| by_name.get(t.name.as_str())) else { continue };
        recorder.record(|| match (&endpoint.hints, refused) {
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
