//! Adds labels to the text of an object, and leaves every other character in its line.

use std::collections::{BTreeMap, BTreeSet};

use roster_engine::model::json::raw::{JsonMembers, JsonNode, is_object};
use serde_json::value::RawValue;

/// The text of an object with these labels in the map at a path; `None` if that is the same text. Where the map is missing,
/// `create` says whether to add it.
pub(super) fn with_labels(
    text: &str,
    path: &[&str],
    create: bool,
    labels: &BTreeMap<String, String>,
) -> Option<String> {
    let mut value: &RawValue = serde_json::from_str(text).ok()?;
    let offset = |part: &RawValue| (part.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    let replaced = |part: &RawValue, new: &str| {
        let start = offset(part);
        Some([text.get(..start)?, new, text.get(start + part.get().len()..)?].concat())
    };
    for (depth, name) in path.iter().enumerate() {
        if value.get() == "null" && create {
            return replaced(value, &nested(&path[depth..], labels));
        }
        let members = object(value)?;
        match members.get(name) {
            Some(JsonNode::Raw(member)) => value = member,
            None if create => {
                let member = format!("{}:{}", quoted(name), nested(&path[depth + 1..], labels));
                return replaced(value, &with_members(value, &members, &[member]));
            }
            _ => return None,
        }
    }
    if value.get() == "null" && create {
        return replaced(value, &nested(&[], labels));
    }
    let members = object(value)?;
    let known: BTreeSet<&str> = members.names().collect();
    let new: Vec<String> = labels
        .iter()
        .filter(|(key, _)| !known.contains(key.as_str()))
        .map(|(key, label)| format!("{}:{}", quoted(key), quoted(label)))
        .collect();
    let map = with_values(value, &members, labels);
    let map = RawValue::from_string(map).ok()?;
    replaced(value, &with_members(&map, &members, &new)).filter(|changed| changed != text)
}

fn object(value: &RawValue) -> Option<JsonMembers<'_>> {
    if is_object(value) { JsonMembers::read(value).ok() } else { None }
}

/// A map of labels within objects that have it as their only member.
fn nested(path: &[&str], labels: &BTreeMap<String, String>) -> String {
    let map: Vec<String> = labels.iter().map(|(key, label)| format!("{}:{}", quoted(key), quoted(label))).collect();
    path.iter().rev().fold(format!("{{{}}}", map.join(",")), |inner, name| format!("{{{}:{inner}}}", quoted(name)))
}

/// The text of an object that has `members`, with more of them at its start.
fn with_members(object: &RawValue, members: &JsonMembers<'_>, more: &[String]) -> String {
    let comma = if members.is_empty() || more.is_empty() { "" } else { "," };
    format!("{{{}{comma}{}", more.join(","), object.get().get(1..).unwrap_or_default())
}

/// The text of a map of labels with other values of those that it has.
fn with_values(map: &RawValue, members: &JsonMembers<'_>, labels: &BTreeMap<String, String>) -> String {
    let whole = map.get();
    let (mut text, mut done) = (String::with_capacity(whole.len()), 0);
    for (key, value) in members.iter() {
        let (Some(label), JsonNode::Raw(value)) = (labels.get(key), value) else { continue };
        let start = (value.get().as_ptr() as usize).saturating_sub(whole.as_ptr() as usize);
        text.push_str(whole.get(done..start).unwrap_or_default());
        text.push_str(&quoted(label));
        done = start + value.get().len();
    }
    text + whole.get(done..).unwrap_or_default()
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_added_in_their_lines() {
        let labels =
            BTreeMap::from([("app", "web"), ("env", "prod")].map(|(key, value)| (key.to_owned(), value.to_owned())));
        for (text, create, want) in [
            ("{}", true, Some(r#"{"spec":{"selector":{"app":"web","env":"prod"}}}"#)),
            ("{}", false, None),
            (r#"{"a":1}"#, true, Some(r#"{"spec":{"selector":{"app":"web","env":"prod"}},"a":1}"#)),
            (r#"{"spec":null}"#, true, Some(r#"{"spec":{"selector":{"app":"web","env":"prod"}}}"#)),
            (
                "{\n \"spec\" : {\n  \"x\":1}}",
                true,
                Some("{\n \"spec\" : {\"selector\":{\"app\":\"web\",\"env\":\"prod\"},\n  \"x\":1}}"),
            ),
            (r#"{"spec":{"selector":null}}"#, true, Some(r#"{"spec":{"selector":{"app":"web","env":"prod"}}}"#)),
            (r#"{"spec":{"selector":{}}}"#, false, Some(r#"{"spec":{"selector":{"app":"web","env":"prod"}}}"#)),
            (
                "{\"spec\":{\"selector\":{\n\"app\" : \"x\",\n\"b\":1}}}",
                false,
                Some("{\"spec\":{\"selector\":{\"env\":\"prod\",\n\"app\" : \"web\",\n\"b\":1}}}"),
            ),
            (r#"{"spec":{"selector":{"env":"prod","app":"web"}}}"#, true, None),
            // Of two values of one label, the last one counts.
            (
                r#"{"spec":{"selector":{"app":"x","env":"y","app":"z"}}}"#,
                true,
                Some(r#"{"spec":{"selector":{"app":"x","env":"prod","app":"web"}}}"#),
            ),
            (r#"{"spec":[]}"#, true, None),
            (r#"{"spec":{"selector":"x"}}"#, true, None),
            ("5", true, None),
            ("{", true, None),
        ] {
            assert_eq!(with_labels(text, &["spec", "selector"], create, &labels).as_deref(), want, "{text}");
        }
    }
}
