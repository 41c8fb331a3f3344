//! The environment of a container.

use crate::lint::validation::{
    faults::{Faults, quoted},
    field::{Field, Presence, Rule},
    values::not_qualified,
};

/// Where the value of a variable may come from.
const SOURCES: [&str; 5] = ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"];

/// The fields of a pod that a variable may have, besides single labels and annotations.
const POD_FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

const RESOURCES: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

pub(super) fn check(container: &Field<'_, '_>, faults: &mut Faults<'_>) {
    for variable in container.key("env").items() {
        let name = variable.key("name");
        Rule::Text.check(&name, Presence::Required, faults);
        check_name(&name, faults);
        let from = variable.key("valueFrom");
        if from.is_set() {
            check_source(&from, &variable.key("value"), faults);
        }
    }
    for all in container.key("envFrom").items() {
        check_name(&all.key("prefix"), faults);
        let sources = ["configMapRef", "secretRef"].map(|name| all.key(name));
        check_one(&all, &sources, faults);
        for source in sources.iter().filter(|source| source.is_set()) {
            Rule::Subdomain.check(&source.key("name"), Presence::Required, faults);
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
    let [pod, resource, config_map, secret, file] = sources;
    if pod.is_set() {
        check_pod_field(&pod.key("fieldPath"), faults);
    }
    if resource.is_set() {
        check_resource(&resource.key("resource"), faults);
    }
    for source in [config_map, secret].iter().filter(|source| source.is_set()) {
        Rule::Subdomain.check(&source.key("name"), Presence::Required, faults);
        let key = source.key("key");
        Rule::Text.check(&key, Presence::Required, faults);
        if !key.text().bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b)) {
            key.refuse(format!("{} is not a key: letters, digits, '-', '_' and '.'", quoted(key.text())), faults);
        }
    }
    if file.is_set() {
        Rule::Label.check(&file.key("volumeName"), Presence::Required, faults);
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

fn check_pod_field(path: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let text = path.text();
    let of_map = text.strip_suffix("']").and_then(|text| {
        let (key, is_label) = match text.strip_prefix("metadata.labels['") {
            Some(key) => (key.to_owned(), true),
            // Keys of annotations may have capital letters in their prefix.
            None => (text.strip_prefix("metadata.annotations['")?.to_ascii_lowercase(), false),
        };
        not_qualified(&key).is_none().then_some(is_label)
    });
    if !POD_FIELDS.contains(&text) && of_map.is_none() {
        path.refuse(format!("{} is not a field of the pod that a variable can have", quoted(text)), faults);
    }
}

fn check_resource(resource: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let of = |text: &str| {
        let name = text.strip_prefix("limits.").or_else(|| text.strip_prefix("requests."))?;
        (RESOURCES.contains(&name) || name.starts_with("hugepages-")).then_some(())
    };
    if of(resource.text()).is_none() {
        resource.refuse(format!("{} is not a resource of a container", quoted(resource.text())), faults);
    }
}
