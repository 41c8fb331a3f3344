//! Names, labels and annotations.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{
    faults::{Faults, quoted},
    values::{lenient, not_label_value, not_qualified},
};
use crate::{
    engine::reason::Reason,
    model::{Resource, ResourceScope, dns, json::pointer::Pointer},
};

#[derive(Default, Deserialize)]
#[serde(default)]
struct Manifest {
    #[serde(deserialize_with = "lenient")]
    metadata: Metadata,
}

/// The metadata of an object or of a template.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Metadata {
    #[serde(deserialize_with = "lenient")]
    name: String,
    #[serde(deserialize_with = "lenient")]
    generate_name: String,
    #[serde(deserialize_with = "lenient")]
    namespace: String,
    #[serde(deserialize_with = "lenient")]
    labels: BTreeMap<String, Value>,
    #[serde(deserialize_with = "lenient")]
    annotations: BTreeMap<String, Value>,
}

/// Checks the metadata of an object.
pub(super) fn check(object: &RawValue, kind: &str, faults: &mut Faults<'_>) {
    let Ok(Manifest { metadata }) = serde_json::from_str(object.get()) else { return };
    if metadata.name.is_empty() && metadata.generate_name.is_empty() {
        faults.add(Reason::MissingField, "/metadata/name", "the object has no name");
    }
    check_name(&metadata.name, kind, faults);
    check_namespace(&metadata.namespace, kind, faults);
    check_labels(&metadata, &Pointer::At("/metadata"), faults);
}

/// The name of a kind whose names have another form than the decoder knows.
fn check_name(name: &str, kind: &str, faults: &mut Faults<'_>) {
    // A CronJob adds 11 characters for each Job, whose name is a label of the pods.
    const MAX_CRON_JOB: usize = dns::MAX_LABEL - 11;
    if kind == "Namespace" && !name.is_empty() && !dns::is_label(name.as_bytes()) {
        let message = format!("{} is not the name of a namespace: {LABEL_FORM}", quoted(name));
        faults.add(Reason::InvalidName, "/metadata/name", message);
    } else if kind == "CronJob" && name.len() > MAX_CRON_JOB {
        let message = format!("the name has {} characters; {MAX_CRON_JOB} are allowed", name.len());
        faults.add(Reason::InvalidName, "/metadata/name", message);
    }
}

const LABEL_FORM: &str = "it consists of at most 63 lower case letters, digits and '-'";

fn check_namespace(namespace: &str, kind: &str, faults: &mut Faults<'_>) {
    if namespace.is_empty() {
        return;
    }
    let is_namespaced = Resource::of("", kind).is_none_or(|r| r.scope() == ResourceScope::Namespaced);
    if !is_namespaced {
        let message = format!("a {kind} is in no namespace");
        faults.add(Reason::InvalidValue, "/metadata/namespace", message);
    } else if !dns::is_label(namespace.as_bytes()) {
        let message = format!("{} is not the name of a namespace: {LABEL_FORM}", quoted(namespace));
        faults.add(Reason::InvalidValue, "/metadata/namespace", message);
    }
}

/// Checks the labels and annotations of metadata at the pointer `at`.
pub(super) fn check_labels(metadata: &Metadata, at: &Pointer<'_>, faults: &mut Faults<'_>) {
    check_map(&metadata.labels, &Pointer::Key(at, "labels"), faults);
    let annotations = Pointer::Key(at, "annotations");
    for key in metadata.annotations.keys() {
        // Keys of annotations may have capital letters in their prefix.
        if let Some(why) = not_qualified(&key.to_ascii_lowercase()) {
            let message = format!("{} is not the key of an annotation: {why}", quoted(key));
            faults.add(Reason::InvalidValue, Pointer::Key(&annotations, key), message);
        }
    }
}

/// Checks labels, or the labels of a selector.
pub(super) fn check_map(labels: &BTreeMap<String, Value>, at: &Pointer<'_>, faults: &mut Faults<'_>) {
    for (key, value) in labels {
        let field = Pointer::Key(at, key);
        if let Some(why) = not_qualified(key) {
            faults.add(Reason::InvalidValue, field, format!("{} is not the key of a label: {why}", quoted(key)));
        }
        if let Some(value) = value.as_str()
            && let Some(why) = not_label_value(value)
        {
            faults.add(Reason::InvalidValue, field, format!("{} is not the value of a label: {why}", quoted(value)));
        }
    }
}
