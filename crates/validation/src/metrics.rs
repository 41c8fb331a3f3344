//! The metrics of a HorizontalPodAutoscaler.

use super::{
    faults::Faults,
    field::{Field, FieldRule, Presence},
    object_reference::check_described,
    pod::check_resource_name,
};

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
pub(super) fn check(metrics: &Field<'_, '_>, faults: &mut Faults<'_>) {
    for metric in metrics.items() {
        check_metric(&metric, faults);
    }
}

/// Whether these metrics exist without pods, so that an autoscaler can scale up from 0.
pub(super) fn can_wake(metrics: &Field<'_, '_>) -> bool {
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
