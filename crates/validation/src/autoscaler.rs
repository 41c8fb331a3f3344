//! What an API server refuses of a HorizontalPodAutoscaler: its limits, its behavior, its metrics, and the objects that it names.

use super::{
    api_kinds,
    faults::{Faults, quoted},
    field::{Field, FieldRule, FieldRules, Presence, check_fields},
    pod::check_resource_name,
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
        check_scaled(&target, faults);
    }
    check_metrics(&spec.key("metrics"), faults);
    let metadata = object.key("metadata");
    let annotations = metadata.key("annotations");
    if spec.key("minReplicas").number() == Some(0)
        && !can_wake(&spec.key("metrics"))
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

/// The types of metrics, each with the field that describes it.
const SOURCES: [(&str, &str); 5] = [
    ("ContainerResource", "containerResource"),
    ("External", "external"),
    ("Object", "object"),
    ("Pods", "pods"),
    ("Resource", "resource"),
];
const TYPES: FieldRule = FieldRule::OneOf(&["ContainerResource", "External", "Object", "Pods", "Resource"]);
const TARGETS: FieldRule = FieldRule::OneOf(&["Utilization", "Value", "AverageValue"]);

/// Checks the metrics of an autoscaler.
fn check_metrics(metrics: &Field<'_, '_>, faults: &mut Faults<'_>) {
    for metric in metrics.items() {
        check_metric(&metric, faults);
    }
}

/// Whether these metrics exist without pods, so that an autoscaler can scale up from 0.
fn can_wake(metrics: &Field<'_, '_>) -> bool {
    metrics.items().any(|metric| matches!(metric.key("type").text(), "Object" | "External"))
}

fn check_metric(metric: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let kind = metric.key("type");
    TYPES.check(&kind, Presence::Required, faults);
    let Some((_, wanted)) = SOURCES.iter().find(|(name, _)| *name == kind.text()) else { return };
    let source = metric.key(wanted);
    if !source.is_set() {
        return source.require(format!("a metric of type {} needs it", kind.text()), faults);
    }
    for (_, other) in SOURCES.iter().filter(|(_, other)| other != wanted) {
        let other = metric.key(other);
        if other.is_set() {
            other.refuse(format!("a metric of type {} cannot have it", kind.text()), faults);
        }
    }
    check_source(&source, wanted, faults);
}

fn check_source(source: &Field<'_, '_>, kind: &str, faults: &mut Faults<'_>) {
    let target = source.key("target");
    check_target(&target, faults);
    let [value, average, utilization] =
        ["value", "averageValue", "averageUtilization"].map(|name| target.key(name).is_set());
    if let "object" | "external" | "pods" = kind {
        let metric = source.key("metric");
        FieldRule::PathSegment.check(&metric.key("name"), Presence::Required, faults);
    } else {
        FieldRule::Text.check(&source.key("name"), Presence::Required, faults);
    }
    match kind {
        "object" => check_described(&source.key("describedObject"), faults),
        "containerResource" => {
            FieldRule::Label.check(&source.key("container"), Presence::Required, faults);
            check_resource_name(source.key("name").text(), &source.key("name"), faults);
        }
        _ => {}
    }
    let lacking = match kind {
        "object" if !value && !average => "it needs value or averageValue",
        "external" if value == average => "it needs either value or averageValue",
        "pods" if !average => "it needs averageValue",
        "resource" | "containerResource" if utilization == average => {
            "it needs either averageUtilization or averageValue"
        }
        _ => return,
    };
    target.refuse(lacking, faults);
}

fn check_target(target: &Field<'_, '_>, faults: &mut Faults<'_>) {
    TARGETS.check(&target.key("type"), Presence::Required, faults);
    FieldRule::Range(1, i64::MAX).check(&target.key("averageUtilization"), Presence::Optional, faults);
    for field in ["value", "averageValue"].map(|name| target.key(name)) {
        if field.quantity().is_some_and(|value| value <= 0) {
            field.refuse(format!("{} is not more than 0", field.plain()), faults);
        }
    }
}

const REFERENCE: &FieldRules =
    &[("kind", Presence::Required, FieldRule::PathSegment), ("name", Presence::Required, FieldRule::PathSegment)];

/// Checks the object that is scaled.
fn check_scaled(reference: &Field<'_, '_>, faults: &mut Faults<'_>) {
    check_fields(reference, REFERENCE, faults);
    check_version(reference, reference.key("kind").text() != "ReplicationController", faults);
}

/// Checks the object that a metric describes.
fn check_described(reference: &Field<'_, '_>, faults: &mut Faults<'_>) {
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
