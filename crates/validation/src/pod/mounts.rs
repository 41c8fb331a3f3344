//! The volumes that a container mounts, and those that it uses as block devices.

use std::collections::BTreeSet;

use super::{
    paths::{check_backsteps, check_descending},
    volumes::Volumes,
};
use crate::{
    faults::{Faults, quoted},
    field::{Field, FieldRule, FieldRules, Presence, check_fields},
};

const MOUNT: &FieldRules = &[
    ("mountPath", Presence::Required, FieldRule::Text),
    ("mountPropagation", Presence::Nullable, FieldRule::OneOf(&["None", "HostToContainer", "Bidirectional"])),
    ("recursiveReadOnly", Presence::Nullable, FieldRule::OneOf(&["Disabled", "IfPossible", "Enabled"])),
];

/// Checks what a container of a pod with this spec does with these volumes.
pub(super) fn check(container: &Field<'_, '_>, spec: &Field<'_, '_>, volumes: &Volumes<'_>, faults: &mut Faults<'_>) {
    let security = container.key("securityContext");
    let is_privileged = security.key("privileged").is_true();
    let (mut names, mut paths) = (BTreeSet::new(), BTreeSet::new());
    for mount in container.key("volumeMounts").items() {
        let path = mount.key("mountPath");
        check_name(&mount.key("name"), volumes, faults);
        check_mount(&mount, is_privileged, faults);
        if !path.text().is_empty() && !paths.insert(path.text()) {
            path.refuse(format!("the container mounts another volume at {}", quoted(path.text())), faults);
        }
        names.insert(mount.key("name").text());
    }
    let devices = container.key("volumeDevices");
    if !devices.is_empty() && spec.key("hostUsers").is_false() {
        devices.refuse("it cannot be set beside hostUsers: false", faults);
    }
    for device in devices.items() {
        check_device(&device, volumes, faults);
        let (name, path) = (device.key("name"), device.key("devicePath"));
        if !name.text().is_empty() && !names.insert(name.text()) {
            name.refuse(format!("the container uses the volume {} already", quoted(name.text())), faults);
        }
        if !path.text().is_empty() && !paths.insert(path.text()) {
            path.refuse(format!("the container has another volume at {}", quoted(path.text())), faults);
        }
    }
}

fn check_mount(mount: &Field<'_, '_>, is_privileged: bool, faults: &mut Faults<'_>) {
    check_fields(mount, MOUNT, faults);
    let (sub_path, expression) = (mount.key("subPath"), mount.key("subPathExpr"));
    check_descending(&sub_path, faults);
    check_descending(&expression, faults);
    if !sub_path.text().is_empty() && !expression.text().is_empty() {
        expression.refuse("it cannot be set beside subPath", faults);
    }
    let propagation = mount.key("mountPropagation");
    if propagation.text() == "Bidirectional" && !is_privileged {
        propagation.refuse("Bidirectional is for privileged containers", faults);
    }
    let recursive = mount.key("recursiveReadOnly");
    if matches!(recursive.text(), "IfPossible" | "Enabled") {
        if !mount.key("readOnly").is_true() {
            recursive.refuse("it needs readOnly: true", faults);
        } else if !matches!(propagation.text(), "" | "None") {
            recursive.refuse("it needs mountPropagation: None", faults);
        }
    }
}

fn check_device(device: &Field<'_, '_>, volumes: &Volumes<'_>, faults: &mut Faults<'_>) {
    let (name, path) = (device.key("name"), device.key("devicePath"));
    check_name(&name, volumes, faults);
    let source = volumes.get(name.text());
    if source.is_some_and(|source| !matches!(*source, "persistentVolumeClaim" | "ephemeral")) {
        name.refuse("only the volume of a claim can be a block device", faults);
    }
    FieldRule::Text.check(&path, Presence::Required, faults);
    check_backsteps(&path, faults);
}

fn check_name(name: &Field<'_, '_>, volumes: &Volumes<'_>, faults: &mut Faults<'_>) {
    FieldRule::Text.check(name, Presence::Required, faults);
    if name.as_text().is_some_and(|name| !volumes.contains_key(name)) {
        name.refuse(format!("the pod has no volume {}", quoted(name.text())), faults);
    }
}
