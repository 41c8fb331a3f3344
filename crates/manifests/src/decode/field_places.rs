//! Where the fields of an object are in its text: of any number of fields, in one pass.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    fmt,
};

use roster_engine::model::{HashSeed, json::pointer::steps};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

/// The offset in the text of each of `fields`, which are field paths or JSON pointers. That of a missing field is that of
/// the value that should contain it.
pub(super) fn offsets(object: &RawValue, fields: &[&str]) -> Vec<usize> {
    let mut tree = FieldTree::default();
    for (number, field) in fields.iter().enumerate() {
        tree.add(steps(field), number);
    }
    let mut found = vec![object; fields.len()];
    tree.find(object, &mut found);
    let start = object.get().as_ptr() as usize;
    found.into_iter().map(|value| (value.get().as_ptr() as usize).saturating_sub(start)).collect()
}

/// Fields by their steps: a value that contains several of them is read once.
#[derive(Debug, Default)]
struct FieldTree<'f> {
    /// The numbers of the fields that end here.
    fields: Vec<usize>,
    below: BTreeMap<Cow<'f, str>, FieldTree<'f>>,
}

impl<'f> FieldTree<'f> {
    fn add(&mut self, steps: Vec<Cow<'f, str>>, field: usize) {
        let mut at = self;
        for step in steps {
            at = at.below.entry(step).or_default();
        }
        at.fields.push(field);
    }

    /// Finds all fields in `value`, which is at the root of this tree.
    fn find<'r>(&self, value: &'r RawValue, found: &mut [&'r RawValue]) {
        for field in &self.fields {
            found[*field] = value;
        }
        let parts = self.parts(value);
        for (step, tree) in &self.below {
            match parts.get(step.as_ref()) {
                Some(part) => tree.find(part, found),
                None => tree.miss(value, found),
            }
        }
    }

    /// Sets all fields to the value that should contain them.
    fn miss<'r>(&self, container: &'r RawValue, found: &mut [&'r RawValue]) {
        for field in &self.fields {
            found[*field] = container;
        }
        self.below.values().for_each(|tree| tree.miss(container, found));
    }

    /// The members of an object, or the elements of a list, that are the next steps.
    fn parts<'r>(&self, value: &'r RawValue) -> PartsByStep<'_, 'r> {
        if self.below.is_empty() || !value.get().starts_with(['{', '[']) {
            return PartsByStep::default();
        }
        // The text was parsed before: this does not fail.
        Parts(self).deserialize(&mut serde_json::Deserializer::from_str(value.get())).unwrap_or_default()
    }
}

/// Parts of a value, by the next step of a tree.
type PartsByStep<'t, 'r> = HashMap<&'t str, &'r RawValue, HashSeed>;

/// Reads a value, and keeps the parts of it that are the next steps of a tree.
struct Parts<'t, 'f>(&'t FieldTree<'f>);

impl<'de, 't> DeserializeSeed<'de> for Parts<'t, '_> {
    type Value = PartsByStep<'t, 'de>;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Self::Value, D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de, 't> Visitor<'de> for Parts<'t, '_> {
    type Value = PartsByStep<'t, 'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or a list")
    }

    /// Of several members of one name, the last one counts.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        #[derive(Deserialize)]
        struct Name<'s>(#[serde(borrow)] Cow<'s, str>);
        let mut parts = PartsByStep::default();
        while let Some(Name(name)) = map.next_key()? {
            match self.0.below.get_key_value(name.as_ref()) {
                Some((step, _)) => drop(parts.insert(step.as_ref(), map.next_value()?)),
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(parts)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let indexed = self.0.below.keys().filter_map(|step| Some((step.parse::<usize>().ok()?, step.as_ref())));
        let mut wanted: Vec<(usize, &str)> = indexed.collect();
        wanted.sort_unstable();
        let (mut wanted, mut index) = (wanted.into_iter().peekable(), 0);
        let mut parts = PartsByStep::default();
        // The rest of a long list is read only to reach its end.
        loop {
            if wanted.peek().is_none_or(|(next, _)| *next != index) {
                if list.next_element::<IgnoredAny>()?.is_none() {
                    return Ok(parts);
                }
            } else {
                let Some(element) = list.next_element()? else { return Ok(parts) };
                while let Some((_, step)) = wanted.next_if(|(next, _)| *next == index) {
                    parts.insert(step, element);
                }
            }
            index += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paths and pointers, each with the text that follows its place.
    #[test]
    fn each_field_is_found_or_what_should_contain_it() {
        let text = r#"{"a": [10, {"b": 1, "c/d": 2}, [3]], "e": 4, "\u0065": {"f": 5}, "g": "h"}"#;
        let all = [
            ("", "{\"a\""),
            ("a", "[10,"),
            ("a[0]", "10,"),
            ("/a/0", "10,"),
            ("/a/1/b", "1,"),
            ("a[1][\"c/d\"]", "2}"),
            ("/a/1/c~1d", "2}"),
            ("/a/1/x/y/z", "{\"b\""),
            ("a[2][0]", "3]"),
            ("a[3].b", "[10,"),
            ("a.x", "[10,"),
            ("e", "{\"f\""),
            ("/e/f", "5}"),
            ("g.h", "\"h\""),
            ("x", "{\"a\""),
        ];
        let raw: &RawValue = serde_json::from_str(text).unwrap();
        let fields = all.map(|(field, _)| field);
        for (offset, (field, want)) in offsets(raw, &fields).into_iter().zip(all) {
            assert!(text[offset..].starts_with(want), "{field}: {}", &text[offset..]);
            assert_eq!(offsets(raw, &[field]), [offset], "{field} alone");
        }
    }
}
