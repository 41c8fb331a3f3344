//! The volumes of a pod, and where containers mount them.

use std::collections::BTreeSet;

use super::paths::{check_backsteps, check_relative};
use crate::lint::validation::{
    faults::{Faults, quoted},
    field::{Field, FieldRules, Presence, Rule, check_fields},
};

const MODE: Rule = Rule::Range(0, 0o777);

/// The fields of each source that must have a value.
const SOURCES: &[(&str, &FieldRules)] = &[
    ("hostPath", &[("path", Presence::Required, Rule::Text), ("type", Presence::Optional, HOST_PATH_TYPE)]),
    ("secret", &[("secretName", Presence::Required, Rule::Text), ("defaultMode", Presence::Optional, MODE)]),
    ("configMap", &[("name", Presence::Required, Rule::Text), ("defaultMode", Presence::Optional, MODE)]),
    ("projected", &[("defaultMode", Presence::Optional, MODE)]),
    ("downwardAPI", &[("defaultMode", Presence::Optional, MODE)]),
    ("persistentVolumeClaim", &[("claimName", Presence::Required, Rule::Text)]),
    ("nfs", &[("server", Presence::Required, Rule::Text), ("path", Presence::Required, Rule::Text)]),
    ("csi", &[("driver", Presence::Required, Rule::Text)]),
    ("ephemeral", &[]),
];

const HOST_PATH_TYPE: Rule =
    Rule::OneOf(&["DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice"]);

const MOUNT: &FieldRules = &[
    ("mountPath", Presence::Required, Rule::Text),
    ("mountPropagation", Presence::Nullable, Rule::OneOf(&["None", "HostToContainer", "Bidirectional"])),
];

/// Checks the volumes of a pod; their names.
pub(super) fn check<'v>(volumes: &Field<'v, '_>, faults: &mut Faults<'_>) -> BTreeSet<&'v str> {
    let mut names = BTreeSet::new();
    for volume in volumes.items() {
        let name = volume.key("name");
        Rule::Label.check(&name, Presence::Required, faults);
        if !names.insert(name.text()) {
            name.refuse(format!("the volume name {} is repeated", quoted(name.text())), faults);
        }
        check_source(&volume, faults);
    }
    names
}

fn check_source(volume: &Field<'_, '_>, faults: &mut Faults<'_>) {
    // Without a source, it is an emptyDir.
    let sources = volume.entries().filter(|(name, source)| *name != "name" && source.is_set());
    for (_, more) in sources.skip(1) {
        more.refuse("a volume has one source only", faults);
    }
    for (name, rules) in SOURCES {
        let source = volume.key(name);
        if source.is_set() {
            check_fields(&source, rules, faults);
            check_items(&source.key("items"), *name != "downwardAPI", faults);
        }
    }
    let host_path = volume.key("hostPath");
    check_backsteps(&host_path.key("path"), faults);
}

/// Checks which keys are to be files of the volume.
fn check_items(items: &Field<'_, '_>, has_keys: bool, faults: &mut Faults<'_>) {
    for item in items.items() {
        let path = item.key("path");
        Rule::Text.check(&path, Presence::Required, faults);
        check_relative(&path, faults);
        MODE.check(&item.key("mode"), Presence::Optional, faults);
        if has_keys {
            Rule::Text.check(&item.key("key"), Presence::Required, faults);
        }
    }
}

/// Checks what a container mounts of these volumes.
pub(super) fn check_mounts(container: &Field<'_, '_>, volumes: &BTreeSet<&str>, faults: &mut Faults<'_>) {
    let mut paths = BTreeSet::new();
    for mount in container.key("volumeMounts").items() {
        check_fields(&mount, MOUNT, faults);
        check_name(&mount.key("name"), volumes, faults);
        let path = mount.key("mountPath");
        if !path.text().is_empty() && !paths.insert(path.text()) {
            path.refuse(format!("the container mounts another volume at {}", quoted(path.text())), faults);
        }
        let (sub_path, expression) = (mount.key("subPath"), mount.key("subPathExpr"));
        check_relative(&sub_path, faults);
        check_relative(&expression, faults);
        if !sub_path.text().is_empty() && !expression.text().is_empty() {
            expression.refuse("it cannot be set beside subPath", faults);
        }
        let privileged = container.key("securityContext");
        if mount.key("mountPropagation").text() == "Bidirectional" && !privileged.key("privileged").is_true() {
            mount.key("mountPropagation").refuse("Bidirectional is for privileged containers", faults);
        }
    }
    for device in container.key("volumeDevices").items() {
        check_name(&device.key("name"), volumes, faults);
        Rule::Text.check(&device.key("devicePath"), Presence::Required, faults);
    }
}

fn check_name(name: &Field<'_, '_>, volumes: &BTreeSet<&str>, faults: &mut Faults<'_>) {
    Rule::Text.check(name, Presence::Required, faults);
    if name.as_text().is_some_and(|name| !volumes.contains(name)) {
        name.refuse(format!("the pod has no volume {}", quoted(name.text())), faults);
    }
}
