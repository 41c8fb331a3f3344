//! The `EndpointSlice` controller: one Service, its pods, and the slices that list them.
//!
//! Upstream: `syncService` in `pkg/controller/endpointslice`, and the reconciler in `k8s.io/endpointslice`.
//! A sync walks through these rooms:
//!
//! ```text
//!   stored       which stored slices count           families   which address types the Service has
//!   members      which pods take part ─ ports        the groups of pods that serve the same ports
//!   index        the stored endpoints of one group, by identity
//!   desired      what one group wants listed: what is stored already, and the rest in order of identity
//!   packing      keep, fill, make: which endpoint goes into which slice
//!   placeholder  the empty slice of a Service without endpoints
//!   hints/       zones and nodes: topology-mode and trafficDistribution
//!   finalize     deletions become updates where something is to be created
//! ```
//!
//! Where upstream walks through a map in random order, everything here goes in sorted order (ports, identity
//! of the endpoint, name of the slice, name of the zone), and address types in that of the Service.

mod blank;
mod desired;
mod families;
mod finalize;
mod hints;
mod identity;
mod index;
mod labels;
mod members;
mod notes;
mod oddities;
mod packing;
mod placeholder;
mod ports;
mod stored;

pub(crate) use hints::{asks_for_zones, knows_distribution};

#[cfg(test)]
mod tests;

use crate::{
    engine::{
        canonical_ips::Uncanonical,
        compat::{MissingNode, Profile},
        membership,
        reason::{Finding, Reason},
        record::Recorder,
        state::{Context, Event, EventType, Report, SliceChanges, State},
    },
    model::{AddressType, EndpointSlice, Family, Labels, Nodes, Pod, Service},
};

pub(crate) use blank::{generate_name, sort_ports};
pub(crate) use identity::Identity;

use members::Members;
use packing::Draft;

/// What this controller writes, in a sentence.
const LISTS: &str = "slices";

/// All that one sync reads, whatever the address type.
struct Job<'a> {
    service: &'a Service,
    /// The selected pods; everything else refers to them by index.
    pods: &'a [&'a Pod],
    nodes: &'a Nodes,
    context: &'a Context,
    profile: &'static Profile,
    /// The address types to serve, in the order of the Service.
    families: families::Families,
    /// The labels of every slice that is written.
    labels: Labels,
}

/// What the `EndpointSlice` controller does to one Service.
pub(crate) fn sync(
    state: &State<'_>,
    pods: &[&Pod],
    context: &Context,
    report: &mut Report,
    trace: &mut impl Recorder,
) -> SliceChanges {
    let profile = context.profile;
    let Some(service) = state.service.filter(|s| membership::serves(s, profile)) else {
        return SliceChanges::default();
    };
    let job = Job {
        service,
        pods,
        nodes: state.nodes,
        context,
        profile,
        families: families::of(service),
        labels: labels::desired(service),
    };
    oddities::of_service(&job, report);
    let stored = stored::of_service(&job, state.slices, report);
    let members = match members::of_service(&job, stored.len(), trace) {
        Ok(members) => members,
        Err(too_large) => {
            too_large.tell(LISTS, service.key(), report);
            notes::too_large(&job, &stored, trace);
            let unchanged = stored.iter().map(|s| s.meta.name.clone()).collect();
            return SliceChanges { unchanged, ..SliceChanges::default() };
        }
    };
    oddities::of_members(&job, &members, report);
    let changes = reconcile(&job, &stored, &members, report, trace);
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

/// `Reconcile`: each address type by itself, then the slices of types that the Service does not have.
fn reconcile(
    job: &Job<'_>,
    stored: &[&EndpointSlice],
    members: &Members<'_>,
    report: &mut Report,
    trace: &mut impl Recorder,
) -> SliceChanges {
    let mut changes = SliceChanges::default();
    // S1: up to 1.23 one missing node ends the work on every address type, before anything is written.
    let frozen = job.profile.missing_node == MissingNode::Abort && !members.missing.is_empty();
    let mut hints = hints::Hinting::of(job);
    for &family in &job.families {
        let address_type = AddressType::from(family);
        let existing: Vec<&EndpointSlice> = stored.iter().copied().filter(|s| s.address_type == address_type).collect();
        if frozen {
            notes::frozen(job, family, members, &existing, trace);
            changes.unchanged.extend(existing.iter().map(|s| s.meta.name.clone()));
            continue;
        }
        let mut draft = reconcile_family(job, family, &existing, members, report, trace);
        hints.apply(job, family, &mut draft, report, trace);
        oddities::of_draft(job, &draft, &hints, report);
        finalize::finalize(job, family, draft, &mut changes, trace);
    }
    let served = |s: &EndpointSlice| job.families.iter().any(|f| s.address_type == AddressType::from(*f));
    changes.delete.extend(stored.iter().filter(|s| !served(s)).map(|s| s.meta.name.clone()));
    changes
}

/// `reconcileByAddressType`, up to the hints.
fn reconcile_family<'a>(
    job: &Job<'a>,
    family: Family,
    existing: &[&'a EndpointSlice],
    members: &Members<'a>,
    report: &mut Report,
    trace: &mut impl Recorder,
) -> Draft<'a> {
    let mut draft = Draft::default();
    let mut by_group: Vec<Vec<&EndpointSlice>> = vec![Vec::new(); members.groups.len()];
    let mut undesired = Vec::new();
    for &slice in existing {
        if !stored::owned(slice, job.service) {
            report.problems.push(Finding::new(
                Reason::WrongOwner,
                slice.key(),
                format!("no owner reference of the slice names {} with its uid", job.service.key()),
            ));
            draft.delete.push(slice);
        } else if let Some(group) = members.groups.of_slice(slice, job.profile) {
            by_group[group].push(slice);
        } else {
            oddities::portless_churn(job, slice, members, report);
            undesired.push(slice);
        }
    }
    let mut desired = desired::of_family(job, family, members, &by_group, report, trace);
    let mut replaced = Uncanonical::new(LISTS, job.profile.canonical_ips);
    for group in members.groups.in_order() {
        let ports = members.groups.ports(group);
        packing::pack(job, family, ports, &by_group[group], &mut desired[group], &mut draft, &mut replaced);
    }
    replaced.tell(|| job.service.key(), report);
    // Upstream has them in a map by ports.
    undesired.sort_by_cached_key(|slice| ports::key_of(slice, job.profile));
    draft.delete.append(&mut undesired);
    // Hints look at unchanged slices one after the other, whatever their ports.
    draft.unchanged.sort_by(|a, b| a.meta.name.cmp(&b.meta.name));
    placeholder::ensure(job, family, existing, &mut draft, report);
    draft
}
