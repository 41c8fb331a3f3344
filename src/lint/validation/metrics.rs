//! The metrics of a HorizontalPodAutoscaler.

use serde_json::Value;

use super::{
    faults::Faults,
    field::{Field, Presence, Rule},
};
use crate::model::json::pointer::Pointer;

/// The types of metrics, each with the field that describes it.
const SOURCES: [(&str, &str); 5] = [
    ("ContainerResource", "containerResource"),
    ("External", "external"),
    ("Object", "object"),
    ("Pods", "pods"),
    ("Resource", "resource"),
];
const TYPES: Rule = Rule::OneOf(&["ContainerResource", "External", "Object", "Pods", "Resource"]);

/// Checks the metrics and the target of an autoscaler.
pub(super) fn check(object: &Value, faults: &mut Faults<'_>) {
    let root = Field::new(object, Pointer::At(""));
    let spec = root.key("spec");
    for metric in spec.key("metrics").items() {
        check_metric(&metric, faults);
    }
    let target = spec.key("scaleTargetRef");
    for name in ["kind", "name"] {
        let field = target.key(name);
        if field.as_text() == Some("") {
            field.require("it must not be empty", faults);
        }
    }
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
    if let "resource" | "containerResource" = *wanted {
        Rule::Text.check(&source.key("name"), Presence::Required, faults);
        let target = source.key("target");
        let kind = target.key("type");
        Rule::OneOf(&["Utilization", "Value", "AverageValue"]).check(&kind, Presence::Required, faults);
        let utilization = target.key("averageUtilization");
        Rule::Range(1, i64::MAX).check(&utilization, Presence::Optional, faults);
        if utilization.is_set() == target.key("averageValue").is_set() {
            target.refuse("it needs either averageUtilization or averageValue", faults);
        }
    }
}
