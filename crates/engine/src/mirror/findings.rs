//! Findings about mirrored Endpoints and slices.

use std::collections::BTreeSet;

use super::{
    current_slice::{has_dead_owner, hides_an_endpoint, is_current, reserved_label},
    slice_contents::{MirrorContents, SliceContent},
};
use crate::{
    canonical_ips::UncanonicalAddresses,
    model::{EndpointSlice, Endpoints, SlicePort},
    phrase::counted,
    reason::{Finding, Reason},
    state::{SyncContext, SyncReport},
};

/// What this controller writes, as part of a sentence.
pub(super) const OUTPUT: &str = "mirrored slices";

/// The first address that is not canonical.
pub(super) fn uncanonical(
    endpoints: &Endpoints,
    contents: &MirrorContents,
    context: &SyncContext,
    report: &mut SyncReport,
) {
    let mut found = UncanonicalAddresses::new(OUTPUT, context.profile.canonical_ips);
    contents.uncanonical.iter().for_each(|raw| found.of_object(|| endpoints.key(), raw));
    found.report(|| endpoints.key(), report);
}

/// Findings about the Endpoints object, whatever is stored.
pub(super) fn of_endpoints(
    endpoints: &Endpoints,
    contents: &MirrorContents,
    stored: &[&EndpointSlice],
    context: &SyncContext,
    report: &mut SyncReport,
) {
    let filled = || contents.slices.iter().filter(|w| !w.endpoints.is_empty());
    let count: usize = filled().map(|w| w.endpoints.len().min(context.per_subset)).sum();
    let mut add = |code, message: String| report.problems.push(Finding::new(code, endpoints.key(), message));
    if count == 0 {
        add(Reason::NotMirrored, "the Endpoints contain no address that can be mirrored".into());
        return;
    }
    add(Reason::Mirrored, format!("{} in {}", counted(count, "endpoint"), counted(filled().count(), "slice")));
    if let Some(key) = reserved_label(endpoints) {
        add(Reason::MirrorReservedLabel, format!("the label {key} makes every sync write the mirrored slices"));
    }
    // Both families of one subset have the same ports: one finding is enough.
    let repeated: BTreeSet<&str> = filled().filter_map(|w| repeated_name(&w.ports)).collect();
    for name in repeated {
        add(Reason::MirrorDuplicatePort, format!("a slice has two ports of the name {name:?}: the API refuses it"));
    }
    for content in filled().filter(|w| w.endpoints.len() > context.per_subset) {
        add(
            Reason::MirrorRandomCut,
            format!(
                "{} endpoints share one list of ports, and a slice can contain {}: the controller picks at random, Roster the first by address",
                content.endpoints.len(),
                context.per_subset
            ),
        );
    }
    let churns = stored.iter().any(|s| s.ports.is_none());
    if churns && !context.profile.nil_ports_are_empty && filled().any(|w| w.ports.is_empty()) {
        add(Reason::PortlessChurn, "the Endpoints have no ports: every sync writes the mirrored slice".into());
    }
}

fn repeated_name(ports: &[SlicePort]) -> Option<&str> {
    let mut seen = BTreeSet::new();
    ports.iter().map(|p| p.name.as_deref().unwrap_or_default()).find(|name| !seen.insert(*name))
}

/// Findings about a stored slice that should have `content`.
pub(super) fn of_slice(
    endpoints: &Endpoints,
    content: &SliceContent,
    slice: &EndpointSlice,
    context: &SyncContext,
    report: &mut SyncReport,
) {
    let profile = context.profile;
    let mut add = |code, message: &str| report.problems.push(Finding::new(code, slice.key(), message));
    let current = is_current(endpoints, content, slice, profile);
    if slice.meta.deleting() {
        add(Reason::MirrorCountsDyingSlice, "the slice is being deleted, and nothing replaces it until it is gone");
    }
    if current && hides_an_endpoint(content, slice, profile) {
        add(Reason::MirrorDuplicateHidesAddress, "the slice contains an endpoint twice, which hides one that it lacks");
    }
    if current && has_dead_owner(endpoints, slice) {
        add(Reason::MirrorOrphanOwner, "the slice is owned by an earlier Endpoints object of this name");
    }
    if !current && !profile.mirror_notices_edits && written_later(endpoints, slice) {
        add(
            Reason::MirrorLateRepair,
            "the slice was written after the Endpoints, and differs from them: it is repaired at the next event",
        );
    }
}

/// Whether the slice was written after the Endpoints. Resource versions are growing numbers; if they are not numbers,
/// the answer is unknown.
fn written_later(endpoints: &Endpoints, slice: &EndpointSlice) -> bool {
    let version = |m: &crate::model::ObjectMeta| m.resource_version.parse::<u128>().ok();
    version(&endpoints.meta).zip(version(&slice.meta)).is_some_and(|(e, s)| s > e)
}
