//! References of a HorizontalPodAutoscaler to other objects: what it scales, and what its metrics describe.

use super::{
    api_kinds,
    faults::{Faults, quoted},
    field::{Field, FieldRule, FieldRules, Presence, check_fields},
};

const REFERENCE: &FieldRules =
    &[("kind", Presence::Required, FieldRule::PathSegment), ("name", Presence::Required, FieldRule::PathSegment)];

/// Checks the object that is scaled.
pub(super) fn check_scaled(reference: &Field<'_, '_>, faults: &mut Faults<'_>) {
    check_fields(reference, REFERENCE, faults);
    check_version(reference, reference.key("kind").text() != "ReplicationController", faults);
}

/// Checks the object that a metric describes.
pub(super) fn check_described(reference: &Field<'_, '_>, faults: &mut Faults<'_>) {
    check_fields(reference, REFERENCE, faults);
    check_version(reference, false, faults);
}

/// The `apiVersion` of a reference. Kinds that can be scaled are in API groups, apart from one.
fn check_version(reference: &Field<'_, '_>, needs_group: bool, faults: &mut Faults<'_>) {
    let version = reference.key("apiVersion");
    let text = version.text();
    let group = text.split_once('/').map_or("", |(group, _)| group);
    if text.matches('/').count() > 1 {
        version.refuse(format!("{} is not an apiVersion such as apps/v1", quoted(text)), faults);
    } else if needs_group && text.is_empty() {
        version.require(format!("an API server needs it to find the object; {}", group_of(reference)), faults);
    } else if needs_group && group.is_empty() {
        version.refuse(format!("{} has no API group; {}", quoted(text), group_of(reference)), faults);
    }
}

/// What to say of the API group of an object that is scaled, by its kind.
fn group_of(reference: &Field<'_, '_>) -> String {
    match api_kinds::exactly(reference.key("kind").text()) {
        Some((version, kind)) if version.contains('/') => format!("for kind {kind} it is {version}"),
        Some((_, kind)) => format!("the kind {kind} cannot be scaled"),
        None => "kinds that can be scaled have one, such as apps/v1 of Deployments".to_owned(),
    }
}
