//! The objects of a list, as slices of its text.

use std::fmt;

use roster_engine::model::{Text, json::raw::text_of};
use serde::{
    Deserializer,
    de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use super::kind::TypeMeta;

/// The type and the first objects, one more than `most`, of a text that is one list, as kubectl prints it: it is read in one pass.
/// `None` for other texts, for one that is not JSON, and for a list with a strange or repeated member: [`items_of`] knows which counts.
pub(super) fn whole_list(text: &str, most: usize) -> Option<(TypeMeta, Vec<&RawValue>)> {
    let is_list = |of: &TypeMeta| of.kind.ends_with("List");
    let first = TypeMeta::of(text, false);
    // Most other objects say at their beginning what they are.
    if !text.trim_ascii_start().starts_with('{') || first.is_complete() && !is_list(&first) {
        return None;
    }
    let mut json = serde_json::Deserializer::from_str(text);
    let list = json.deserialize_map(ReadMembers { most }).ok()?;
    json.end().ok()?;
    let of = if first.is_complete() { first } else { list.type_meta()? };
    list.items.filter(|_| is_list(&of)).map(|items| (of, items))
}

/// The first objects of a list, one more than `most`; `None` for other objects.
pub(super) fn items_of<'a>(raw: &'a RawValue, of: &TypeMeta, most: usize) -> Option<Vec<&'a RawValue>> {
    if raw.get().starts_with('[') {
        return raw_list(raw, most).ok();
    }
    if !of.kind.ends_with("List") {
        return None;
    }
    let items = serde_json::Deserializer::from_str(raw.get()).deserialize_map(ReadItems).ok()??;
    if items.get() == "null" { Some(Vec::new()) } else { raw_list(items, most).ok() }
}

/// Reads the `items` of a list, whatever they are; of several, the last. Other members take no memory.
struct ReadItems;

impl<'de> Visitor<'de> for ReadItems {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut items = None;
        while let Some(name) = map.next_key::<String>()? {
            let value = map.next_value()?;
            items = if name == "items" { Some(value) } else { items };
        }
        Ok(items)
    }
}

/// What a list says.
#[derive(Default)]
struct ListMembers<'a> {
    api_version: Option<&'a RawValue>,
    kind: Option<&'a RawValue>,
    items: Option<Vec<&'a RawValue>>,
}

impl ListMembers<'_> {
    /// `None` if a field of it is not a string.
    fn type_meta(&self) -> Option<TypeMeta> {
        let is_null = |raw: &RawValue| raw.get() == "null";
        let text = |field: Option<&RawValue>| match field {
            Some(raw) if !is_null(raw) => text_of(raw).map(Text::from),
            _ => Some(Text::default()),
        };
        Some(TypeMeta { api_version: text(self.api_version)?, kind: text(self.kind)? })
    }
}

/// Reads the members of a list whose items are one, and that repeats none of them. Others take no memory.
struct ReadMembers {
    most: usize,
}

impl<'de> Visitor<'de> for ReadMembers {
    type Value = ListMembers<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut list = ListMembers::default();
        while let Some(name) = map.next_key::<String>()? {
            let is_repeated = match name.as_str() {
                "apiVersion" => list.api_version.replace(map.next_value()?).is_some(),
                "kind" => list.kind.replace(map.next_value()?).is_some(),
                "items" => list.items.replace(map.next_value_seed(FirstElements { most: self.most })?).is_some(),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    false
                }
            };
            if is_repeated {
                return Err(A::Error::custom("a repeated member"));
            }
        }
        Ok(list)
    }
}

/// The first elements of a list, one more than `most`: a list of numbers takes eight times the memory of its text.
pub(super) fn raw_list(raw: &RawValue, most: usize) -> serde_json::Result<Vec<&RawValue>> {
    FirstElements { most }.deserialize(&mut serde_json::Deserializer::from_str(raw.get()))
}

/// Reads the first elements of a list, one more than `most`.
struct FirstElements {
    most: usize,
}

impl<'de> DeserializeSeed<'de> for FirstElements {
    type Value = Vec<&'de RawValue>;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Self::Value, D::Error> {
        d.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for FirstElements {
    type Value = Vec<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut all = Vec::new();
        while let Some(one) = list.next_element()? {
            if all.len() <= self.most {
                all.push(one);
            }
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_one_list_is_read_in_one_pass() {
        let many = r#"{"items":[1,2,3,4,5],"kind":"List"}"#;
        for (text, want) in [
            (r#" {"apiVersion":"v1","items":[{"a":1},5],"kind":"PodList"} "#, Some(("v1", "PodList", r#"{"a":1} 5"#))),
            (r#"{"kind":"PodList","apiVersion":null,"items":[]}"#, Some(("", "PodList", ""))),
            (r#"{"kind":"PodList","apiVersion":"v1","items":[],"kind":"Pod"}"#, None),
            (r#"{"kind":{},"items":[],"kind":"PodList"}"#, None),
            (r#"{"items":[],"kind":"PodList","items":[1]}"#, None),
            (many, Some(("", "List", "1 2 3"))),
            (r#"{"kind":"Pod","apiVersion":"v1","items":[]}"#, None),
            (r#"{"items":[],"kind":"Pod"}"#, None),
            (r#"{"items":5,"kind":"List"}"#, None),
            (r#"{"items":null,"kind":"List"}"#, None),
            (r#"{"items":"\ud800","kind":"List","items":[]}"#, None),
            (r#"{"items":[],"kind":5}"#, None),
            (r#"{"items":[],"kind":"List"}{}"#, None),
            (r#"{"items":[{]}],"kind":"List"}"#, None),
            (r#"[{"kind":"Pod"}]"#, None),
            ("", None),
        ] {
            let found = whole_list(text, 2).map(|(of, items)| {
                let items: Vec<&str> = items.into_iter().map(RawValue::get).collect();
                (of.api_version.to_string(), of.kind.to_string(), items.join(" "))
            });
            let want = want.map(|(version, kind, items)| (version.to_owned(), kind.to_owned(), items.to_owned()));
            assert_eq!(found, want, "{text}");
        }
    }
}
