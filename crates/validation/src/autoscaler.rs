//! What an API server refuses of a HorizontalPodAutoscaler.

use super::{
    faults::Faults,
    field::{Field, Presence, Rule},
    metrics, object_reference, scaling_behavior,
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
    Rule::Range(1, i64::MAX).check(&utilization, Presence::Optional, faults);
    scaling_behavior::check(&spec.key("behavior"), faults);
}

/// The schema reports a maximum that is missing. A missing minimum is 1.
fn check_limits(spec: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let (least, most) = (spec.key("minReplicas"), spec.key("maxReplicas"));
    Rule::Range(0, i64::MAX).check(&least, Presence::Optional, faults);
    Rule::Range(1, i64::MAX).check(&most, Presence::Optional, faults);
    let minimum = least.number().unwrap_or(1);
    if let Some(number) = most.number().filter(|n| *n < minimum) {
        most.refuse(format!("{number} is less than minReplicas, which is {minimum}"), faults);
    }
}
