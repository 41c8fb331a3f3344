//! What an API server refuses of a Node.

use std::collections::BTreeSet;

use roster_engine::model::Family;

use super::{
    addresses::not_cidr,
    faults::{Faults, quoted},
    field::{Field, FieldRule, FieldRules, Presence, check_fields},
    labels,
};

const TAINT: &FieldRules = &[
    ("key", Presence::Required, FieldRule::QualifiedName),
    ("effect", Presence::Required, FieldRule::OneOf(&["NoSchedule", "PreferNoSchedule", "NoExecute"])),
];

pub(super) fn check(object: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let spec = object.key("spec");
    check_taints(&spec.key("taints"), faults);
    check_ranges(&spec, faults);
    let status = object.key("status");
    for quantities in ["capacity", "allocatable"].map(|name| status.key(name)) {
        for (_, quantity) in quantities.entries() {
            if quantity.quantity().is_some_and(|value| value < 0) {
                quantity.refuse(format!("{} is negative", quantity.plain()), faults);
            }
        }
    }
}

fn check_taints(taints: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let mut seen = BTreeSet::new();
    for taint in taints.items() {
        check_fields(&taint, TAINT, faults);
        labels::check_value(&taint.key("value"), faults);
        if !seen.insert((taint.key("key").text(), taint.key("effect").text())) {
            taint.refuse("another taint has the same key and effect", faults);
        }
    }
}

/// The ranges of the addresses of pods. If both fields are set and differ, an API server drops `podCIDRs`.
fn check_ranges(spec: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let (one, all) = (spec.key("podCIDR"), spec.key("podCIDRs"));
    let first = all.items().next().map_or("", |range| range.text());
    if !one.text().is_empty() && one.text() != first {
        return check_range(&one, faults);
    }
    for range in all.items() {
        check_range(&range, faults);
    }
    let address = |range: &str| Family::of(range.split('/').next().unwrap_or_default());
    let families: BTreeSet<&str> = all.items().map(|range| address(range.text()).as_str()).collect();
    if all.len() > families.len() {
        all.refuse("a Node has at most one range of each IP family", faults);
    }
}

fn check_range(range: &Field<'_, '_>, faults: &mut Faults<'_>) {
    if let Some(why) = range.as_text().and_then(not_cidr) {
        range.refuse(format!("{} {why}", quoted(range.text())), faults);
    }
}
