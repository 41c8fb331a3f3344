//! Names, labels and annotations of an object.

use roster_engine::{
    model::{Resource, ResourceScope, dns},
    reason::Reason,
};

use super::{
    faults::{Faults, quoted},
    field::Field,
    labels::{check_annotations, check_labels},
};

/// Checks the metadata of an object.
pub(super) fn check(metadata: &Field<'_, '_>, kind: &str, faults: &mut Faults<'_>) {
    let name = metadata.key("name");
    if name.text().is_empty() && metadata.key("generateName").text().is_empty() {
        name.require("the object has no name", faults);
    }
    check_name(&name, kind, faults);
    check_namespace(&metadata.key("namespace"), kind, faults);
    check_labels(&metadata.key("labels"), faults);
    check_annotations(&metadata.key("annotations"), faults);
}

/// The name of a kind whose names have another form than the decoder knows.
fn check_name(name: &Field<'_, '_>, kind: &str, faults: &mut Faults<'_>) {
    // A CronJob adds 11 characters for each Job, whose name is a label of the pods.
    const MAX_CRON_JOB: usize = dns::MAX_LABEL - 11;
    let text = name.text();
    if kind == "Namespace" && !text.is_empty() && !dns::is_label(text.as_bytes()) {
        let message = format!("{} is not the name of a namespace: {LABEL_FORM}", quoted(text));
        faults.add(Reason::InvalidName, name.at, message);
    } else if kind == "CronJob" && text.len() > MAX_CRON_JOB {
        let message = format!("the name has {} characters; {MAX_CRON_JOB} are allowed", text.len());
        faults.add(Reason::InvalidName, name.at, message);
    }
}

const LABEL_FORM: &str = "it consists of at most 63 lower case letters, digits and '-'";

fn check_namespace(namespace: &Field<'_, '_>, kind: &str, faults: &mut Faults<'_>) {
    let text = namespace.text();
    if text.is_empty() {
        return;
    }
    let is_namespaced = Resource::of("", kind).is_none_or(|r| r.scope() == ResourceScope::Namespaced);
    if !is_namespaced {
        namespace.refuse(format!("a {kind} is in no namespace"), faults);
    } else if !dns::is_label(text.as_bytes()) {
        namespace.refuse(format!("{} is not the name of a namespace: {LABEL_FORM}", quoted(text)), faults);
    }
}
