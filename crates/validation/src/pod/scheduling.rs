//! Tolerations of a pod, and how its workload is spread.

use std::collections::BTreeSet;

use super::affinity::check_label_keys;
use crate::{
    faults::{Faults, quoted},
    field::{Field, FieldRule, FieldRules, Presence, check_fields},
    values::not_label_value,
};

const TOLERATION: &FieldRules = &[
    ("key", Presence::Optional, FieldRule::QualifiedName),
    ("operator", Presence::Optional, FieldRule::OneOf(&["Equal", "Exists"])),
    ("effect", Presence::Optional, FieldRule::OneOf(&["NoSchedule", "PreferNoSchedule", "NoExecute"])),
];

const SPREAD: &FieldRules = &[
    ("maxSkew", Presence::Required, FieldRule::Range(1, i64::MAX)),
    ("topologyKey", Presence::Required, FieldRule::Text),
    ("whenUnsatisfiable", Presence::Required, FieldRule::OneOf(&["DoNotSchedule", "ScheduleAnyway"])),
    ("minDomains", Presence::Optional, FieldRule::Range(1, i64::MAX)),
    ("nodeAffinityPolicy", Presence::Nullable, FieldRule::OneOf(&["Ignore", "Honor"])),
    ("nodeTaintsPolicy", Presence::Nullable, FieldRule::OneOf(&["Ignore", "Honor"])),
];

pub(super) fn check(spec: &Field<'_, '_>, faults: &mut Faults<'_>) {
    for toleration in spec.key("tolerations").items() {
        check_toleration(&toleration, faults);
    }
    let mut seen = BTreeSet::new();
    for spread in spec.key("topologySpreadConstraints").items() {
        check_fields(&spread, SPREAD, faults);
        check_label_keys(&spread, faults);
        let (key, action) = (spread.key("topologyKey"), spread.key("whenUnsatisfiable"));
        if !seen.insert((key.text(), action.text())) {
            key.refuse("there is another constraint with this topologyKey and whenUnsatisfiable", faults);
        }
        let domains = spread.key("minDomains");
        if domains.is_set() && action.text() != "DoNotSchedule" {
            domains.refuse("it needs whenUnsatisfiable: DoNotSchedule", faults);
        }
    }
}

fn check_toleration(toleration: &Field<'_, '_>, faults: &mut Faults<'_>) {
    check_fields(toleration, TOLERATION, faults);
    let (operator, value) = (toleration.key("operator"), toleration.key("value"));
    if toleration.key("key").text().is_empty() && operator.text() != "Exists" {
        operator.refuse("without a key, the operator is Exists", faults);
    }
    match operator.text() {
        "Exists" if !value.text().is_empty() => value.refuse("the operator Exists takes no value", faults),
        "" | "Equal" => {
            if let Some(why) = not_label_value(value.text()) {
                value.refuse(format!("{} is not the value of a taint: {why}", quoted(value.text())), faults);
            }
        }
        _ => {}
    }
    let effect = toleration.key("effect");
    if toleration.key("tolerationSeconds").is_set() && effect.text() != "NoExecute" {
        effect.refuse("with tolerationSeconds, the effect is NoExecute", faults);
    }
}
