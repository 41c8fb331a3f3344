//! What a change writes into the text of an object.

use roster_engine::model::{
    Text,
    json::raw::{JsonMembers, JsonNode, is_object, value_at},
};
use serde_json::value::RawValue;

/// What a change writes into the text of an object. An empty value removes the member.
#[derive(Clone, Copy, Debug)]
pub(super) enum DocumentEdit<'c> {
    /// A text member of the object at this path, such as a label.
    Text { at: &'static [&'static str], key: &'c Text, value: &'c Text },
    /// `targetPort` of the port of a Service with this name or number.
    TargetPort { port: &'c str, target: &'c Text },
}

impl DocumentEdit<'_> {
    /// The text after the edit; `None` if it stays as it is. What is not edited keeps its text.
    pub(super) fn edited(&self, text: &str) -> Option<String> {
        let object: &RawValue = serde_json::from_str(text).ok()?;
        match self {
            Self::Text { at, key, value } => with_member(text, object, at, key, value),
            Self::TargetPort { port, target } => with_target(text, object, port, target),
        }
    }
}

fn with_member(text: &str, object: &RawValue, path: &[&str], key: &str, value: &str) -> Option<String> {
    let existing = |depth: &usize| path.get(..*depth).and_then(|path| value_at(object, path));
    let depth = (0..=path.len()).rev().find(|depth| existing(depth).is_some_and(is_object))?;
    let parent = existing(&depth)?;
    let mut members = JsonMembers::read(parent).ok()?;
    if value.is_empty() {
        members.take(key).filter(|_| depth == path.len())?;
        if let Some((last, before)) = path.split_last().filter(|_| members.is_empty()) {
            // An API server stores no empty map.
            return with_member(text, object, before, last, "");
        }
    } else {
        let mut inner = (key, JsonNode::Text(value.into()));
        for name in path.iter().skip(depth).rev() {
            let mut outer = JsonMembers::default();
            outer.set(inner.0, inner.1);
            inner = (name, JsonNode::Object(outer));
        }
        members.set(inner.0, inner.1);
    }
    replaced(text, parent, &members)
}

fn with_target(text: &str, service: &RawValue, name: &str, target: &str) -> Option<String> {
    let ports: Vec<&RawValue> = serde_json::from_str(value_at(service, &["spec", "ports"])?.get()).ok()?;
    let is_meant = |port: &JsonMembers<'_>| {
        let is_number = |of: &JsonNode<'_>| matches!(of, JsonNode::Raw(number) if number.get() == name);
        port.text("name") == name || port.get("port").is_some_and(is_number)
    };
    let opened = |port: &'_ &RawValue| JsonMembers::read(port).is_ok_and(|port| is_meant(&port));
    let port = *ports.iter().find(|port| opened(port))?;
    let mut members = JsonMembers::read(port).ok()?;
    match target.parse::<i32>() {
        Ok(number) => members.set("targetPort", JsonNode::Owned(serde_json::value::to_raw_value(&number).ok()?)),
        Err(_) if target.is_empty() => drop(members.take("targetPort")),
        Err(_) => members.set("targetPort", JsonNode::Text(target.into())),
    }
    replaced(text, port, &members)
}

/// The text with other members in the place of `old`, which is a part of it.
fn replaced(text: &str, old: &RawValue, new: &JsonMembers<'_>) -> Option<String> {
    let start = (old.get().as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
    let (before, after) = (text.get(..start)?, text.get(start + old.get().len()..)?);
    Some(format!("{before}{}{after}", new.to_raw().get()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_edited_is_written_differently() {
        let service = r#"{"spec": {"selector": {"a":"1"}, "x":1e3, "ports":[{"port": 80},{"name":"m","port":81,"targetPort":"m"}] }}"#;
        let text = |at: &'static [&'static str], key: &str, value: &str| {
            DocumentEdit::Text { at, key: &key.into(), value: &value.into() }.edited(service).unwrap_or_default()
        };
        let target = |port: &str, target: &str| {
            DocumentEdit::TargetPort { port, target: &target.into() }.edited(service).unwrap_or_default()
        };
        let with = |old: &str, new: &str| service.replace(old, new);
        for (got, want) in [
            (text(&["spec", "selector"], "a", "2"), with(r#"{"a":"1"}"#, r#"{"a":"2"}"#)),
            (text(&["spec", "selector"], "b", "2"), with(r#"{"a":"1"}"#, r#"{"a":"1","b":"2"}"#)),
            (text(&["spec", "selector"], "b", ""), String::new()),
            (text(&["metadata", "labels"], "b", ""), String::new()),
            (text(&["metadata"], "spec", ""), String::new()),
            (
                text(&["spec", "selector"], "a", ""),
                r#"{"spec": {"x":1e3,"ports":[{"port": 80},{"name":"m","port":81,"targetPort":"m"}]}}"#.to_owned(),
            ),
            (target("80", "99999"), with(r#"{"port": 80}"#, r#"{"port":80,"targetPort":99999}"#)),
            (target("m", "n"), with(r#""targetPort":"m""#, r#""targetPort":"n""#)),
            (target("81", ""), with(r#","targetPort":"m""#, "")),
            (target("x", "1"), String::new()),
        ] {
            assert_eq!(got, want);
        }
        let made =
            DocumentEdit::Text { at: &["metadata", "labels"], key: &"a".into(), value: &"b".into() }.edited("{}");
        assert_eq!(made.as_deref(), Some(r#"{"metadata":{"labels":{"a":"b"}}}"#));
    }
}
