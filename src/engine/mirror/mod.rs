//! The mirroring controller: hand-made Endpoints of a Service without selector, copied into slices.
//!
//! Upstream: `pkg/controller/endpointslicemirroring`, `syncEndpoints` and `reconcile`. Where upstream walks
//! maps in random order, everything here is sorted: keys by address type and ports, slices by name,
//! endpoints by address.

mod desired;
mod oddities;
mod reconcile;
mod same;
#[cfg(test)]
mod tests;

use crate::{
    engine::{
        compat::Minor,
        reason::{Finding, Reason},
        state::{Context, Report, SliceChanges, State},
    },
    model::{EndpointSlice, Endpoints, Text, by_name, names},
};

/// What the mirroring controller does to one Endpoints object (`syncEndpoints`).
pub(crate) fn sync(state: &State<'_>, context: &Context, report: &mut Report) -> SliceChanges {
    let Some((namespace, name)) = key(state) else { return SliceChanges::default() };
    let stored = mirrored_slices(state.slices, namespace, name);
    let why_not = match (state.endpoints, why_not(state)) {
        (Some(endpoints), None) => return reconcile::reconcile(endpoints, &stored, context, report),
        (endpoints, why) => endpoints.zip(why),
    };
    if let Some((endpoints, why)) = why_not
        && (why.worth_telling || !stored.is_empty())
    {
        report.problems.push(Finding::new(Reason::NotMirrored, endpoints.key(), why.text));
    }
    SliceChanges { delete: stored.iter().map(|s| s.meta.name.clone()).collect(), ..SliceChanges::default() }
}

/// The slices that the newest release would make of an Endpoints object if none were stored, of any size; and what
/// it would say.
pub(crate) fn mapped(endpoints: &Endpoints) -> (Vec<EndpointSlice>, Report) {
    let minor = Minor::NEWEST;
    let context =
        Context { profile: minor.profile(), minor, per_slice: usize::MAX, per_subset: usize::MAX, trigger: None };
    let mut report = Report::default();
    let changes = reconcile::reconcile(endpoints, &[], &context, &mut report);
    (changes.create, report)
}

/// Namespace and name of what is synced. Without Endpoints and Service, slices are all that is left of them.
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
struct WhyNot {
    text: &'static str,
    /// Whether it matters although no slice is deleted for it. It does not for Services with a selector:
    /// their slices are another controller's work.
    worth_telling: bool,
}

fn why_not(state: &State<'_>) -> Option<WhyNot> {
    let endpoints = state.endpoints?;
    let (text, worth_telling) = if skips_mirroring(endpoints) {
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
    // What such an object looks like under a Service with a selector is nobody's concern.
    let selects = state.service.is_some_and(|s| s.selector.is_some());
    Some(WhyNot { text, worth_telling: worth_telling && !selects })
}

fn skips_mirroring(endpoints: &Endpoints) -> bool {
    endpoints.meta.labels.get(names::SKIP_MIRROR).is_some_and(|v| v == "true")
}
