//! The mirroring controller: it copies hand-made Endpoints of a Service without selector into slices.
//!
//! Upstream: `pkg/controller/endpointslicemirroring`, `syncEndpoints` and `reconcile`. Where upstream
//! iterates over maps in random order, everything here is sorted: keys by address type and ports, slices by name,
//! endpoints by address.

mod current_slice;
mod findings;
mod reconcile;
mod slice_contents;
#[cfg(test)]
mod tests;

use crate::{
    model::{EndpointSlice, Endpoints, Text, by_name, names},
    profile::Minor,
    reason::{Finding, Reason},
    state::{SliceChanges, State, SyncContext, SyncReport},
};

/// What the mirroring controller does to one Endpoints object (`syncEndpoints`).
pub(crate) fn sync(state: &State<'_>, context: &SyncContext, report: &mut SyncReport) -> SliceChanges {
    let Some((namespace, name)) = key(state) else { return SliceChanges::default() };
    let stored = mirrored_slices(state.slices, namespace, name);
    let skipped = match (state.endpoints, skip_reason(state)) {
        (Some(endpoints), None) => return reconcile::reconcile(endpoints, &stored, context, report),
        (endpoints, reason) => endpoints.zip(reason),
    };
    if let Some((endpoints, reason)) = skipped
        && (reason.reported || !stored.is_empty())
    {
        report.problems.push(Finding::new(Reason::NotMirrored, endpoints.key(), reason.text));
    }
    SliceChanges { delete: stored.iter().map(|s| s.meta.name.clone()).collect(), ..SliceChanges::default() }
}

/// The slices, of any size, that the newest release would create for an Endpoints object if none were stored; and its
/// report.
pub fn mapped(endpoints: &Endpoints) -> (Vec<EndpointSlice>, SyncReport) {
    let minor = Minor::NEWEST;
    let context =
        SyncContext { profile: minor.profile(), minor, per_slice: usize::MAX, per_subset: usize::MAX, trigger: None };
    let mut report = SyncReport::default();
    let changes = reconcile::reconcile(endpoints, &[], &context, &mut report);
    (changes.create, report)
}

/// Namespace and name of the Endpoints. If they and the Service are gone, the remaining slices give them.
fn key<'a>(state: &State<'a>) -> Option<(&'a Text, &'a Text)> {
    let meta = state.endpoints.map(|e| &e.meta).or_else(|| state.service.map(|s| &s.meta));
    meta.map(|m| (&m.namespace, &m.name)).or_else(|| {
        let mut left = state.slices.iter().filter(|s| is_mirrored(s));
        left.find_map(|s| s.service_name().filter(|n| !n.is_empty()).map(|name| (&s.meta.namespace, name)))
    })
}

fn is_mirrored(slice: &EndpointSlice) -> bool {
    slice.managed_by().is_some_and(|m| m == names::MIRROR_CONTROLLER)
}

/// The mirrored slices of a Service, by name (`endpointSlicesMirroredForService`). Those being deleted count.
fn mirrored_slices<'a>(slices: &[&'a EndpointSlice], namespace: &Text, name: &Text) -> Vec<&'a EndpointSlice> {
    let ours = |s: &&EndpointSlice| is_mirrored(s) && s.meta.namespace == *namespace && s.service_name() == Some(name);
    by_name(slices.iter().copied().filter(ours).collect())
}

/// Why Endpoints are not mirrored.
struct SkipReason {
    text: &'static str,
    /// Whether it is reported even if no slice is deleted. It is not for Services with a selector: another controller
    /// writes their slices.
    reported: bool,
}

fn skip_reason(state: &State<'_>) -> Option<SkipReason> {
    let endpoints = state.endpoints?;
    let (text, reported) = if skips_mirroring(endpoints) {
        ("the Endpoints carry the label endpointslice.kubernetes.io/skip-mirror: \"true\"", true)
    } else if endpoints.meta.annotations.contains_key(names::LEADER) {
        ("the Endpoints are a lock of a leader election (annotation control-plane.alpha.kubernetes.io/leader)", true)
    } else {
        let same =
            |m: &crate::model::ObjectMeta| m.namespace == endpoints.meta.namespace && m.name == endpoints.meta.name;
        match state.service.filter(|s| same(&s.meta)) {
            None => ("there is no Service of this name", true),
            Some(service) if service.selector.is_some() => ("the Service has a selector", false),
            Some(_) => return None,
        }
    };
    // Such an object of a Service with a selector does not matter to anybody.
    let selects = state.service.is_some_and(|s| s.selector.is_some());
    Some(SkipReason { text, reported: reported && !selects })
}

fn skips_mirroring(endpoints: &Endpoints) -> bool {
    endpoints.meta.labels.get(names::SKIP_MIRROR).is_some_and(|v| v == "true")
}
