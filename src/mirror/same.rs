//! When a stored endpoint needs no update.

use crate::{
    compat::Profile,
    model::{Endpoint, ObjectRef},
};

/// Whether two endpoints of one identity say the same (`EndpointsEqualBeyondHash`).
pub(super) fn equal_beyond_identity(a: &Endpoint, b: &Endpoint, profile: &Profile) -> bool {
    let same = |a: Option<bool>, b: Option<bool>| {
        // S10: up to 1.25 a condition that one side lacks is not compared.
        a == b || (!profile.compare_missing_conditions && (a.is_none() || b.is_none()))
    };
    // S3: up to 1.23 node name and zone are compared with themselves.
    let same_place = !profile.compare_topology || (a.node_name == b.node_name && a.zone == b.zone);
    same_place
        && a.conditions.ready == b.conditions.ready
        && same(a.conditions.serving, b.conditions.serving)
        && same(a.conditions.terminating, b.conditions.terminating)
        && ObjectRef::same_targets(a.target_ref.as_deref(), b.target_ref.as_deref())
}
