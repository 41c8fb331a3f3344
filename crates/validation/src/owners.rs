//! Owners, finalizers and the prefix of a generated name.

use std::collections::BTreeSet;

use roster_engine::model::dns;

use super::{
    faults::{Faults, quoted},
    field::Field,
    values::not_qualified,
};

/// Finalizers whose names do not have a domain.
const STANDARD: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

/// Checks these fields of an object of the kind.
pub(super) fn check(object: &Field<'_, '_>, kind: &str, faults: &mut Faults<'_>) {
    let metadata = object.key("metadata");
    check_prefix(&metadata.key("generateName"), kind, faults);
    check_owners(&metadata.key("ownerReferences"), faults);
    check_finalizers(&metadata.key("finalizers"), faults);
}

/// An API server appends letters to the prefix, so that it may end with a `-`.
fn check_prefix(prefix: &Field<'_, '_>, kind: &str, faults: &mut Faults<'_>) {
    let text = prefix.text();
    let example = match text.strip_suffix('-') {
        Some(begin) if !begin.is_empty() => format!("{begin}a"),
        _ => text.to_owned(),
    };
    let is_name = match kind {
        "Service" | "Namespace" | "StatefulSet" => dns::is_label(example.as_bytes()),
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

fn check_finalizers(finalizers: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let mut names = BTreeSet::new();
    for finalizer in finalizers.items() {
        let Some(name) = finalizer.as_text() else { continue };
        names.insert(name);
        if let Some(why) = not_qualified(name) {
            finalizer.refuse(format!("{} is not the name of a finalizer: {why}", quoted(name)), faults);
        } else if !name.contains('/') && !STANDARD.contains(&name) {
            let message = format!("{} has no domain, such as example.com/{name}", quoted(name));
            finalizer.refuse(message, faults);
        }
    }
    if ["orphan", "foregroundDeletion"].iter().all(|name| names.contains(name)) {
        finalizers.refuse("orphan and foregroundDeletion exclude each other", faults);
    }
}
