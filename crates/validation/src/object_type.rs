//! Whether Kubernetes has the kind of an object in its `apiVersion`.

use roster_engine::{
    model::{
        json::{pointer::Pointer, raw::JsonMembers},
        spelling::typo,
    },
    profile::Minor,
    reason::Reason,
};
use serde_json::value::RawValue;

use super::{
    api_kinds::{self, ApiKind},
    faults::{Faults, quoted},
    schema::{Schemas, TypeId},
    values::TypeMeta,
};

/// The schema of an object, if there is one. Adds a finding if Kubernetes does not have its type.
pub(super) fn check(
    object: &RawValue,
    TypeMeta { api_version, kind }: &TypeMeta,
    schemas: &Schemas,
    faults: &mut Faults<'_>,
) -> Option<TypeId> {
    if let Some(schema) = schemas.of_kind(api_version, kind) {
        return Some(schema);
    }
    if kind.is_empty() {
        // The decoder reports it.
        return None;
    }
    if api_version.is_empty() {
        return check_without_version(kind, schemas, faults);
    }
    match api_kinds::find(api_version, kind) {
        // Lists with items are taken apart before.
        ApiKind::Known if kind.ends_with("List") => check_list(object, faults),
        ApiKind::Known | ApiKind::Foreign => {}
        ApiKind::Unknown(meant) => {
            let field = if meant.is_some_and(|(version, _)| version == api_version) { "/kind" } else { "/apiVersion" };
            let message =
                format!("Kubernetes {} has no kind {} in {}", Minor::NEWEST, quoted(kind), quoted(api_version));
            match meant {
                Some((version, kind)) => {
                    faults.add(Reason::UnknownKind, field, format!("{message}; did you mean {version} {kind}?"));
                }
                // Other programs write files with apiVersion v1 as well.
                None if api_version == "v1" => faults.note(Reason::UnknownKind, "/kind", message),
                None => faults.add(Reason::UnknownKind, field, message),
            }
        }
    }
    None
}

/// The schema of an object without `apiVersion`, which nothing can be asked of except its kind.
fn check_without_version(kind: &str, schemas: &Schemas, faults: &mut Faults<'_>) -> Option<TypeId> {
    if let Some((meant, _)) = api_kinds::exactly(kind) {
        let message = format!("the object has no apiVersion; did you mean {meant}?");
        faults.add(Reason::MissingField, "/apiVersion", message);
        return schemas.of_kind(meant, kind);
    }
    let message =
        format!("the object has no apiVersion, and Kubernetes {} has no kind {}", Minor::NEWEST, quoted(kind));
    // Other programs have files with a kind as well.
    if let Some((version, kind)) = api_kinds::like(kind) {
        faults.add(Reason::UnknownKind, "/kind", format!("{message}; did you mean {version} {kind}?"));
    }
    None
}

/// A list without items is read as an empty one.
fn check_list(object: &RawValue, faults: &mut Faults<'_>) {
    let members = JsonMembers::read(object).unwrap_or_default();
    if members.get("items").is_some() {
        return;
    }
    let near = members.names().filter(|name| typo(name, "items").is_some()).min();
    match near {
        Some(name) => {
            let message = format!("a list has no field {}; did you mean items?", quoted(name));
            faults.add(Reason::UnknownField, Pointer::Key(&Pointer::At(""), name), message);
        }
        None => faults.add(Reason::MissingField, "/items", "the list has no items"),
    }
}
