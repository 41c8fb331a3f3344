//! Objects that repeat keys, and the findings about these keys.

use super::{
    budget::Budget,
    error::DecodeError,
    kind::TypeMeta,
    object::{self, DecodeContext, ObjectPlace},
    value::FieldFault,
};
use crate::{
    engine::{phrase::all_of, reason::Reason},
    inventory::{Findings, Inventory},
    model::json::{
        pointer::Pointer,
        single_keys::{RepeatedKey, SingleKeys},
    },
};

/// The fields with which every object begins.
const FIRST_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Adds an object that somebody has written, as [`object::add`] does: of keys that it repeats, the last one counts.
pub(super) fn add(
    text: &str,
    meta: &TypeMeta,
    place: ObjectPlace<'_>,
    context: &mut DecodeContext<'_>,
    into: &mut Inventory,
) -> Result<(), DecodeError> {
    let Some(single) = SingleKeys::of(text) else {
        return object::add(text, meta, place, context, into);
    };
    // The type may be among what is repeated; a list may have named it.
    let of_text = TypeMeta::of(&single.text, true);
    let meta = if of_text.kind.is_empty() { meta.clone() } else { of_text };
    report(&single, &meta.kind, place, &context.budget, &mut into.problems)?;
    object::add(&single.text, &meta, place, context, into)
}

/// Adds the findings about the repeated keys of an object.
pub(super) fn report(
    single: &SingleKeys,
    kind: &str,
    place: ObjectPlace<'_>,
    budget: &Budget<'_>,
    into: &mut Findings,
) -> Result<(), DecodeError> {
    let mut faults = faults(&single.repeated, place.pointer).into_iter();
    faults.try_for_each(|fault| object::report(fault, &single.text, kind, place, budget, into))
}

/// What is wrong with the repeated keys of an object at a pointer. Another object without `---` before it repeats most of
/// them, and is one fault.
fn faults(repeated: &[RepeatedKey], at: Pointer<'_>) -> Vec<FieldFault> {
    let at = at.to_string();
    let second = if at.is_empty() { second_document(repeated) } else { None };
    let of_second = |key: &&RepeatedKey| second.is_some() && key.is_of_root();
    let keys = repeated.iter().filter(|key| !of_second(key)).map(|key| FieldFault {
        reason: Reason::DuplicateKey,
        pointer: format!("{at}{}", key.pointer),
        offset: key.offset,
        why: format!("{} is repeated; the last one counts", key.name),
    });
    let keys: Vec<FieldFault> = keys.collect();
    second.into_iter().chain(keys).collect()
}

/// The fault of another document that begins within this one.
fn second_document(repeated: &[RepeatedKey]) -> Option<FieldFault> {
    let of_root = || repeated.iter().filter(|key| key.is_of_root());
    let times = |name: &str| of_root().filter(|key| key.name == name).count();
    if FIRST_FIELDS.iter().filter(|name| times(name) > 0).count() < 2 {
        return None;
    }
    let mut names: Vec<&str> = Vec::new();
    for key in of_root() {
        if !names.contains(&key.name.as_str()) {
            names.push(&key.name);
        }
    }
    let count = match FIRST_FIELDS.iter().map(|name| times(name)).max() {
        Some(1) => "two".to_owned(),
        times => (1 + times.unwrap_or_default()).to_string(),
    };
    let names = all_of(&names);
    Some(FieldFault {
        reason: Reason::MissingSeparator,
        pointer: String::new(),
        offset: of_root().map(|key| key.offset).min().unwrap_or_default(),
        why: format!(
            "{count} documents without --- between them? {names} are repeated from here on; the last ones count"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_document_is_one_fault() {
        let one = r#""apiVersion":"v1","kind":"A","metadata":{"name":"a"},"spec":{"x":1,"x":2}"#;
        for (text, at, want) in [
            (format!("{{{one}}}"), "", vec!["duplicate-key /spec/x 68 x is repeated; the last one counts"]),
            (
                format!("{{{one},{one}}}"),
                "",
                vec![
                    "missing-separator  75 two documents without --- between them? apiVersion, kind, metadata and spec are \
                     repeated from here on; the last ones count",
                    "duplicate-key /spec/x 142 x is repeated; the last one counts",
                ],
            ),
            (
                format!("{{{one},\"kind\":\"B\",\"metadata\":{{}},\"kind\":\"C\"}}"),
                "",
                vec![
                    "missing-separator  75 3 documents without --- between them? kind and metadata are repeated from here on; \
                     the last ones count",
                    "duplicate-key /spec/x 68 x is repeated; the last one counts",
                ],
            ),
            (
                r#"{"kind":"A","kind":"B"}"#.to_owned(),
                "",
                vec!["duplicate-key /kind 12 kind is repeated; the last one counts"],
            ),
            (
                r#"{"kind":"A","metadata":{},"kind":"B","metadata":{}}"#.to_owned(),
                "/items/0",
                vec![
                    "duplicate-key /items/0/kind 26 kind is repeated; the last one counts",
                    "duplicate-key /items/0/metadata 37 metadata is repeated; the last one counts",
                ],
            ),
        ] {
            let single = SingleKeys::of(&text).unwrap();
            let shown = |f: FieldFault| format!("{} {} {} {}", f.reason, f.pointer, f.offset, f.why);
            let shown: Vec<String> = faults(&single.repeated, Pointer::At(at)).into_iter().map(shown).collect();
            assert_eq!(shown, want, "{text}");
        }
    }
}
