//! Whether a stored mirrored slice needs no write.

use super::slice_contents::SliceContent;
use crate::{
    endpointslice::{EndpointState, Identity},
    model::{EndpointSlice, Endpoints, names},
    profile::Profile,
};

/// Labels of a slice that are not copied from the Endpoints.
const RESERVED: [&str; 2] = [names::SLICE_MANAGED_BY, names::SERVICE_NAME];

/// Whether a stored slice needs no write.
pub(super) fn is_current(
    endpoints: &Endpoints,
    content: &SliceContent,
    slice: &EndpointSlice,
    profile: &Profile,
) -> bool {
    holds(content, slice, profile)
        && endpoints.meta.labels.iter().eq(slice.meta.labels.iter().filter(|(k, _)| !RESERVED.contains(&k.as_str())))
        && endpoints.meta.annotations.iter().filter(|(k, _)| is_copied(k)).eq(slice.meta.annotations.iter())
        && !(profile.mirror_compares_owner && has_dead_owner(endpoints, slice))
}

/// Whether there is nothing to add, update or remove (`totalChanges`). As upstream counts matches, and not distinct
/// endpoints, an endpoint that is stored twice hides one that is not stored.
fn holds(content: &SliceContent, slice: &EndpointSlice, profile: &Profile) -> bool {
    content.endpoints.len() == slice.endpoints.len()
        && slice.endpoints.iter().all(|e| {
            content.find(e, profile).is_some_and(|w| EndpointState::of(w).equals(&EndpointState::of(e), profile))
        })
}

/// Whether an endpoint that is stored twice deceives [`holds`].
pub(super) fn hides_an_endpoint(content: &SliceContent, slice: &EndpointSlice, profile: &Profile) -> bool {
    if !holds(content, slice, profile) {
        return false;
    }
    let mut stored: Vec<Identity<'_>> = slice.endpoints.iter().map(|e| Identity::of(e, profile)).collect();
    stored.sort_unstable_by(Identity::order);
    stored.windows(2).any(|pair| pair[0].order(&pair[1]).is_eq())
}

/// Whether an owner of the slice is another Endpoints object of this name (`needRebuildExistingSlices`).
pub(super) fn has_dead_owner(endpoints: &Endpoints, slice: &EndpointSlice) -> bool {
    let meta = &endpoints.meta;
    slice.meta.owner_references.iter().any(|o| o.kind == "Endpoints" && o.name == meta.name && o.uid != meta.uid)
}

/// A label of the Endpoints that is reserved for slices.
pub(super) fn reserved_label(endpoints: &Endpoints) -> Option<&'static str> {
    RESERVED.into_iter().find(|key| endpoints.meta.labels.contains_key(key))
}

/// Whether an annotation of the Endpoints is copied: all are but the two that are about the Endpoints object itself.
pub(super) fn is_copied(annotation: &str) -> bool {
    annotation != names::TRIGGER_TIME && annotation != names::LAST_APPLIED
}
