//! The environment of a container.

use super::{
    field_refs::{check_pod_field, check_resource},
    paths::check_backsteps,
    volumes::Volumes,
};
use crate::{
    faults::{Faults, quoted},
    field::{Field, FieldRule, Presence},
};

/// Where the value of a variable may come from.
const SOURCES: [&str; 5] = ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"];

/// The fields of a pod that a variable may have, besides single labels and annotations.
const POD_FIELDS: [&str; 10] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    // An older name of the next.
    "spec.host",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

/// Checks the variables of a container of a pod with these volumes.
pub(super) fn check(container: &Field<'_, '_>, volumes: &Volumes<'_>, faults: &mut Faults<'_>) {
    for variable in container.key("env").items() {
        let name = variable.key("name");
        FieldRule::Text.check(&name, Presence::Required, faults);
        check_name(&name, faults);
        let from = variable.key("valueFrom");
        if from.is_set() {
            check_source(&from, &variable.key("value"), faults);
            check_file_key(&from.key("fileKeyRef"), volumes, faults);
        }
    }
    for all in container.key("envFrom").items() {
        check_name(&all.key("prefix"), faults);
        let sources = ["configMapRef", "secretRef"].map(|name| all.key(name));
        check_one(&all, &sources, faults);
        for source in sources.iter().filter(|source| source.is_set()) {
            FieldRule::Subdomain.check(&source.key("name"), Presence::Required, faults);
        }
    }
}

fn check_name(name: &Field<'_, '_>, faults: &mut Faults<'_>) {
    if !name.text().bytes().all(|b| b != b'=' && (b' '..=b'~').contains(&b)) {
        let message = format!("{} is not the name of a variable: it consists of ASCII without =", quoted(name.text()));
        name.refuse(message, faults);
    }
}

fn check_source(from: &Field<'_, '_>, value: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let sources = SOURCES.map(|name| from.key(name));
    check_one(from, &sources, faults);
    if !value.text().is_empty() {
        from.refuse("it cannot be set beside value", faults);
    }
    let [pod, resource, config_map, secret, _] = sources;
    if pod.is_set() {
        check_pod_field(&pod.key("fieldPath"), &POD_FIELDS, faults);
        FieldRule::OneOf(&["v1"]).check(&pod.key("apiVersion"), Presence::Optional, faults);
    }
    if resource.is_set() {
        check_resource(&resource, faults);
    }
    for source in [config_map, secret].iter().filter(|source| source.is_set()) {
        FieldRule::Subdomain.check(&source.key("name"), Presence::Required, faults);
        let key = source.key("key");
        FieldRule::Text.check(&key, Presence::Required, faults);
        if !key.text().bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b)) {
            key.refuse(format!("{} is not a key: letters, digits, '-', '_' and '.'", quoted(key.text())), faults);
        }
    }
}

/// A variable from a file, which an init container has written into a volume.
fn check_file_key(file: &Field<'_, '_>, volumes: &Volumes<'_>, faults: &mut Faults<'_>) {
    if !file.is_set() {
        return;
    }
    let (key, volume, path) = (file.key("key"), file.key("volumeName"), file.key("path"));
    FieldRule::Text.check(&key, Presence::Required, faults);
    check_name(&key, faults);
    FieldRule::Label.check(&volume, Presence::Required, faults);
    FieldRule::Text.check(&path, Presence::Required, faults);
    check_backsteps(&path, faults);
    match volumes.get(volume.text()) {
        Some(&"emptyDir") => {}
        Some(_) => volume.refuse(format!("the volume {} is not an emptyDir", quoted(volume.text())), faults),
        None => volume.refuse(format!("the pod has no volume {}", quoted(volume.text())), faults),
    }
}

/// Reports none and several sources.
fn check_one(of: &Field<'_, '_>, sources: &[Field<'_, '_>], faults: &mut Faults<'_>) {
    match sources.iter().filter(|source| source.is_set()).count() {
        0 => of.require("it has no source", faults),
        1 => {}
        _ => of.refuse("it has more than one source", faults),
    }
}
