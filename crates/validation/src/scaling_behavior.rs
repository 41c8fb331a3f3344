//! How fast a HorizontalPodAutoscaler scales.

use super::{
    faults::Faults,
    field::{Field, FieldRules, Presence, Rule, check_fields},
};

const RULES: &FieldRules = &[
    ("stabilizationWindowSeconds", Presence::Optional, Rule::Range(0, 3600)),
    ("selectPolicy", Presence::Nullable, Rule::OneOf(&["Max", "Min", "Disabled"])),
];

const POLICY: &FieldRules = &[
    ("type", Presence::Required, Rule::OneOf(&["Pods", "Percent"])),
    ("value", Presence::Required, Rule::Range(1, i64::MAX)),
    ("periodSeconds", Presence::Required, Rule::Range(1, 1800)),
];

/// Checks both directions. An API server fills in what is missing, but not a list that is empty.
pub(super) fn check(behavior: &Field<'_, '_>, faults: &mut Faults<'_>) {
    for direction in ["scaleUp", "scaleDown"] {
        let rules = behavior.key(direction);
        check_fields(&rules, RULES, faults);
        let policies = rules.key("policies");
        if policies.is_set() && policies.is_empty() {
            policies.require("it needs a policy, unless it is missing", faults);
        }
        for policy in policies.items() {
            check_fields(&policy, POLICY, faults);
        }
        let tolerance = rules.key("tolerance");
        if tolerance.quantity().is_some_and(|value| value < 0) {
            tolerance.refuse(format!("{} is negative", tolerance.plain()), faults);
        }
    }
}
