//! Names, labels, annotations, owners and finalizers of an object.

use std::collections::BTreeSet;

use roster_engine::{
    model::{Resource, ResourceScope, dns},
    reason::Reason,
};

use super::{
    faults::{Faults, quoted},
    field::Field,
    labels::{check_annotations, check_labels},
    name_form::NameForm,
    values::not_qualified,
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
    check_prefix(&metadata.key("generateName"), kind, faults);
    check_owners(&metadata.key("ownerReferences"), faults);
    check_finalizers(&metadata.key("finalizers"), kind, faults);
}

/// Whether an API server asks no more of the metadata of this kind than of every kind's: a name is any step of a path, and
/// finalizers need no domain.
fn is_lax(kind: &str) -> bool {
    kind == "PodDisruptionBudget"
}

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
    } else if let Some(form) = name_form(kind).filter(|form| !text.is_empty() && !form.holds(text)) {
        faults.add(Reason::InvalidName, name.at, form.broken(text));
    }
}

/// The form of names that nobody has to spell out.
fn name_form(kind: &str) -> Option<NameForm> {
    match kind {
        "Service" => Some(NameForm::Label),
        "Namespace" => None,
        _ if is_lax(kind) => Some(NameForm::Segment),
        _ => Some(NameForm::Subdomain),
    }
}

const LABEL_FORM: &str = "it consists of at most 63 lower case letters, digits and '-'";

fn check_namespace(namespace: &Field<'_, '_>, kind: &str, faults: &mut Faults<'_>) {
    let text = namespace.text();
    if text.is_empty() {
        return;
    }
    // An API server drops that of a cluster-scoped object.
    let is_namespaced = Resource::of("", kind).is_none_or(|r| r.scope() == ResourceScope::Namespaced);
    if is_namespaced && !dns::is_label(text.as_bytes()) {
        namespace.refuse(format!("{} is not the name of a namespace: {LABEL_FORM}", quoted(text)), faults);
    }
}

/// Finalizers whose names do not have a domain.
const STANDARD: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

/// An API server appends letters to the prefix, so that it may end with a `-`.
fn check_prefix(prefix: &Field<'_, '_>, kind: &str, faults: &mut Faults<'_>) {
    let text = prefix.text();
    let example = match text.strip_suffix('-') {
        Some(begin) if !begin.is_empty() => format!("{begin}a"),
        _ => text.to_owned(),
    };
    let is_name = match kind {
        "Service" | "Namespace" | "StatefulSet" => dns::is_label(example.as_bytes()),
        // Letters after two dots make a name of them.
        _ if is_lax(kind) => !text.contains(['/', '%']),
        _ => dns::is_subdomain(example.as_bytes()),
    };
    if !text.is_empty() && !is_name {
        prefix.refuse(format!("{} is not the beginning of a name of a {kind}", quoted(text)), faults);
    }
}

fn check_owners(owners: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let mut controllers = 0;
    for owner in owners.items() {
        let version = owner.key("apiVersion");
        if version.as_text().is_some_and(|text| text.rsplit('/').next() == Some("")) {
            version.require("the version is missing", faults);
        }
        for name in ["kind", "name", "uid"] {
            let field = owner.key(name);
            if field.as_text() == Some("") {
                field.require("it must not be empty", faults);
            }
        }
        if version.text() == "v1" && owner.key("kind").text() == "Event" {
            owner.key("kind").refuse("an Event cannot own objects", faults);
        }
        controllers += usize::from(owner.key("controller").is_true());
    }
    if controllers > 1 {
        owners.refuse("only one owner may have controller: true", faults);
    }
}

fn check_finalizers(finalizers: &Field<'_, '_>, kind: &str, faults: &mut Faults<'_>) {
    let mut names = BTreeSet::new();
    for finalizer in finalizers.items() {
        let Some(name) = finalizer.as_text() else { continue };
        names.insert(name);
        if let Some(why) = not_qualified(name) {
            finalizer.refuse(format!("{} is not the name of a finalizer: {why}", quoted(name)), faults);
        } else if !name.contains('/') && !STANDARD.contains(&name) && !is_lax(kind) {
            let message = format!("{} has no domain, such as example.com/{name}", quoted(name));
            finalizer.refuse(message, faults);
        }
    }
    if ["orphan", "foregroundDeletion"].iter().all(|name| names.contains(name)) {
        finalizers.refuse("orphan and foregroundDeletion exclude each other", faults);
    }
}
