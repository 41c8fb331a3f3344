//! What users should know of how their Endpoints are mirrored (`docs/versions.md` tells each in full).

use std::collections::BTreeSet;

use super::{
    desired::{Desired, LISTS, Wanted},
    reconcile::{has_dead_owner, hides_an_endpoint, is_current, reserved_label},
};
use crate::{
    engine::{
        canonical_ips::Uncanonical,
        phrase::counted,
        reason::{Finding, Reason},
        state::{Context, Report},
    },
    model::{EndpointSlice, Endpoints, SlicePort},
};

/// An address that is not mirrored as it is written, or that a later release writes otherwise.
pub(super) fn uncanonical(endpoints: &Endpoints, desired: &Desired, context: &Context, report: &mut Report) {
    let mut found = Uncanonical::new(LISTS, context.profile.canonical_ips);
    desired.uncanonical.iter().for_each(|raw| found.of_object(|| endpoints.key(), raw));
    found.tell(|| endpoints.key(), report);
}

/// Oddities of the Endpoints object, whatever is stored.
pub(super) fn of_endpoints(
    endpoints: &Endpoints,
    desired: &Desired,
    stored: &[&EndpointSlice],
    context: &Context,
    report: &mut Report,
) {
    let wanted = || desired.slices.values().filter(|w| !w.endpoints.is_empty());
    let count: usize = wanted().map(|w| w.endpoints.len().min(context.per_subset)).sum();
    let mut say = |code, message: String| report.problems.push(Finding::new(code, endpoints.key(), message));
    if count == 0 {
        say(Reason::NotMirrored, "the Endpoints hold no address that can be mirrored".into());
        return;
    }
    say(Reason::Mirrored, format!("{} in {}", counted(count, "endpoint"), counted(wanted().count(), "slice")));
    if let Some(key) = reserved_label(endpoints) {
        say(Reason::MirrorReservedLabel, format!("the label {key} makes every sync write the mirrored slices"));
    }
    // Both families of one subset have the same ports: once is enough.
    let doubled: BTreeSet<&str> = wanted().filter_map(|w| doubled_name(&w.ports)).collect();
    for name in doubled {
        say(Reason::MirrorDuplicatePort, format!("a slice has two ports of the name {name:?}: the API refuses it"));
    }
    for wanted in wanted().filter(|w| w.endpoints.len() > context.per_subset) {
        say(
            Reason::MirrorRandomCut,
            format!(
                "{} endpoints share one list of ports, and a slice holds {}: the controller picks at random, Roster the first by address",
                wanted.endpoints.len(),
                context.per_subset
            ),
        );
    }
    let churns = stored.iter().any(|s| s.ports.is_none());
    if churns && !context.profile.nil_ports_are_empty && wanted().any(|w| w.ports.is_empty()) {
        say(Reason::PortlessChurn, "the Endpoints have no ports: every sync writes the mirrored slice".into());
    }
}

fn doubled_name(ports: &[SlicePort]) -> Option<&str> {
    let mut seen = BTreeSet::new();
    ports.iter().map(|p| p.name.as_deref().unwrap_or_default()).find(|name| !seen.insert(*name))
}

/// Oddities of a stored slice that is to hold `wanted`.
pub(super) fn of_slice(
    endpoints: &Endpoints,
    wanted: &Wanted,
    slice: &EndpointSlice,
    context: &Context,
    report: &mut Report,
) {
    let profile = context.profile;
    let mut say = |code, message: &str| report.problems.push(Finding::new(code, slice.key(), message));
    let current = is_current(endpoints, wanted, slice, profile);
    if slice.meta.deleting() {
        say(Reason::MirrorCountsDyingSlice, "the slice is being deleted, and nothing replaces it until it is gone");
    }
    if current && hides_an_endpoint(wanted, slice, profile) {
        say(Reason::MirrorDuplicateHidesAddress, "the slice holds an endpoint twice, which hides one that it lacks");
    }
    if current && has_dead_owner(endpoints, slice) {
        say(Reason::MirrorOrphanOwner, "the slice is owned by an earlier Endpoints object of this name");
    }
    if !current && !profile.mirror_notices_edits && written_later(endpoints, slice) {
        say(
            Reason::MirrorLateRepair,
            "the slice was written after the Endpoints, and says something else: it is repaired at the next event",
        );
    }
}

/// Whether the slice was written after the Endpoints were. Resource versions are numbers that grow;
/// where they are not, nothing is known.
fn written_later(endpoints: &Endpoints, slice: &EndpointSlice) -> bool {
    let version = |m: &crate::model::ObjectMeta| m.resource_version.parse::<u128>().ok();
    version(&endpoints.meta).zip(version(&slice.meta)).is_some_and(|(e, s)| s > e)
}
