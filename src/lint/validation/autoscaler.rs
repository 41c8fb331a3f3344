//! What an API server refuses of a HorizontalPodAutoscaler.

use super::{
    faults::{Faults, quoted},
    field::{Field, FieldRules, Presence, Rule, check_fields},
    metrics, scaling_behavior,
};

/// Metrics of an autoscaler in version v1, as JSON. An API server reads them.
const METRICS_ANNOTATION: &str = "autoscaling.alpha.kubernetes.io/metrics";

const REFERENCE: &FieldRules =
    &[("kind", Presence::Required, Rule::PathSegment), ("name", Presence::Required, Rule::PathSegment)];

/// Checks an autoscaler of either version.
pub(super) fn check(object: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let spec = object.key("spec");
    check_limits(&spec, faults);
    let target = spec.key("scaleTargetRef");
    // The schema reports a target that is missing.
    if target.is_set() {
        check_fields(&target, REFERENCE, faults);
        check_version(&target, target.key("kind").text() != "ReplicationController", faults);
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
        version.require("it is needed to find the object, such as apps/v1 for a Deployment", faults);
    } else if needs_group && group.is_empty() {
        version.refuse(format!("{} has no API group; that of a Deployment is apps/v1", quoted(text)), faults);
    }
}
