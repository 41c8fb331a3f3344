//! Objects of a text as raw JSON, for conversions and policies.
//!
//! The whole text is in memory, and the objects are slices of it. The reader of inventories holds one object at a time.

use std::{borrow::Cow, io::Read};

use roster_admission::policy::{self, Policies};
use roster_engine::{
    model::{
        ObjectKey,
        installed::{POLICY_GROUP, POLICY_KIND},
        json::{
            message::message,
            pointer::Pointer,
            raw::{JsonMembers, JsonNode},
        },
    },
    reason::{Finding, Reason},
};
use serde_json::{json, value::RawValue};

use super::{
    budget::{Budget, MemoryPool},
    document::{Document, DocumentKeys},
    error::{DecodeError, DecodeReason, Position},
    hidden_objects, input,
    kind::TypeMeta,
    list_items::{items_of, whole_list},
    object::{self, DecodeContext, ObjectPlace},
    repeated_keys,
    source::{InputFormat, Source},
    whole_text,
};
use crate::inventory::Inventory;

/// The longest object that gets the type of its list.
const MAX_TYPED: usize = 8 << 20;
/// Deepest nesting of lists; deeper ones are objects of an unknown kind.
const MAX_DEPTH: usize = 4;

/// Reads documents into `into`, one by one, and calls `each` with the index of each and what is read of it. An error means that
/// the memory limit is exceeded.
pub fn objects(
    documents: &[Document<'_>],
    source: &Source<'_>,
    into: &mut Inventory,
    mut each: impl FnMut(usize, &Inventory),
) -> Result<(), DecodeError> {
    let (pool, targets) = (MemoryPool::of(source), into.targets());
    let mut context = DecodeContext::new(&targets, Budget::new(&pool));
    let mut one = into.sibling();
    for (index, document) in documents.iter().enumerate() {
        let text = document.raw.get();
        let at = || document.at;
        let place = ObjectPlace {
            is_block: document.is_block,
            added: document.added,
            ..ObjectPlace::of(source, &at, Pointer::At(""))
        };
        let meta = TypeMeta::of(text, true);
        if let DocumentKeys::MadeSingle(single) = &document.keys {
            repeated_keys::report(single, &meta.kind, place, &context.budget, &mut one.problems)?;
        }
        hidden_objects::record(&document.hidden, place, &context, &mut one)?;
        let add = match &document.keys {
            DocumentKeys::Any => repeated_keys::add,
            DocumentKeys::Single | DocumentKeys::MadeSingle(_) => object::add,
        };
        add(text, &meta, place, &mut context, &mut one)?;
        each(index, &one);
        into.merge(std::mem::replace(&mut one, into.sibling()));
    }
    Ok(())
}

/// Records that there is an object, which is not looked at: nothing is missing that it may be.
pub fn record_unread(object: &RawValue, source: &Source<'_>, into: &mut Inventory) {
    let mut one = into.sibling();
    object::record_unreadable(&TypeMeta::of(object.get(), true), object.get(), &source.defaults, &mut one);
    into.unread.merge(one.unread);
}

/// All objects of a JSON text with one or several values. Lists are flattened. The format of the source is the one in which
/// the text was written.
pub fn documents<'a>(json: &'a str, source: &Source<'_>) -> Result<Vec<Document<'a>>, DecodeError> {
    let (documents, error) = readable_documents(json, source);
    error.map_or(Ok(documents), Err)
}

/// The same, up to the first error.
pub fn readable_documents<'a>(json: &'a str, source: &Source<'_>) -> (Vec<Document<'a>>, Option<DecodeError>) {
    let is_block = match source.format {
        InputFormat::Json => false,
        InputFormat::Yaml => true,
        InputFormat::Auto => !input::is_named_json(source.name),
    };
    let mut all = Documents { json, source, is_block, seen: Position::START, until: 0, list: Vec::new() };
    if let Some((of, items)) = whole_list(json, source.max_objects) {
        let meta = of.of_items();
        let added =
            source.check_interrupt().and_then(|()| items.into_iter().try_for_each(|item| all.add(item, &meta, 1)));
        return (all.list, added.err());
    }
    for value in serde_json::Deserializer::from_str(json).into_iter::<&'a RawValue>() {
        let value = value.map_err(|e| Position::START.of(&e).error(source.name, DecodeReason::Json(message(&e))));
        let interrupted = source.check_interrupt();
        if let Err(error) = interrupted.and(value).and_then(|raw| all.add(raw, &TypeMeta::default(), 0)) {
            return (all.list, Some(error));
        }
    }
    (all.list, None)
}

struct Documents<'a, 's> {
    json: &'a str,
    source: &'s Source<'s>,
    /// Whether the text was YAML in block style.
    is_block: bool,
    /// The last computed position, and its offset.
    seen: Position,
    until: usize,
    list: Vec<Document<'a>>,
}

impl<'a> Documents<'a, '_> {
    /// Adds an object, or the objects of a list. `meta` is the type of the object according to its list.
    fn add(&mut self, raw: &'a RawValue, meta: &TypeMeta, depth: usize) -> Result<(), DecodeError> {
        let at = self.place(raw);
        let of = TypeMeta::of(raw.get(), true);
        let items = if depth < MAX_DEPTH { items_of(raw, &of, self.source.max_objects) } else { None };
        if let Some(items) = items {
            let meta = of.of_items();
            return items.into_iter().try_for_each(|item| self.add(item, &meta, depth + 1));
        }
        if self.list.len() >= self.source.max_objects {
            return Err(at.error(self.source.name, DecodeReason::TooManyObjects(self.source.max_objects)));
        }
        let start = (raw.get().as_ptr() as usize).saturating_sub(self.json.as_ptr() as usize);
        let span = start..start + raw.get().len();
        let (raw, added) = if of.kind.is_empty() { with_type(raw, meta) } else { (Cow::Borrowed(raw), Some(0)) };
        let mut document = Document::placed(raw, at, added);
        document.span = span;
        document.is_block = depth == 0 && self.is_block;
        self.list.push(document);
        Ok(())
    }

    /// The position of a slice of the text. The slices come in order.
    fn place(&mut self, raw: &RawValue) -> Position {
        let start = (raw.get().as_ptr() as usize).saturating_sub(self.json.as_ptr() as usize);
        if let Some(text) = self.json.as_bytes().get(self.until..start) {
            self.seen = self.seen.after(text);
            self.until = start;
        }
        self.seen
    }
}

/// The object with the type from its list: API servers omit it in lists. And how many bytes were added after the first one;
/// `None` if the text has other lines now.
fn with_type<'a>(raw: &'a RawValue, meta: &TypeMeta) -> (Cow<'a, RawValue>, Option<usize>) {
    let unchanged = (Cow::Borrowed(raw), Some(0));
    // Opening a huge object takes many times its text, and nobody reads it: an API server stores 1.5 MiB.
    if meta.kind.is_empty() || raw.get().len() > MAX_TYPED {
        return unchanged;
    }
    let Ok(members) = JsonMembers::read(raw) else { return unchanged };
    let fields = [("apiVersion", &meta.api_version), ("kind", &meta.kind)];
    if members.get("kind").is_some() {
        // It is empty.
        let mut typed = JsonMembers::default();
        for (name, value) in fields {
            typed.push(name.into(), JsonNode::Text(value.as_str().into()));
        }
        typed.fill_from(members);
        return (Cow::Owned(typed.to_raw()), None);
    }
    let missing = fields.into_iter().filter(|(name, _)| members.get(name).is_none());
    let missing: Vec<String> = missing.map(|(name, value)| format!("\"{name}\":{}", json!(value))).collect();
    let Some(rest) = raw.get().strip_prefix('{') else { return unchanged };
    let comma = if rest.trim_ascii_start().starts_with('}') { "" } else { "," };
    let added = missing.join(",") + comma;
    match RawValue::from_string(format!("{{{added}{rest}")) {
        Ok(typed) => (Cow::Owned(typed), Some(added.len())),
        Err(_) => unchanged,
    }
}

/// Reads the policies of a file. An object of another kind is an error. Each message starts with its position.
pub fn policies(input: impl Read + Send, source: &Source<'_>) -> Result<(Policies, Vec<Finding>), DecodeError> {
    let text = whole_text::text(input, source)?;
    let (mut list, mut problems) = (Vec::new(), Vec::new());
    for document in documents(&text, source)? {
        let of = TypeMeta::of(document.raw.get(), true);
        let group = of.api_version.split_once('/').map_or("", |(group, _)| group);
        let (policy, found) = if of.kind == POLICY_KIND && group == POLICY_GROUP {
            policy::read(&document.raw)
        } else {
            let kind: String = of.kind.chars().take(80).collect();
            let key = ObjectKey { kind: kind.as_str().into(), ..Default::default() };
            (None, vec![Finding::new(Reason::InvalidObject, key, format!("{kind:?} is not an {POLICY_KIND}"))])
        };
        list.extend(policy);
        let lines = document.lines_of(&found.iter().map(Finding::at).collect::<Vec<_>>());
        let place =
            |(p, line): (Finding, usize)| Finding { message: format!("{}:{line}: {}", source.name, p.message), ..p };
        problems.extend(found.into_iter().zip(lines).map(place));
    }
    let (policies, more) = Policies::new(list);
    problems.extend(more);
    Ok((policies, problems))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text_: &str) -> Result<Vec<(usize, String)>, String> {
        let source = Source { max_objects: 4, ..Source::file("f") };
        let json = whole_text::text(text_.as_bytes(), &source).map_err(|e| e.to_string())?;
        let all = documents(&json, &source).map_err(|e| e.to_string())?;
        Ok(all.into_iter().map(|d| (d.line, d.raw.get().split_whitespace().collect())).collect())
    }

    #[test]
    fn objects_are_found_with_their_lines() {
        for (text, want) in [
            ("", Ok(vec![])),
            (
                "{\"kind\":\"A\"}\n\n{\"kind\":\"B\", \"n\": 1.10}",
                Ok(vec![(1, r#"{"kind":"A"}"#), (3, r#"{"kind":"B","n":1.10}"#)]),
            ),
            (
                "kind: A\n---\n---\nkind: B\nm: 9007199254740993\n",
                Ok(vec![(1, r#"{"kind":"A"}"#), (4, r#"{"kind":"B","m":9007199254740993}"#)]),
            ),
            (
                "\u{feff}{\"kind\":\"List\",\n\"items\":[\n{\"kind\":\"A\"},\n{\"x\":1}]}",
                Ok(vec![(3, r#"{"kind":"A"}"#), (4, r#"{"x":1}"#)]),
            ),
            (
                "apiVersion: v1\nkind: AList\nitems:\n- x: 1\n- kind: B\n",
                Ok(vec![(4, r#"{"apiVersion":"v1","kind":"A","x":1}"#), (5, r#"{"kind":"B"}"#)]),
            ),
            (
                "{\"kind\":\"List\",\"items\":{\"a\":1},\"items\":5,\"items\":[{\"kind\":\"A\"}]}",
                Ok(vec![(1, r#"{"kind":"A"}"#)]),
            ),
            // The items do not depend on a field that cannot be read, nor on what a later one replaces.
            (r#"{"kind":"List","items":{"\ud800":1e999},"items":[{"x":1}]}"#, Ok(vec![(1, r#"{"x":1}"#)])),
            (r#"{"apiVersion":"v1","kind":"List","items":[{"x":1}],"kind":5}"#, Ok(vec![(1, r#"{"x":1}"#)])),
            ("{\"kind\":\"List\",\"apiVersion\":5,\"items\":[{\"x\":1}]}", Ok(vec![(1, r#"{"x":1}"#)])),
            ("[{\"kind\":\"A\"},\n5]", Ok(vec![(1, r#"{"kind":"A"}"#), (2, "5")])),
            ("{\"kind\":\"List\",\"items\":5}", Ok(vec![(1, r#"{"kind":"List","items":5}"#)])),
            ("{\"kind\":\"List\",\"items\":null}", Ok(vec![])),
            ("[[[[[[]]]]]]", Ok(vec![(1, "[[]]")])),
            ("[1,2,3,4,5]", Err("f:1:10: more than 4 objects")),
            ("{\n\"kind\":", Err("f:2:7: not JSON: EOF while parsing a value")),
            ("a: [", Err("f:")),
        ] {
            match (read(text), want) {
                (Ok(got), Ok(want)) => {
                    assert_eq!(got, want.into_iter().map(|(l, t)| (l, t.to_owned())).collect::<Vec<_>>());
                }
                (Err(got), Err(want)) => assert!(got.starts_with(want), "{got}"),
                other => panic!("{text}: {other:?}"),
            }
        }
    }

    #[test]
    fn objects_are_read_one_by_one_with_their_problems() {
        let text_ = "kind: Pod\nmetadata: {name: a}\n---\nkind: Service\nmetadata: {name: s}\nspec:\n  ports: 5\n---\nkind: X\n";
        let source = Source::file("f");
        let json = whole_text::text(text_.as_bytes(), &source).unwrap();
        let (mut inventory, mut reported) = (Inventory::default(), Vec::new());
        let documents = documents(&json, &source).unwrap();
        objects(&documents, &source, &mut inventory, |i, one| {
            reported.extend(one.problems.iter().map(|p| format!("{i} {} {}", p.code, p.message)));
        })
        .unwrap();
        assert_eq!((inventory.len(), inventory.problems.as_slice().len()), (1, 1));
        assert_eq!(reported, ["1 invalid-object f:7:12: invalid type: integer `5`, expected a list"]);
    }

    /// The type from the list is in no line and no column.
    #[test]
    fn items_of_a_list_have_the_places_of_their_fields() {
        let list =
            |kind: &str| format!(r#"{{"kind":"{kind}","items":[{{"metadata":{{"name":"s"}},"spec":{{"ports":5}}}}]}}"#);
        let yaml = "kind: ServiceList\napiVersion: v1\nitems:\n- metadata: {name: s}\n  spec:\n    ports: 5\n";
        let column = list("ServiceList").find("5}").unwrap() + 1;
        let item = list("ServiceList").find("[{").unwrap() + 2;
        for (text, at, message) in [
            (yaml.to_owned(), [(6, None), (6, None), (4, None), (4, None)], "f:6:14: invalid type".to_owned()),
            (
                list("ServiceList"),
                [(1, Some(column)), (1, Some(column - 9)), (1, Some(item)), (1, Some(item))],
                format!("f:1:{column}: invalid type"),
            ),
            // The type is there, and empty.
            (
                list("ServiceList").replace("[{", r#"[{"kind":"","#),
                [(1, Some(item)), (1, Some(item)), (1, Some(item)), (1, Some(item))],
                "f:1:".to_owned(),
            ),
        ] {
            let source = Source::file("f");
            let json = whole_text::text(text.as_bytes(), &source).unwrap();
            let documents = documents(&json, &source).unwrap();
            let found = documents[0].places_of(&["/spec/ports", "spec", "kind", "x"]);
            assert_eq!(found, at, "{text}");
            let mut inventory = Inventory::default();
            objects(&documents, &source, &mut inventory, |_, _| {}).unwrap();
            let found = &inventory.problems.as_slice()[0].message;
            assert!(found.starts_with(&message), "{text}: {found}");
        }
    }

    #[test]
    fn a_file_of_policies_is_read_with_places() {
        let file = "\
apiVersion: roster.dev/v1alpha1
kind: EndpointPolicy
metadata: {name: a}
spec:
  defaultMode: \"off\"
  exemptGroup: x
---
apiVersion: roster.dev/v1
kind: EndpointPolicy
metadata: {name: b}
spec: {rules: [{name: extrenal-ip, mode: warn}]}
---
apiVersion: v1
kind: Service
";
        let (policies, problems) = policies(file.as_bytes(), &Source::file("p.yaml")).unwrap();
        assert_eq!(policies.iter().map(|p| p.meta.name.as_str()).collect::<Vec<_>>(), ["a"]);
        assert_eq!(
            problems.iter().map(|p| p.message.as_str()).collect::<Vec<_>>(),
            [
                "p.yaml:6: spec.exemptGroup is not a known field (did you mean exemptGroups?); it is ignored",
                "p.yaml:11: spec.rules[0].name is \"extrenal-ip\", which is not a known value; try external-ip",
                "p.yaml:13: \"Service\" is not an EndpointPolicy",
            ]
        );
    }

    #[test]
    fn the_example_is_sound() {
        let example = include_str!("../../../../examples/policy.yaml");
        let (policies, problems) = policies(example.as_bytes(), &Source::file("policy.yaml")).unwrap();
        assert_eq!((policies.iter().len(), problems), (2, vec![]));
    }
}
