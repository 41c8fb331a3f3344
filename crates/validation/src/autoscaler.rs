//! What an API server refuses of a HorizontalPodAutoscaler.

use super::{
    faults::Faults,
    field::{Field, FieldRule, FieldRules, Presence, check_fields},
    metrics, object_reference,
};

/// Metrics of an autoscaler in version v1, as JSON. An API server reads them.
const METRICS_ANNOTATION: &str = "autoscaling.alpha.kubernetes.io/metrics";

/// Checks an autoscaler of either version.
pub(super) fn check(object: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let spec = object.key("spec");
    check_limits(&spec, faults);
    let target = spec.key("scaleTargetRef");
    // The schema reports a target that is missing.
    if target.is_set() {
        object_reference::check_scaled(&target, faults);
    }
    metrics::check(&spec.key("metrics"), faults);
    let metadata = object.key("metadata");
    let annotations = metadata.key("annotations");
    if spec.key("minReplicas").number() == Some(0)
        && !metrics::can_wake(&spec.key("metrics"))
        && !annotations.key(METRICS_ANNOTATION).is_set()
    {
        spec.key("minReplicas").refuse("scaling to 0 needs a metric of type Object or External", faults);
    }
    let utilization = spec.key("targetCPUUtilizationPercentage");
    FieldRule::Range(1, i64::MAX).check(&utilization, Presence::Optional, faults);
    check_behavior(&spec.key("behavior"), faults);
}

/// The schema reports a maximum that is missing. A missing minimum is 1.
fn check_limits(spec: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let (least, most) = (spec.key("minReplicas"), spec.key("maxReplicas"));
    FieldRule::Range(0, i64::MAX).check(&least, Presence::Optional, faults);
    FieldRule::Range(1, i64::MAX).check(&most, Presence::Optional, faults);
    let minimum = least.number().unwrap_or(1);
    if let Some(number) = most.number().filter(|n| *n < minimum) {
        most.refuse(format!("{number} is less than minReplicas, which is {minimum}"), faults);
    }
}

const BEHAVIOR: &FieldRules = &[
    ("stabilizationWindowSeconds", Presence::Optional, FieldRule::Range(0, 3600)),
    ("selectPolicy", Presence::Nullable, FieldRule::OneOf(&["Max", "Min", "Disabled"])),
];

const SCALING_POLICY: &FieldRules = &[
    ("type", Presence::Required, FieldRule::OneOf(&["Pods", "Percent"])),
    ("value", Presence::Required, FieldRule::Range(1, i64::MAX)),
    ("periodSeconds", Presence::Required, FieldRule::Range(1, 1800)),
];

/// Checks how fast it scales in both directions. An API server fills in what is missing, but not a list that is empty.
fn check_behavior(behavior: &Field<'_, '_>, faults: &mut Faults<'_>) {
    for direction in ["scaleUp", "scaleDown"] {
        let rules = behavior.key(direction);
        check_fields(&rules, BEHAVIOR, faults);
        let policies = rules.key("policies");
        if policies.is_set() && policies.is_empty() {
            policies.require("it needs a policy, unless it is missing", faults);
        }
        for policy in policies.items() {
            check_fields(&policy, SCALING_POLICY, faults);
        }
        let tolerance = rules.key("tolerance");
        if tolerance.quantity().is_some_and(|value| value < 0) {
            tolerance.refuse(format!("{} is negative", tolerance.plain()), faults);
        }
    }
}
