//! The objects that another one hides, where a line `---` is missing between them.

use std::{borrow::Cow, fmt};

use serde::{
    Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{
    error::DecodeError,
    kind::TypeMeta,
    object::{DecodeContext, ObjectPlace, record_unreadable},
};
use crate::decode::single_keys::FIRST_FIELDS;
use crate::inventory::Inventory;

/// The objects of a text before the last one, which is read in their place.
pub(super) fn within(text: &str) -> Vec<String> {
    let mut objects = objects_of(text);
    objects.pop();
    objects
}

/// Records hidden objects: that they are absent is not known.
pub(super) fn record(
    hidden: &[String],
    place: ObjectPlace<'_>,
    context: &DecodeContext<'_>,
    into: &mut Inventory,
) -> Result<(), DecodeError> {
    for object in hidden {
        let size = record_unreadable(&TypeMeta::of(object, true), object, &place.defaults, into);
        let kept = context.budget.keep(size);
        kept.map_err(|reason| (place.at)().error(place.input, reason))?;
    }
    Ok(())
}

/// The texts of the objects that were written below each other: one begins where a field of its beginning is repeated.
fn objects_of(text: &str) -> Vec<String> {
    // Text that is not JSON has no objects, and is reported where it is read.
    let members = serde_json::Deserializer::from_str(text).deserialize_map(AllMembers).unwrap_or_default();
    let (mut objects, mut seen) = (Vec::<String>::new(), Vec::new());
    for (name, value) in members {
        let is_first = FIRST_FIELDS.contains(&name.as_ref());
        if is_first && seen.contains(&name) {
            seen.clear();
            objects.push(String::new());
        }
        if objects.is_empty() {
            objects.push(String::new());
        }
        if let Some(object) = objects.last_mut() {
            let separator = if object.is_empty() { "{" } else { "," };
            object.extend([separator, &serde_json::Value::from(&*name).to_string(), ":", value.get()]);
        }
        seen.extend(is_first.then_some(name));
    }
    for object in &mut objects {
        object.push('}');
    }
    objects
}

/// Reads all members of an object, however often a name is repeated.
struct AllMembers;

impl<'de> Visitor<'de> for AllMembers {
    type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_begins_where_its_first_fields_are_repeated() {
        for (text, want) in [
            (r#"{"kind":"A","metadata":{},"spec":1}"#, &[r#"{"kind":"A","metadata":{},"spec":1}"#][..]),
            (
                r#"{"kind":"A","metadata":{"name":"a"},"spec":1,"kind":"B","metadata":{"name":"b"}}"#,
                &[r#"{"kind":"A","metadata":{"name":"a"},"spec":1}"#, r#"{"kind":"B","metadata":{"name":"b"}}"#],
            ),
            (
                r#"{"metadata":1,"kind":"A","metadata":2,"kind":"B","spec":3,"metadata":4,"kind":"C"}"#,
                &[
                    r#"{"metadata":1,"kind":"A"}"#,
                    r#"{"metadata":2,"kind":"B","spec":3}"#,
                    r#"{"metadata":4,"kind":"C"}"#,
                ],
            ),
            ("[]", &[]),
            ("{}", &[]),
        ] {
            assert_eq!(objects_of(text), want, "{text}");
        }
    }
}
