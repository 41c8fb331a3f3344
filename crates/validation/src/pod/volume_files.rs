//! The files of volumes: keys of Secrets and `ConfigMaps`, and fields of the pod.

use super::{
    field_refs::{check_pod_field, check_resource},
    paths::check_file,
};
use crate::{
    faults::Faults,
    field::{Field, FieldRule, Presence},
};

/// Permissions of a file.
pub(super) const MODE: FieldRule = FieldRule::Range(0, 0o777);

/// The fields of a pod that a file may have, besides its labels and annotations.
const POD_FIELDS: [&str; 5] =
    ["metadata.name", "metadata.namespace", "metadata.uid", "metadata.labels", "metadata.annotations"];

/// Checks which keys of a Secret or `ConfigMap` are to be files of the volume.
pub(super) fn check_items(items: &Field<'_, '_>, faults: &mut Faults<'_>) {
    for item in items.items() {
        FieldRule::Text.check(&item.key("key"), Presence::Required, faults);
        check_item_path(&item, faults);
    }
}

/// Checks a file of the volume, wherever its text comes from.
fn check_item_path(item: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let path = item.key("path");
    FieldRule::Text.check(&path, Presence::Required, faults);
    check_file(&path, faults);
    MODE.check(&item.key("mode"), Presence::Optional, faults);
}

/// Checks files with fields of the pod.
pub(super) fn check_downward(items: &Field<'_, '_>, faults: &mut Faults<'_>) {
    for item in items.items() {
        check_item_path(&item, faults);
        let (field, resource) = (item.key("fieldRef"), item.key("resourceFieldRef"));
        match (field.is_set(), resource.is_set()) {
            (true, true) => item.refuse("it has both fieldRef and resourceFieldRef", faults),
            (false, false) => item.require("it needs fieldRef or resourceFieldRef", faults),
            (true, false) => check_pod_field(&field.key("fieldPath"), &POD_FIELDS, faults),
            (false, true) => {
                FieldRule::Text.check(&resource.key("containerName"), Presence::Required, faults);
                check_resource(&resource, faults);
            }
        }
    }
}
