//! What an API server refuses of the spec of a `PersistentVolumeClaim`, in a template.

use super::{
    faults::{Faults, quoted},
    field::{Field, FieldRule, FieldRules, Presence, check_fields},
    labels,
};

const MODES: [&str; 4] = ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"];
const ALONE: &str = "ReadWriteOncePod";

const CLAIM: &FieldRules = &[
    ("storageClassName", Presence::Optional, FieldRule::Subdomain),
    ("volumeMode", Presence::Nullable, FieldRule::OneOf(&["Block", "Filesystem"])),
    ("volumeAttributesClassName", Presence::Optional, FieldRule::Subdomain),
];

pub(super) fn check(spec: &Field<'_, '_>, faults: &mut Faults<'_>) {
    check_fields(spec, CLAIM, faults);
    labels::check_selector(&spec.key("selector"), faults);
    check_modes(&spec.key("accessModes"), faults);
    let resources = spec.key("resources");
    let requests = resources.key("requests");
    let storage = requests.key("storage");
    if !storage.is_set() {
        storage.require("a claim needs a size", faults);
    } else if storage.quantity().is_some_and(|size| size <= 0) {
        storage.refuse(format!("{} is not more than 0", storage.plain()), faults);
    }
    check_sources(spec, faults);
}

fn check_modes(modes: &Field<'_, '_>, faults: &mut Faults<'_>) {
    if modes.is_empty() {
        modes.require("a claim needs an access mode", faults);
    }
    for mode in modes.items() {
        if mode.as_text().is_some_and(|text| !MODES.contains(&text)) {
            mode.refuse(format!("{} is not one of {}", quoted(mode.text()), MODES.join(", ")), faults);
        }
    }
    let has_alone = modes.items().any(|mode| mode.text() == ALONE);
    if has_alone && modes.items().any(|mode| mode.text() != ALONE) {
        modes.refuse(format!("{ALONE} excludes other modes"), faults);
    }
}

/// What the volume is filled with.
fn check_sources(spec: &Field<'_, '_>, faults: &mut Faults<'_>) {
    for source in ["dataSource", "dataSourceRef"].map(|name| spec.key(name)) {
        if !source.is_set() {
            continue;
        }
        for name in ["kind", "name"] {
            FieldRule::Text.check(&source.key(name), Presence::Required, faults);
        }
        let group = source.key("apiGroup");
        FieldRule::Subdomain.check(&group, Presence::Optional, faults);
        let kind = source.key("kind");
        if group.text().is_empty() && !matches!(kind.text(), "" | "PersistentVolumeClaim") {
            kind.refuse("without apiGroup, it is PersistentVolumeClaim", faults);
        }
    }
}
