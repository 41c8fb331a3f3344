//! Reads one value, or reports the field that cannot be read.
//!
//! The first pass is fast and does not track positions. The second pass knows the position of everything it reads, and
//! takes the last of equal keys, as Kubernetes does. It allocates only what the model keeps: a tree of JSON values can be
//! a hundred times as large as its text.

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

/// A field that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FieldFault {
    pub(super) reason: Reason,
    /// JSON pointer to the field.
    pub(super) pointer: String,
    /// Offset of the field in the text.
    pub(super) offset: usize,
    pub(super) why: String,
}

/// The result of reading a value.
#[derive(Debug)]
pub(super) struct Reading<T> {
    /// `None` if the value cannot be read; the last fault is the reason.
    pub(super) value: Option<T>,
    pub(super) faults: Vec<FieldFault>,
}

/// Most repeated keys of one value that are reported.
const MAX_REPEATED: usize = 20;

/// Reads the text at a pointer. Only text that is not JSON is an error.
pub(super) fn read<'de, S>(
    seed: S,
    text: &'de str,
    at: Pointer<'_>,
    budget: &Budget<'_>,
) -> Result<Reading<S::Value>, FieldFault>
where
    S: DeserializeSeed<'de> + Copy,
{
    let error = match strict::from_str(seed, text, budget) {
        Ok(value) => return Ok(Reading { value: Some(value), faults: Vec::new() }),
        Err(error) => error,
    };
    let faults_found = PassFaults { whole: text, repeated: RefCell::default(), blamed: RefCell::default() };
    let pass = SecondPass { text: text.trim(), at, faults_found: &faults_found, budget };
    // A number out of range and half a surrogate are JSON, though serde_json cannot represent them: the value is at
    // fault, and not the text.
    let well_formed = || serde_json::from_str::<&RawValue>(text).is_ok();
    if error.classify() != Category::Data && !well_formed() {
        faults_found.blame(&error, &pass);
        return Err(faults_found.broken(&error));
    }
    let value = pass.read(seed).ok();
    let mut faults = faults_found.repeated.take();
    match faults_found.blamed.take() {
        Some((category, broken)) if category != Category::Data && !well_formed() => return Err(broken),
        Some((_, fault)) => faults.push(fault),
        None if value.is_none() => faults.push(faults_found.broken(&error)),
        None => {}
    }
    Ok(Reading { value, faults })
}

/// The faults that the second pass finds.
struct PassFaults<'de> {
    whole: &'de str,
    repeated: RefCell<Vec<FieldFault>>,
    /// The first error, which is the innermost one.
    blamed: RefCell<Option<(Category, FieldFault)>>,
}

impl<'de> PassFaults<'de> {
    fn offset(&self, part: &str) -> usize {
        // The parser returns slices of the text: the difference of the addresses is the offset.
        (part.as_ptr() as usize).saturating_sub(self.whole.as_ptr() as usize)
    }

    fn blame(&self, error: &serde_json::Error, pass: &SecondPass<'de, '_>) {
        let mut blamed = self.blamed.borrow_mut();
        if blamed.is_none() {
            let start = self.offset(pass.text);
            let offset = if error.is_data() { start } else { start + offset_of(error, pass.text) };
            let fault =
                FieldFault { reason: Reason::InvalidObject, pointer: pass.at.to_string(), offset, why: message(error) };
            *blamed = Some((error.classify(), fault));
        }
    }

    fn note_repeated(&self, at: Pointer<'_>, name: &str, key: &RawValue) {
        let mut repeated = self.repeated.borrow_mut();
        if repeated.len() < MAX_REPEATED {
            repeated.push(FieldFault {
                reason: Reason::DuplicateKey,
                pointer: Pointer::Key(&at, name).to_string(),
                offset: self.offset(key.get()),
                why: format!("the key {name} is repeated; the last one counts"),
            });
        }
    }

    fn broken(self, error: &serde_json::Error) -> FieldFault {
        let fault = self.blamed.into_inner().map(|(_, fault)| fault);
        fault.unwrap_or_else(|| FieldFault {
            reason: Reason::InvalidObject,
            pointer: String::new(),
            offset: 0,
            why: message(error),
        })
    }
}

/// The offset in `text` of an error of the parser.
pub(super) fn offset_of(error: &serde_json::Error, text: &str) -> usize {
    let line = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum::<usize>();
    (line + error.column().saturating_sub(1)).min(text.len())
}

/// A value in the second pass.
#[derive(Clone, Copy)]
struct SecondPass<'de, 'n> {
    text: &'de str,
    at: Pointer<'n>,
    faults_found: &'n PassFaults<'de>,
    budget: &'n Budget<'n>,
}

impl<'de> SecondPass<'de, '_> {
    fn json(&self) -> serde_json::Deserializer<serde_json::de::StrRead<'de>> {
        serde_json::Deserializer::from_str(self.text)
    }

    /// Reads the value. The innermost value that fails records the fault first.
    fn read<S: DeserializeSeed<'de>>(self, seed: S) -> serde_json::Result<S::Value> {
        seed.deserialize(self).inspect_err(|error| self.faults_found.blame(error, &self))
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

impl<'de> Deserializer<'de> for SecondPass<'de, '_> {
    type Error = serde_json::Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> serde_json::Result<V::Value> {
        self.budget.pay::<V::Value, _>(1)?;
        self.json().deserialize_map(StructVisitor { of: self, fields, visitor })
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> serde_json::Result<V::Value> {
        self.json().deserialize_map(ChildVisitor { of: self, visitor })
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> serde_json::Result<V::Value> {
        self.json().deserialize_seq(ChildVisitor { of: self, visitor })
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

/// Passes the known members of an object to a struct, the last one of each name.
struct StructVisitor<'de, 'n, V> {
    of: SecondPass<'de, 'n>,
    fields: &'static [&'static str],
    visitor: V,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for StructVisitor<'de, '_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<V::Value, A::Error> {
        let Self { of, fields, visitor } = self;
        let mut found: Vec<Option<&'de RawValue>> = vec![None; fields.len()];
        while let Some(key) = map.next_key::<&'de RawValue>()? {
            let OwnedKey(name) = serde_json::from_str(key.get()).map_err(|e| A::Error::custom(message(&e)))?;
            let Some(i) = fields.iter().position(|f| *f == name) else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            let value: &RawValue = map.next_value()?;
            if found[i].replace(value).is_some() {
                of.faults_found.note_repeated(of.at, fields[i], key);
            }
        }
        let left = fields.iter().zip(found).filter_map(|(name, value)| Some((*name, value?)));
        visitor.visit_map(StructMembers { of, left, value: None, error: PhantomData })
    }
}

/// A key: a string with or without escapes.
#[derive(Deserialize)]
struct OwnedKey(String);

struct StructMembers<'de, 'n, I, E> {
    of: SecondPass<'de, 'n>,
    left: I,
    value: Option<(&'static str, &'de RawValue)>,
    error: PhantomData<E>,
}

impl<'de, I, E> MapAccess<'de> for StructMembers<'de, '_, I, E>
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
        SecondPass { text: value.get(), at, ..self.of }.read(seed).map_err(E::custom)
    }
}

/// Passes the pairs of a map or the elements of a list on, one by one.
struct ChildVisitor<'de, 'n, V> {
    of: SecondPass<'de, 'n>,
    visitor: V,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for ChildVisitor<'de, '_, V> {
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
    of: SecondPass<'de, 'n>,
    map: A,
    key: String,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Pairs<'de, '_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        let Some(key) = self.map.next_key::<OwnedKey>()? else { return Ok(None) };
        self.of.budget.pay::<K::Value, A::Error>(4)?;
        self.key = key.0;
        seed.deserialize(self.key.as_str().into_deserializer()).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        let value: &RawValue = self.map.next_value()?;
        let at = Pointer::Key(&self.of.at, &self.key);
        SecondPass { text: value.get(), at, ..self.of }.read(seed).map_err(A::Error::custom)
    }
}

struct Elements<'de, 'n, A> {
    of: SecondPass<'de, 'n>,
    list: A,
    index: usize,
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Elements<'de, '_, A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        let Some(value) = self.list.next_element::<&RawValue>()? else { return Ok(None) };
        self.of.budget.pay::<S::Value, A::Error>(2)?;
        let at = Pointer::Index(&self.of.at, self.index);
        self.index += 1;
        SecondPass { text: value.get(), at, ..self.of }.read(seed).map(Some).map_err(A::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{decode::budget::MemoryPool, model::Service};

    /// The name that was read, and each fault as `pointer offset why`.
    fn look(text: &str) -> (Option<String>, Vec<String>) {
        let pool = MemoryPool::new(1 << 20);
        let shown = |f: &FieldFault| format!("{} {} {}", f.pointer, f.offset, f.why);
        match read(PhantomData::<Service>, text, Pointer::At("/x"), &Budget::new(&pool)) {
            Ok(reading) => (reading.value.map(|s| s.meta.name.to_string()), reading.faults.iter().map(shown).collect()),
            Err(broken) => (None, vec![format!("not JSON: {}", shown(&broken))]),
        }
    }

    #[test]
    fn the_invalid_field_is_reported() {
        for (text, name, faults) in [
            (r#"{"metadata":{"name":"a"}}"#, Some("a"), vec![]),
            (
                r#" {"metadata":{"name":"a","x":1,"name":"b"},"metadata":null,"metadata":{"name":"c"}}"#,
                Some("c"),
                vec![
                    "/x/metadata 43 the key metadata is repeated; the last one counts",
                    "/x/metadata 59 the key metadata is repeated; the last one counts",
                ],
            ),
            (
                r#"{"metadata":{"name":"a","name":"b"}}"#,
                Some("b"),
                vec!["/x/metadata/name 24 the key name is repeated; the last one counts"],
            ),
            (
                r#"{"metadata":{"name":"a","name":"b"},"spec":{"ports":[{"port":1},{"port":"1"}]}}"#,
                None,
                vec![
                    "/x/metadata/name 24 the key name is repeated; the last one counts",
                    "/x/spec/ports/1/port 72 invalid type: string \"1\", expected a 32-bit integer",
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
            (r#"{"metadata":}"#, None, vec!["not JSON: /x 12 expected value"]),
            ("{\"metadata\":5,\n\"x\":tru}", None, vec!["not JSON: /x 22 expected ident"]),
        ] {
            let (got, shown) = look(text);
            let shown: Vec<&str> = shown.iter().map(String::as_str).collect();
            assert_eq!((got.as_deref(), shown), (name, faults), "{text}");
        }
    }
}
