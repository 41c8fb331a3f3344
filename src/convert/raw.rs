//! JSON opened only as far as it is changed: what is not looked at stays the text it was.
//!
//! So unknown fields survive, and numbers keep their digits.

use std::{borrow::Cow, collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor},
    ser::SerializeMap,
};
use serde_json::value::RawValue;

/// A value: as it was written, or made of such.
#[derive(Clone, Debug)]
pub(crate) enum Node<'a> {
    /// As it was written.
    Raw(&'a RawValue),
    /// The same, where nothing else holds the text.
    Owned(Box<RawValue>),
    /// Text.
    Text(Cow<'a, str>),
    /// An object that was opened, or made.
    Object(Members<'a>),
    /// A list that was opened.
    List(Vec<Node<'a>>),
}

impl<'a> Node<'a> {
    /// The object it is, one level of it; `None` if it is something else.
    pub(crate) fn open(&self) -> Option<Members<'a>> {
        match self {
            Self::Raw(raw) if is_object(raw) => Members::read(raw).ok(),
            Self::Object(members) => Some(members.clone()),
            // Texts of its own are kept for as long as nobody needs to look into them.
            Self::Owned(raw) if is_object(raw) => Members::read(raw).ok().map(Members::into_owned),
            _ => None,
        }
    }

    /// The object it is, or an empty one.
    pub(crate) fn into_object(self) -> Members<'a> {
        match self {
            Self::Object(members) => members,
            other => other.open().unwrap_or_default(),
        }
    }

    /// The text it is; `None` if it is something else.
    pub(crate) fn text(&self) -> Option<Cow<'a, str>> {
        match self {
            Self::Raw(raw) => text_of(raw),
            Self::Owned(raw) => text_of(raw).map(|t| Cow::Owned(t.into_owned())),
            Self::Text(text) => Some(text.clone()),
            Self::Object(_) | Self::List(_) => None,
        }
    }

    /// Whether it is `null`.
    pub(crate) fn is_null(&self) -> bool {
        match self {
            Self::Raw(raw) => raw.get() == "null",
            Self::Owned(raw) => raw.get() == "null",
            _ => false,
        }
    }

    fn into_owned<'b>(self) -> Node<'b> {
        match self {
            Self::Raw(raw) => Node::Owned(raw.to_owned()),
            Self::Owned(raw) => Node::Owned(raw),
            Self::Text(text) => Node::Text(Cow::Owned(text.into_owned())),
            Self::Object(members) => Node::Object(members.into_owned()),
            Self::List(list) => Node::List(list.into_iter().map(Node::into_owned).collect()),
        }
    }
}

/// Whether a value is an object. An error of the parser would cost more than the look.
pub(crate) fn is_object(raw: &RawValue) -> bool {
    raw.get().starts_with('{')
}

/// The text that a value is; `None` if it is something else.
pub(crate) fn text_of(raw: &RawValue) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Str<'s>(#[serde(borrow)] Cow<'s, str>);
    if !raw.get().starts_with('"') {
        return None;
    }
    serde_json::from_str::<Str<'_>>(raw.get()).ok().map(|s| s.0)
}

impl Serialize for Node<'_> {
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

/// The members of an object, in their order. Of several with one name the last one counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Members<'a>(Vec<(Cow<'a, str>, Node<'a>)>);

impl<'a> Members<'a> {
    /// Opens an object.
    pub(crate) fn read(raw: &'a RawValue) -> serde_json::Result<Self> {
        Self::parse(raw.get())
    }

    /// Opens an object.
    pub(crate) fn parse(text: &'a str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_ref())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Node<'a>)> {
        self.0.iter().map(|(name, value)| (name.as_ref(), value))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Node<'a>> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, value)| value)
    }

    /// The text of a member; empty where it is missing or something else.
    pub(crate) fn text(&self, name: &str) -> Cow<'a, str> {
        self.get(name).and_then(Node::text).unwrap_or_default()
    }

    /// Takes a member out.
    pub(crate) fn take(&mut self, name: &str) -> Option<Node<'a>> {
        let at = self.0.iter().position(|(n, _)| n == name)?;
        Some(self.0.remove(at).1)
    }

    /// Sets a member, in its place if it is there.
    pub(crate) fn set(&mut self, name: impl Into<Cow<'a, str>>, value: Node<'a>) {
        let name = name.into();
        match self.0.iter_mut().find(|(n, _)| *n == name) {
            Some((_, slot)) => *slot = value,
            None => self.0.push((name, value)),
        }
    }

    /// Adds a member that is known not to be there.
    pub(crate) fn push(&mut self, name: Cow<'a, str>, value: Node<'a>) {
        self.0.push((name, value));
    }

    /// Adds what `other` has and this one has not, at every level.
    pub(crate) fn fill_from(&mut self, other: Members<'a>) {
        // Both may have very many members: each is looked up in an index, not in a list that grows.
        let mine: BTreeMap<&str, usize> = self.names().zip(0..).collect();
        let places: Vec<Option<usize>> = other.names().map(|name| mine.get(name).copied()).collect();
        for ((name, value), place) in other.0.into_iter().zip(places) {
            let Some((_, slot)) = place.and_then(|at| self.0.get_mut(at)) else {
                self.0.push((name, value));
                continue;
            };
            if let (Some(mut mine), Some(more)) = (slot.open(), value.open()) {
                mine.fill_from(more);
                *slot = Node::Object(mine);
            }
        }
    }

    /// As a value.
    pub(crate) fn to_raw(&self) -> Box<RawValue> {
        // Names and values that were JSON are JSON again: this does not fail.
        serde_json::value::to_raw_value(self).unwrap_or_else(|_| RawValue::NULL.to_owned())
    }

    fn into_owned<'b>(self) -> Members<'b> {
        Members(self.0.into_iter().map(|(n, v)| (Cow::Owned(n.into_owned()), v.into_owned())).collect())
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

impl<'a> IntoIterator for Members<'a> {
    type Item = (Cow<'a, str>, Node<'a>);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Name<'s>(#[serde(borrow)] Cow<'s, str>);
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Members(Vec::with_capacity(8));
                while let Some(Name(name)) = map.next_key()? {
                    members.0.push((name, Node::Raw(map.next_value()?)));
                }
                members.drop_duplicates();
                Ok(members)
            }
        }
        d.deserialize_map(Reader)
    }
}

impl Serialize for Members<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut map = s.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_looked_at_stays_as_it_is() {
        let text = r#"{"n":12345678901234567890123.10,"a":{"x": [1e400 ]},"s":"\u00e9"}"#;
        let members = Members::parse(text).unwrap();
        assert_eq!(members.to_raw().get(), text);
        assert_eq!(members.text("s"), "é");
        assert!(members.get("n").unwrap().open().is_none());
    }

    #[test]
    fn the_last_of_equal_names_counts() {
        let members = Members::parse(r#"{"a":1,"b":2,"\u0061":3}"#).unwrap();
        assert_eq!(members.to_raw().get(), r#"{"b":2,"a":3}"#);
    }

    #[test]
    fn gaps_are_filled_and_nothing_is_replaced() {
        for (mine, other, want) in [
            (r#"{"a":1}"#, r#"{"a":2,"b":3}"#, r#"{"a":1,"b":3}"#),
            (r#"{"a":{"x":1}}"#, r#"{"a":{"y":2}}"#, r#"{"a":{"x":1,"y":2}}"#),
            (r#"{"a":{}}"#, r#"{"a":null}"#, r#"{"a":{}}"#),
            (r#"{"b":1,"a":2}"#, r#"{"d":3,"a":4,"c":5}"#, r#"{"b":1,"a":2,"d":3,"c":5}"#),
        ] {
            let mut members = Members::parse(mine).unwrap();
            members.fill_from(Members::parse(other).unwrap());
            assert_eq!(members.to_raw().get(), want);
        }
    }
}
