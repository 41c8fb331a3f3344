//! Objects that repeat keys, and the findings about these keys.

use roster_engine::{model::json::pointer::Pointer, phrase::all_of, reason::Reason};

use super::{
    budget::Budget,
    error::DecodeError,
    hidden_objects,
    kind::TypeMeta,
    object::{self, DecodeContext, ObjectPlace},
    second_pass::FieldFault,
};
use crate::decode::single_keys::{BrokenSeparator, FIRST_FIELDS, RepeatedKey, RepeatedName, SingleKeys};
use crate::inventory::{Findings, Inventory};

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
    if is_mixture(&single, place.pointer, place.is_block) {
        hidden_objects::record(&hidden_objects::within(text), place, context, into)?;
    }
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
    let mut faults = faults(single, place.pointer, place.is_block).into_iter();
    faults.try_for_each(|fault| object::report(fault, &single.text, kind, place, budget, into))
}

/// What is wrong with the repeated keys of an object at a pointer. Another object without `---` before it repeats most of
/// them, and is one fault. Only a document of YAML in block style (`is_block`) can contain one.
fn faults(single: &SingleKeys, at: Pointer<'_>, is_block: bool) -> Vec<FieldFault> {
    let second = if is_mixture(single, at, is_block) { second_document(&single.names, single.separator) } else { None };
    let at = at.to_string();
    let (mut keys, mut more) = (Vec::new(), single.of_parts.more);
    if second.is_none() {
        keys.extend(&single.of_root.listed);
        more += single.of_root.more;
    }
    keys.extend(&single.of_parts.listed);
    keys.sort_unstable_by_key(|key| key.offset);
    let of_key = |key: &RepeatedKey| FieldFault {
        reason: Reason::DuplicateKey,
        pointer: format!("{at}{}", key.pointer),
        offset: key.offset,
        why: format!("the key {} is repeated; the last one counts", key.name),
    };
    let mut faults: Vec<FieldFault> = second.into_iter().chain(keys.into_iter().map(of_key)).collect();
    if let (Some(last), 1..) = (faults.last_mut(), more) {
        let what = if more == 1 { "key is" } else { "keys are" };
        last.why = format!("{}; {more} more {what} repeated", last.why);
    }
    faults
}

/// Whether another document begins within a document, of which this is the root.
pub(super) fn is_mixture(single: &SingleKeys, at: Pointer<'_>, is_block: bool) -> bool {
    is_block && at.to_string().is_empty() && second_document(&single.names, single.separator).is_some()
}

/// The fault of another document that begins within the one whose root repeats these names, after the separator if it is
/// broken.
fn second_document(names: &[RepeatedName], separator: Option<BrokenSeparator>) -> Option<FieldFault> {
    let times = |field: &&str| names.iter().find(|name| name.name == **field).map(|name| name.times);
    let times: Vec<usize> = FIRST_FIELDS.iter().filter_map(times).collect();
    if times.len() < 2 {
        return None;
    }
    let count = match times.iter().max() {
        Some(1) => "two".to_owned(),
        times => (1 + times.copied().unwrap_or_default()).to_string(),
    };
    let first = names.iter().map(|name| name.offset).min().unwrap_or_default();
    let names = all_of(&names.iter().map(|name| name.name.as_str()).collect::<Vec<_>>());
    let (offset, why) = match separator {
        None => (first, format!("{count} documents without --- between them? {names} are repeated from here on")),
        Some(BrokenSeparator::Indented(at)) => {
            (at, format!("the line --- is indented, so it does not separate documents: {names} are repeated after it"))
        }
        Some(BrokenSeparator::BeforeKey(at)) => {
            (at, format!("--- needs a line of its own to separate documents: {names} are repeated after it"))
        }
    };
    let why = format!("{why}; the last ones count");
    Some(FieldFault { reason: Reason::MissingSeparator, pointer: String::new(), offset, why })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_document_is_one_fault() {
        let one = r#""apiVersion":"v1","kind":"A","metadata":{"name":"a"},"spec":{"x":1,"x":2}"#;
        for (text, at, want) in [
            (format!("{{{one}}}"), "", vec!["duplicate-key /spec/x 68 the key x is repeated; the last one counts"]),
            (
                format!("{{{one},{one}}}"),
                "",
                vec![
                    "missing-separator  75 two documents without --- between them? apiVersion, kind, metadata and spec are \
                     repeated from here on; the last ones count",
                    "duplicate-key /spec/x 142 the key x is repeated; the last one counts",
                ],
            ),
            (
                format!("{{{one},\"kind\":\"B\",\"metadata\":{{}},\"kind\":\"C\"}}"),
                "",
                vec![
                    "missing-separator  75 3 documents without --- between them? kind and metadata are repeated from here on; \
                     the last ones count",
                    "duplicate-key /spec/x 68 the key x is repeated; the last one counts",
                ],
            ),
            // A line that is indented continues the value before it, or is one.
            (
                "{\"kind\":\"A\",\"metadata\":{\"name\":\"a ---\"\n\n},\n\"kind\":\"B\",\"metadata\":{}}".to_owned(),
                "",
                vec![
                    "missing-separator  39 the line --- is indented, so it does not separate documents: kind and metadata are \
                     repeated after it; the last ones count",
                ],
            ),
            (
                "{\"kind\":\"A\",\"metadata\":\n\"---\",\n\"kind\":\"B\",\"metadata\":{}}".to_owned(),
                "",
                vec![
                    "missing-separator  24 the line --- is indented, so it does not separate documents: kind and metadata are \
                     repeated after it; the last ones count",
                ],
            ),
            // Without a line end, it begins a key.
            (
                r#"{"apiVersion":"v1","kind":"A","metadata":{},"---apiVersion":"v1","kind":"B","metadata":{}}"#
                    .to_owned(),
                "",
                vec![
                    "missing-separator  44 --- needs a line of its own to separate documents: kind and metadata are repeated \
                     after it; the last ones count",
                ],
            ),
            (
                r#"{"kind":"A","kind":"B"}"#.to_owned(),
                "",
                vec!["duplicate-key /kind 12 the key kind is repeated; the last one counts"],
            ),
            (
                r#"{"kind":"A","metadata":{},"kind":"B","metadata":{}}"#.to_owned(),
                "/items/0",
                vec![
                    "duplicate-key /items/0/kind 26 the key kind is repeated; the last one counts",
                    "duplicate-key /items/0/metadata 37 the key metadata is repeated; the last one counts",
                ],
            ),
        ] {
            let single = SingleKeys::of(&text).unwrap();
            let shown = |f: FieldFault| format!("{} {} {} {}", f.reason, f.pointer, f.offset, f.why);
            let shown: Vec<String> = faults(&single, Pointer::At(at), true).into_iter().map(shown).collect();
            assert_eq!(shown, want, "{text}");
        }
    }

    /// The keys of a part do not hide those of the root, and more than the limit are counted.
    #[test]
    fn another_document_is_found_however_many_keys_are_repeated() {
        let part = format!("{{{}\"k\":1}}", "\"k\":1,".repeat(31));
        let text = format!(r#"{{"kind":"A","metadata":{{}},"spec":{part},"kind":"B","metadata":{{}}}}"#);
        let single = SingleKeys::of(&text).unwrap();
        let separator = "two documents without --- between them? kind and metadata are repeated from here on; the last ones \
                         count";
        let key = "the key k is repeated; the last one counts";
        let more = "the key k is repeated; the last one counts; 11 more keys are repeated";
        let (kind, metadata) = (
            "the key kind is repeated; the last one counts",
            "the key metadata is repeated; the last one counts; 11 more keys are repeated",
        );
        for (is_block, want) in [
            (true, [vec![separator], vec![key; 19], vec![more]].concat()),
            (false, [vec![key; 20], vec![kind, metadata]].concat()),
        ] {
            let faults = faults(&single, Pointer::At(""), is_block);
            let why: Vec<&str> = faults.iter().map(|fault| fault.why.as_str()).collect();
            assert_eq!(why, want, "{is_block}");
        }
    }
}
