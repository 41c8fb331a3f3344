//! The `EndpointSlice` controller: one Service, its pods, and the slices that list them.
//!
//! Upstream: `syncService` in `pkg/controller/endpointslice`, and the reconciler in `k8s.io/endpointslice`.
//! A sync goes through these files:
//!
//! ```text
//!   job            the Service and its address types    owned_slices   the stored slices that count
//!   members        the pods that take part              port_groups    pods that serve the same ports
//!   stored_index   the stored endpoints of one port group, by identity
//!   endpoint_set   the endpoints of one port group: those that are stored, and those that need a place
//!   packing        which endpoint goes into which slice of the draft: keep, fill, create
//!   placeholder    the empty slice of a Service without endpoints
//!   hints/         zones and nodes: topology-mode and trafficDistribution
//!   draft          becomes the changes: deletions become updates if slices are created
//! ```
//!
//! Where upstream iterates over a map in random order, everything here is sorted (ports, identity of the endpoint, name
//! of the slice, name of the zone); address types are in the order of the Service.

mod draft;
mod endpoint_set;
mod findings;
mod hints;
mod identity;
mod job;
mod labels;
mod members;
mod new_slice;
mod owned_slices;
mod packing;
mod placeholder;
mod port_groups;
mod records;
mod stored_index;

pub use hints::{DISTRIBUTIONS, asks_for_zones, knows_distribution};

#[cfg(test)]
mod tests;

use crate::{
    canonical_ips::UncanonicalAddresses,
    membership,
    model::{AddressType, EndpointSlice, Family},
    profile::MissingNode,
    reason::{Finding, Reason},
    record::Recorder,
    state::{Event, EventType, SliceChanges, SyncInput, SyncReport},
};

pub(crate) use identity::{EndpointState, Identity};
pub(crate) use new_slice::{generate_name, sort_ports};

use draft::SliceDraft;
use job::{OUTPUT, SliceJob, families_of};
use members::Members;

/// What the `EndpointSlice` controller does to one Service.
pub(crate) fn sync(input: &SyncInput<'_>, report: &mut SyncReport, recorder: &mut impl Recorder) -> SliceChanges {
    let SyncInput { state, pods, context } = *input;
    let profile = context.profile;
    let Some(service) = state.service.filter(|s| membership::serves(s, profile)) else {
        return SliceChanges::default();
    };
    let job = SliceJob {
        service,
        pods,
        nodes: state.nodes,
        context,
        profile,
        families: families_of(service),
        labels: labels::desired(service),
    };
    findings::of_service(&job, report);
    let stored = owned_slices::of_service(&job, state.slices, report);
    let members = match members::of_service(&job, stored.len(), recorder) {
        Ok(members) => members,
        Err(too_large) => {
            too_large.report(OUTPUT, service.key(), report);
            records::too_large(&job, &stored, recorder);
            let unchanged = stored.iter().map(|s| s.meta.name.clone()).collect();
            return SliceChanges { unchanged, ..SliceChanges::default() };
        }
    };
    findings::of_members(&job, &members, report);
    let changes = reconcile(&job, &stored, &members, report, recorder);
    if let Some(error) = members.error(&job) {
        let (namespace, name) = (&service.meta.namespace, &service.meta.name);
        report.events.push(Event {
            kind: EventType::Warning,
            reason: "FailedToUpdateEndpointSlices",
            message: format!("Error updating Endpoint Slices for Service {namespace}/{name}: {error}"),
            object: service.key(),
        });
        report.errors.push(error);
    }
    changes
}

/// Reconciles each address type, then deletes the slices of types that the Service does not have (`Reconcile`).
fn reconcile(
    job: &SliceJob<'_>,
    stored: &[&EndpointSlice],
    members: &Members<'_>,
    report: &mut SyncReport,
    recorder: &mut impl Recorder,
) -> SliceChanges {
    let mut changes = SliceChanges::default();
    // versions.md#s1: up to 1.23 one missing node ends the work on every address type before anything is written.
    let frozen = job.profile.missing_node == MissingNode::Abort && !members.missing.is_empty();
    let mut hints = hints::Hinter::of(job);
    for &family in &job.families {
        let address_type = AddressType::from(family);
        let existing: Vec<&EndpointSlice> = stored.iter().copied().filter(|s| s.address_type == address_type).collect();
        if frozen {
            records::frozen(job, family, &members.missing, &existing, recorder);
            changes.unchanged.extend(existing.iter().map(|s| s.meta.name.clone()));
            continue;
        }
        let mut draft = reconcile_family(job, family, &existing, members, report, recorder);
        hints.apply(job, family, &mut draft, report, recorder);
        findings::of_draft(job, &draft, &hints, report);
        draft::finalize(job, family, draft, &mut changes, recorder);
    }
    let served = |s: &EndpointSlice| job.families.iter().any(|f| s.address_type == AddressType::from(*f));
    changes.delete.extend(stored.iter().filter(|s| !served(s)).map(|s| s.meta.name.clone()));
    changes
}

/// `reconcileByAddressType`, up to the hints.
fn reconcile_family<'a>(
    job: &SliceJob<'a>,
    family: Family,
    existing: &[&'a EndpointSlice],
    members: &Members<'a>,
    report: &mut SyncReport,
    recorder: &mut impl Recorder,
) -> SliceDraft<'a> {
    let mut draft = SliceDraft::default();
    let mut by_group: Vec<Vec<&EndpointSlice>> = vec![Vec::new(); members.groups.len()];
    let mut obsolete = Vec::new();
    for &slice in existing {
        if !owned_slices::owned(slice, job.service) {
            report.problems.push(Finding::new(
                Reason::WrongOwner,
                slice.key(),
                format!("no owner reference of the slice names {} with its uid", job.service.key()),
            ));
            draft.delete.push(slice);
        } else if let Some(group) = members.groups.of_slice(slice, job.profile) {
            by_group[group].push(slice);
        } else {
            findings::portless_churn(job, slice, members, report);
            obsolete.push(slice);
        }
    }
    let mut sets = endpoint_set::of_family(job, family, members, &by_group, report, recorder);
    let mut replaced = UncanonicalAddresses::new(OUTPUT, job.profile.canonical_ips);
    for group in members.groups.in_order() {
        let ports = members.groups.ports(group);
        packing::pack(job, family, ports, &by_group[group], &mut sets[group], &mut draft, &mut replaced);
    }
    replaced.report(|| job.service.key(), report);
    // Upstream keeps them in a map by ports.
    obsolete.sort_by_cached_key(|slice| port_groups::key_of(slice, job.profile));
    draft.delete.append(&mut obsolete);
    // Hints read the unchanged slices in this order, whatever their ports.
    draft.unchanged.sort_by(|a, b| a.meta.name.cmp(&b.meta.name));
    placeholder::ensure(job, family, existing, &mut draft, report);
    draft
}
