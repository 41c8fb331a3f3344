//! Reads one value, and tells what is wrong with it if it cannot be read.
//!
//! The first look is quick and knows no places. The second one knows the place of all it reads, and takes the
//! last of equal keys, as Kubernetes does. It makes nothing that the model does not keep: a tree of values
//! may be a hundred times as large as its text.

use std::{cell::RefCell, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error, IgnoredAny, IntoDeserializer, MapAccess, SeqAccess, Visitor},
};
use serde_json::{error::Category, value::RawValue};

use super::{
    budget::Budget,
    strict::{self, Strict},
};
use crate::engine::reason::Reason;
use crate::model::json::message::message;
use crate::model::json::pointer::Pointer;

/// A field that is to blame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Flaw {
    pub(super) reason: Reason,
    /// JSON pointer to it.
    pub(super) pointer: String,
    /// Where it begins in the text that was read.
    pub(super) offset: usize,
    pub(super) why: String,
}

/// What became of a value.
#[derive(Debug)]
pub(super) struct Look<T> {
    /// `None` if it cannot be read: then the last flaw tells why.
    pub(super) value: Option<T>,
    pub(super) flaws: Vec<Flaw>,
}

/// Most keys of one value that are told to be there twice.
const MAX_TWICE: usize = 20;

/// Reads `text`, which stands `at` this place. Only text that is no JSON is an error.
pub(super) fn read<'de, S>(
    seed: S,
    text: &'de str,
    at: Pointer<'_>,
    budget: &Budget<'_>,
) -> Result<Look<S::Value>, Flaw>
where
    S: DeserializeSeed<'de> + Copy,
{
    let error = match strict::from_str(seed, text, budget) {
        Ok(value) => return Ok(Look { value: Some(value), flaws: Vec::new() }),
        Err(error) => error,
    };
    let notes = Notes { whole: text, twice: RefCell::default(), blamed: RefCell::default() };
    let again = Again { text: text.trim(), at, notes: &notes, budget };
    // A number beyond all bounds and half a surrogate are JSON, though serde_json has no place for them: they are
    // the fault of one value, and not of the text.
    let well_formed = || serde_json::from_str::<&RawValue>(text).is_ok();
    if error.classify() != Category::Data && !well_formed() {
        notes.blame(&error, &again);
        return Err(notes.broken(&error));
    }
    let value = again.read(seed).ok();
    let mut flaws = notes.twice.take();
    match notes.blamed.take() {
        Some((category, broken)) if category != Category::Data && !well_formed() => return Err(broken),
        Some((_, flaw)) => flaws.push(flaw),
        None if value.is_none() => flaws.push(notes.broken(&error)),
        None => {}
    }
    Ok(Look { value, flaws })
}

/// What the second look found out.
struct Notes<'de> {
    whole: &'de str,
    twice: RefCell<Vec<Flaw>>,
    /// The first thing that went wrong, which is the innermost.
    blamed: RefCell<Option<(Category, Flaw)>>,
}

impl<'de> Notes<'de> {
    fn offset(&self, part: &str) -> usize {
        // The parser lends parts of the text, so that an address is a place.
        (part.as_ptr() as usize).saturating_sub(self.whole.as_ptr() as usize)
    }

    fn blame(&self, error: &serde_json::Error, again: &Again<'de, '_>) {
        let mut blamed = self.blamed.borrow_mut();
        if blamed.is_none() {
            let start = self.offset(again.text);
            let offset = if error.is_data() { start } else { start + offset_of(error, again.text) };
            let flaw =
                Flaw { reason: Reason::InvalidObject, pointer: again.at.to_string(), offset, why: message(error) };
            *blamed = Some((error.classify(), flaw));
        }
    }

    fn note_twice(&self, at: Pointer<'_>, name: &str, value: &RawValue) {
        let mut twice = self.twice.borrow_mut();
        if twice.len() < MAX_TWICE {
            twice.push(Flaw {
                reason: Reason::DuplicateKey,
                pointer: Pointer::Key(&at, name).to_string(),
                offset: self.offset(value.get()),
                why: format!("{name} is there twice; the last one counts"),
            });
        }
    }

    fn broken(self, error: &serde_json::Error) -> Flaw {
        let flaw = self.blamed.into_inner().map(|(_, flaw)| flaw);
        flaw.unwrap_or_else(|| Flaw {
            reason: Reason::InvalidObject,
            pointer: String::new(),
            offset: 0,
            why: message(error),
        })
    }
}

/// Where in `text` the parser gave up.
pub(super) fn offset_of(error: &serde_json::Error, text: &str) -> usize {
    let line = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum::<usize>();
    (line + error.column().saturating_sub(1)).min(text.len())
}

/// A value on its second reading.
#[derive(Clone, Copy)]
struct Again<'de, 'n> {
    text: &'de str,
    at: Pointer<'n>,
    notes: &'n Notes<'de>,
    budget: &'n Budget<'n>,
}

impl<'de> Again<'de, '_> {
    fn json(&self) -> serde_json::Deserializer<serde_json::de::StrRead<'de>> {
        serde_json::Deserializer::from_str(self.text)
    }

    /// Reads it. If that fails, the innermost value is the first to know, and takes the blame.
    fn read<S: DeserializeSeed<'de>>(self, seed: S) -> serde_json::Result<S::Value> {
        seed.deserialize(self).inspect_err(|error| self.notes.blame(error, &self))
    }
}

macro_rules! in_one_go {
    ($($method:ident($($arg:ident: $ty:ty),*);)*) => {
        $(
            fn $method<V: Visitor<'de>>(self, $($arg: $ty,)* visitor: V) -> serde_json::Result<V::Value> {
                Strict(&mut self.json(), self.budget).$method($($arg,)* visitor)
            }
        )*
    };
}

impl<'de> Deserializer<'de> for Again<'de, '_> {
    type Error = serde_json::Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> serde_json::Result<V::Value> {
        self.json().deserialize_map(Struct { of: self, fields, visitor })
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> serde_json::Result<V::Value> {
        self.json().deserialize_map(Inside { of: self, visitor })
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> serde_json::Result<V::Value> {
        self.json().deserialize_seq(Inside { of: self, visitor })
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> serde_json::Result<V::Value> {
        if self.text == "null" {
            return visitor.visit_none();
        }
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> serde_json::Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    in_one_go! {
        deserialize_any(); deserialize_bool(); deserialize_i8(); deserialize_i16(); deserialize_i32();
        deserialize_i64(); deserialize_u8(); deserialize_u16(); deserialize_u32(); deserialize_u64();
        deserialize_f32(); deserialize_f64(); deserialize_char(); deserialize_str(); deserialize_string();
        deserialize_bytes(); deserialize_byte_buf(); deserialize_unit();
        deserialize_unit_struct(name: &'static str); deserialize_tuple(len: usize);
        deserialize_tuple_struct(name: &'static str, len: usize);
        deserialize_enum(name: &'static str, variants: &'static [&'static str]);
        deserialize_identifier(); deserialize_ignored_any();
    }
}

/// Takes the members of an object that a struct has, the last of each, before the struct sees them.
struct Struct<'de, 'n, V> {
    of: Again<'de, 'n>,
    fields: &'static [&'static str],
    visitor: V,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Struct<'de, '_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<V::Value, A::Error> {
        let Self { of, fields, visitor } = self;
        let mut found: Vec<Option<&'de RawValue>> = vec![None; fields.len()];
        while let Some(key) = map.next_key::<Key>()? {
            let Some(i) = fields.iter().position(|f| *f == key.0) else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            let value: &RawValue = map.next_value()?;
            if found[i].replace(value).is_some() {
                of.notes.note_twice(of.at, fields[i], value);
            }
        }
        let left = fields.iter().zip(found).filter_map(|(name, value)| Some((*name, value?)));
        visitor.visit_map(Members { of, left, value: None, error: PhantomData })
    }
}

/// A key: text of any form.
#[derive(Deserialize)]
struct Key(String);

struct Members<'de, 'n, I, E> {
    of: Again<'de, 'n>,
    left: I,
    value: Option<(&'static str, &'de RawValue)>,
    error: PhantomData<E>,
}

impl<'de, I, E> MapAccess<'de> for Members<'de, '_, I, E>
where
    I: Iterator<Item = (&'static str, &'de RawValue)>,
    E: Error,
{
    type Error = E;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, E> {
        self.value = self.left.next();
        self.value.map(|(name, _)| seed.deserialize(name.into_deserializer())).transpose()
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, E> {
        let (name, value) = self.value.take().ok_or_else(|| E::custom("a value without a key"))?;
        let at = Pointer::Key(&self.of.at, name);
        Again { text: value.get(), at, ..self.of }.read(seed).map_err(E::custom)
    }
}

/// Passes the pairs of a map, or the elements of a list, on one by one.
struct Inside<'de, 'n, V> {
    of: Again<'de, 'n>,
    visitor: V,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Inside<'de, '_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.visitor.expecting(f)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_map(Pairs { of: self.of, map, key: String::new() })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_seq(Elements { of: self.of, list, index: 0 })
    }
}

struct Pairs<'de, 'n, A> {
    of: Again<'de, 'n>,
    map: A,
    key: String,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Pairs<'de, '_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        let Some(key) = self.map.next_key::<Key>()? else { return Ok(None) };
        self.of.budget.pay::<K::Value, A::Error>(2)?;
        self.key = key.0;
        seed.deserialize(self.key.as_str().into_deserializer()).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        let value: &RawValue = self.map.next_value()?;
        let at = Pointer::Key(&self.of.at, &self.key);
        Again { text: value.get(), at, ..self.of }.read(seed).map_err(A::Error::custom)
    }
}

struct Elements<'de, 'n, A> {
    of: Again<'de, 'n>,
    list: A,
    index: usize,
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Elements<'de, '_, A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        let Some(value) = self.list.next_element::<&RawValue>()? else { return Ok(None) };
        self.of.budget.pay::<S::Value, A::Error>(1)?;
        let at = Pointer::Index(&self.of.at, self.index);
        self.index += 1;
        Again { text: value.get(), at, ..self.of }.read(seed).map(Some).map_err(A::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{decode::budget::Pool, model::Service};

    /// The name that was read, and `pointer offset why` of each flaw.
    fn look(text: &str) -> (Option<String>, Vec<String>) {
        let pool = Pool::new(1 << 20);
        let told = |f: &Flaw| format!("{} {} {}", f.pointer, f.offset, f.why);
        match read(PhantomData::<Service>, text, Pointer::At("/x"), &Budget::new(&pool)) {
            Ok(look) => (look.value.map(|s| s.meta.name.to_string()), look.flaws.iter().map(told).collect()),
            Err(broken) => (None, vec![format!("no JSON: {}", told(&broken))]),
        }
    }

    #[test]
    fn the_field_to_blame_is_found() {
        for (text, name, flaws) in [
            (r#"{"metadata":{"name":"a"}}"#, Some("a"), vec![]),
            (
                r#" {"metadata":{"name":"a","x":1,"name":"b"},"metadata":null,"metadata":{"name":"c"}}"#,
                Some("c"),
                vec![
                    "/x/metadata 54 metadata is there twice; the last one counts",
                    "/x/metadata 70 metadata is there twice; the last one counts",
                ],
            ),
            (
                r#"{"metadata":{"name":"a","name":"b"}}"#,
                Some("b"),
                vec!["/x/metadata/name 31 name is there twice; the last one counts"],
            ),
            (
                r#"{"metadata":{"name":"a","name":"b"},"spec":{"ports":[{"port":1},{"port":"1"}]}}"#,
                None,
                vec![
                    "/x/metadata/name 31 name is there twice; the last one counts",
                    "/x/spec/ports/1/port 72 invalid type: string \"1\", expected an integer of 32 bits",
                ],
            ),
            (
                r#"{"spec":{"selector":{"a/b":1}}}"#,
                None,
                vec!["/x/spec/selector/a~1b 27 invalid type: integer `1`, expected a string"],
            ),
            (
                r#"{"metadata":{"ownerReferences":[{"controller":true},{"controller":1}]}}"#,
                None,
                vec!["/x/metadata/ownerReferences/1/controller 66 invalid type: integer `1`, expected a boolean"],
            ),
            (
                r#"{"metadata":{"creationTimestamp":"now"}}"#,
                None,
                vec!["/x/metadata/creationTimestamp 33 \"now\" is not an RFC 3339 time"],
            ),
            (
                r#"{"spec":{"ports":[{"targetPort":{}}]}}"#,
                None,
                vec!["/x/spec/ports/0/targetPort 32 targetPort must be a number or a string"],
            ),
            ("[]", None, vec!["/x 0 invalid type: list, expected an object"]),
            (r#"{"metadata":}"#, None, vec!["no JSON: /x 12 expected value"]),
            ("{\"metadata\":5,\n\"x\":tru}", None, vec!["no JSON: /x 22 expected ident"]),
        ] {
            let (got, told) = look(text);
            let told: Vec<&str> = told.iter().map(String::as_str).collect();
            assert_eq!((got.as_deref(), told), (name, flaws), "{text}");
        }
    }
}
