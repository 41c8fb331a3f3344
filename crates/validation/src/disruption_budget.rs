//! What an API server refuses of a `PodDisruptionBudget`: how many pods it keeps, and the selector of these pods.

use super::{
    faults::Faults,
    field::{Field, FieldRule, Presence},
    labels::check_selector,
    rollout::check_share,
};

const POLICIES: FieldRule = FieldRule::OneOf(&["AlwaysAllow", "IfHealthyBudget"]);

/// Checks the spec of a budget, all of which may be missing.
pub(super) fn check(spec: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let (available, unavailable) = (spec.key("minAvailable"), spec.key("maxUnavailable"));
    for share in [&available, &unavailable] {
        check_share(share, 100, faults);
    }
    if available.is_set() && unavailable.is_set() {
        unavailable.refuse("minAvailable and maxUnavailable exclude each other", faults);
    }
    check_selector(&spec.key("selector"), faults);
    POLICIES.check(&spec.key("unhealthyPodEvictionPolicy"), Presence::Nullable, faults);
}
