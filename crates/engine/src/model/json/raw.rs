//! Raw JSON that is opened only as far as it is changed: every other part keeps its text.
//!
//! Unknown fields therefore survive, and numbers keep their digits.

use std::{borrow::Cow, collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor},
    ser::SerializeMap,
};
use serde_json::value::RawValue;

use super::path::PathEnd;
use crate::model::{ObjectKey, Text};

/// A JSON value: text from the input, or a value made of such parts.
#[derive(Clone, Debug)]
pub enum JsonNode<'a> {
    /// Text borrowed from the input.
    Raw(&'a RawValue),
    /// Text of its own.
    Owned(Box<RawValue>),
    /// A string.
    Text(Cow<'a, str>),
    /// An object: opened, or made.
    Object(JsonMembers<'a>),
    /// A list: opened, or made.
    List(Vec<JsonNode<'a>>),
}

impl<'a> JsonNode<'a> {
    /// Opens one level of an object; `None` for any other value.
    pub fn open(&self) -> Option<JsonMembers<'a>> {
        match self {
            Self::Raw(raw) if is_object(raw) => JsonMembers::read(raw).ok(),
            Self::Object(members) => Some(members.clone()),
            // The members cannot borrow from a text that this value owns.
            Self::Owned(raw) if is_object(raw) => JsonMembers::read(raw).ok().map(JsonMembers::into_owned),
            _ => None,
        }
    }

    /// The members of an object; none for any other value.
    pub fn into_object(self) -> JsonMembers<'a> {
        match self {
            Self::Object(members) => members,
            other => other.open().unwrap_or_default(),
        }
    }

    /// The content of a string; `None` for any other value.
    pub fn text(&self) -> Option<Cow<'a, str>> {
        match self {
            Self::Raw(raw) => text_of(raw),
            Self::Owned(raw) => text_of(raw).map(|t| Cow::Owned(t.into_owned())),
            Self::Text(text) => Some(text.clone()),
            Self::Object(_) | Self::List(_) => None,
        }
    }

    /// Whether it is `null`.
    pub fn is_null(&self) -> bool {
        match self {
            Self::Raw(raw) => raw.get() == "null",
            Self::Owned(raw) => raw.get() == "null",
            _ => false,
        }
    }

    fn into_owned<'b>(self) -> JsonNode<'b> {
        match self {
            Self::Raw(raw) => JsonNode::Owned(raw.to_owned()),
            Self::Owned(raw) => JsonNode::Owned(raw),
            Self::Text(text) => JsonNode::Text(Cow::Owned(text.into_owned())),
            Self::Object(members) => JsonNode::Object(members.into_owned()),
            Self::List(list) => JsonNode::List(list.into_iter().map(JsonNode::into_owned).collect()),
        }
    }
}

/// Whether a value is an object. Looking at the first byte is cheaper than an error of the parser.
pub fn is_object(raw: &RawValue) -> bool {
    raw.get().starts_with('{')
}

/// The value at a path of members; `None` if there is none.
pub fn value_at<'a>(raw: &'a RawValue, path: &[&str]) -> Option<&'a RawValue> {
    path.iter().try_fold(raw, |object, name| match JsonMembers::read(object).ok()?.take(name)? {
        JsonNode::Raw(member) => Some(member),
        _ => None,
    })
}

/// The content of a string; `None` for any other value.
pub fn text_of(raw: &RawValue) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Str<'s>(#[serde(borrow)] Cow<'s, str>);
    let content = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    if !content.contains('\\') {
        return Some(Cow::Borrowed(content));
    }
    serde_json::from_str::<Str<'_>>(raw.get()).ok().map(|s| s.0)
}

impl Serialize for JsonNode<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Raw(raw) => raw.serialize(s),
            Self::Owned(raw) => raw.serialize(s),
            Self::Text(text) => s.serialize_str(text),
            Self::Object(members) => members.serialize(s),
            Self::List(list) => s.collect_seq(list),
        }
    }
}

/// The members of an object, in order. Of several members with the same name, the last one counts.
#[derive(Clone, Debug, Default)]
pub struct JsonMembers<'a>(Vec<(Cow<'a, str>, JsonNode<'a>)>);

impl<'a> JsonMembers<'a> {
    /// Opens an object of the input.
    pub fn read(raw: &'a RawValue) -> serde_json::Result<Self> {
        Self::parse(raw.get())
    }

    /// Opens an object in a text.
    pub fn parse(text: &'a str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }

    /// Whether it has no members.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names of the members, in the order of the text.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_ref())
    }

    /// The members, in the order of the text.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &JsonNode<'a>)> {
        self.0.iter().map(|(name, value)| (name.as_ref(), value))
    }

    /// The first member of a name.
    pub fn get(&self, name: &str) -> Option<&JsonNode<'a>> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, value)| value)
    }

    /// The string value of a member; empty where the member is missing or not a string.
    pub fn text(&self, name: &str) -> Cow<'a, str> {
        self.get(name).and_then(JsonNode::text).unwrap_or_default()
    }

    /// Removes a member and returns its value.
    pub fn take(&mut self, name: &str) -> Option<JsonNode<'a>> {
        let at = self.0.iter().position(|(n, _)| n == name)?;
        Some(self.0.remove(at).1)
    }

    /// Sets a member. An existing member keeps its place.
    pub fn set(&mut self, name: impl Into<Cow<'a, str>>, value: JsonNode<'a>) {
        let name = name.into();
        match self.0.iter_mut().find(|(n, _)| *n == name) {
            Some((_, slot)) => *slot = value,
            None => self.0.push((name, value)),
        }
    }

    /// Appends a member. The caller knows that no other member has this name.
    pub fn push(&mut self, name: Cow<'a, str>, value: JsonNode<'a>) {
        self.0.push((name, value));
    }

    /// Adds the members of `other` that are missing here, at every level.
    pub fn fill_from(&mut self, other: JsonMembers<'a>) {
        // Both may have very many members: an index makes this linear.
        let mine: BTreeMap<&str, usize> = self.names().zip(0..).collect();
        let places: Vec<Option<usize>> = other.names().map(|name| mine.get(name).copied()).collect();
        for ((name, value), place) in other.0.into_iter().zip(places) {
            let Some((_, slot)) = place.and_then(|at| self.0.get_mut(at)) else {
                self.0.push((name, value));
                continue;
            };
            if let (Some(mut mine), Some(more)) = (slot.open(), value.open()) {
                mine.fill_from(more);
                *slot = JsonNode::Object(mine);
            }
        }
    }

    /// The object as JSON text.
    pub fn to_raw(&self) -> Box<RawValue> {
        // Names and values that were parsed from JSON serialize again: this does not fail.
        serde_json::value::to_raw_value(self).unwrap_or_else(|_| RawValue::NULL.to_owned())
    }

    fn into_owned<'b>(self) -> JsonMembers<'b> {
        JsonMembers(self.0.into_iter().map(|(n, v)| (Cow::Owned(n.into_owned()), v.into_owned())).collect())
    }

    fn drop_duplicates(&mut self) {
        let mut names: Vec<&str> = self.names().collect();
        names.sort_unstable();
        if names.windows(2).all(|pair| pair[0] != pair[1]) {
            return;
        }
        let last: BTreeMap<String, usize> = self.0.iter().enumerate().map(|(i, (n, _))| (n.to_string(), i)).collect();
        let mut i = 0;
        self.0.retain(|(name, _)| {
            i += 1;
            last.get(name.as_ref()) == Some(&(i - 1))
        });
    }
}

impl<'a> IntoIterator for JsonMembers<'a> {
    type Item = (Cow<'a, str>, JsonNode<'a>);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'de> Deserialize<'de> for JsonMembers<'de> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Name<'s>(#[serde(borrow)] Cow<'s, str>);
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = JsonMembers<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonMembers<'de>, A::Error> {
                let mut members = JsonMembers(Vec::with_capacity(8));
                while let Some(Name(name)) = map.next_key()? {
                    members.0.push((name, JsonNode::Raw(map.next_value()?)));
                }
                members.drop_duplicates();
                Ok(members)
            }
        }
        d.deserialize_map(Reader)
    }
}

impl Serialize for JsonMembers<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut map = s.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// What an object calls itself, as far as it can be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectIdentity {
    /// Its kind, namespace and name. `generateName` stands for a missing name.
    pub key: ObjectKey,
    /// Its API group; empty for the core group. Another group may have a kind of the same name.
    pub group: Text,
    /// Whether the API server makes its name: it has only a `generateName`.
    pub is_name_generated: bool,
    /// Whether it has a kind, and its type, name and namespace are strings where they are present. If keys are repeated, this is said
    /// of the last ones.
    pub is_sound: bool,
}

impl ObjectIdentity {
    /// Reads the identity of an object.
    pub fn of(raw: &RawValue) -> Self {
        Self::of_members(&JsonMembers::read(raw).unwrap_or_default())
    }

    /// Reads the identity of an opened object.
    pub fn of_members(object: &JsonMembers<'_>) -> Self {
        let metadata = object.get("metadata");
        let opened = metadata.and_then(JsonNode::open);
        let is_metadata_sound = opened.is_some() || metadata.is_none_or(JsonNode::is_null);
        let metadata = opened.unwrap_or_default();
        let short = |text: Cow<'_, str>| text.chars().take(253).collect::<String>().into();
        let (name, generated) = (metadata.text("name"), metadata.text("generateName"));
        let is_name_generated = name.is_empty() && !generated.is_empty();
        let key = ObjectKey {
            kind: short(object.text("kind")),
            namespace: short(metadata.text("namespace")),
            name: short(if is_name_generated { generated } else { name }),
        };
        let api_version = object.text("apiVersion");
        let group = api_version.split_once('/').map_or_else(Text::default, |(group, _)| group.into());
        let texts = [(object, "apiVersion"), (object, "kind"), (&metadata, "name"), (&metadata, "namespace")];
        let is_text = |node: &JsonNode<'_>| node.is_null() || node.text().is_some();
        let are_texts = texts.into_iter().all(|(members, field)| members.get(field).is_none_or(is_text));
        let is_sound = is_metadata_sound && are_texts && !key.kind.is_empty();
        Self { key, group, is_name_generated, is_sound }
    }
}

/// The kind, namespace and name of an object, as of [`ObjectIdentity`].
pub fn object_key(raw: &RawValue) -> ObjectKey {
    ObjectIdentity::of(raw).key
}

/// Whether an object, as JSON text, was stored in a cluster: it has a uid. Reading ends there.
pub fn has_uid(object: &str) -> bool {
    PathEnd::of(object.as_bytes(), &["metadata", "uid"]).steps == 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unopened_values_keep_their_text() {
        let text = r#"{"n":12345678901234567890123.10,"a":{"x": [1e400 ]},"s":"\u00e9"}"#;
        let members = JsonMembers::parse(text).unwrap();
        assert_eq!(members.to_raw().get(), text);
        assert_eq!(members.text("s"), "é");
        assert!(members.get("n").unwrap().open().is_none());
    }

    #[test]
    fn the_last_of_equal_names_counts() {
        let members = JsonMembers::parse(r#"{"a":1,"b":2,"\u0061":3}"#).unwrap();
        assert_eq!(members.to_raw().get(), r#"{"b":2,"a":3}"#);
    }

    #[test]
    fn fill_from_adds_missing_members_and_replaces_none() {
        for (mine, other, want) in [
            (r#"{"a":1}"#, r#"{"a":2,"b":3}"#, r#"{"a":1,"b":3}"#),
            (r#"{"a":{"x":1}}"#, r#"{"a":{"y":2}}"#, r#"{"a":{"x":1,"y":2}}"#),
            (r#"{"a":{}}"#, r#"{"a":null}"#, r#"{"a":{}}"#),
            (r#"{"b":1,"a":2}"#, r#"{"d":3,"a":4,"c":5}"#, r#"{"b":1,"a":2,"d":3,"c":5}"#),
        ] {
            let mut members = JsonMembers::parse(mine).unwrap();
            members.fill_from(JsonMembers::parse(other).unwrap());
            assert_eq!(members.to_raw().get(), want);
        }
    }
}
