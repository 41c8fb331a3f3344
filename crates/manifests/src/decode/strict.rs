//! The strict JSON reader: a deserializer that refuses a list in the place of an object.
//!
//! Derived structs also deserialize from a sequence, field by field: `{"service": []}` would be an empty Service.
//! Kubernetes refuses it, and so does this reader.
//!
//! It reads in two ways: as fast as it can, or as the second pass does, which knows what it reads and takes the last of equal
//! keys. Both are one type: each type of the model would be compiled again for each type of reader.

use std::marker::PhantomData;

use roster_engine::model::json::{message::message, pointer::Pointer};
use serde::{
    Deserialize,
    de::{
        DeserializeOwned, DeserializeSeed, Deserializer, Error, IgnoredAny, IntoDeserializer, MapAccess, SeqAccess,
        Visitor,
    },
};
use serde_json::value::RawValue;

use super::{
    budget::{Budget, MemoryPool},
    second_pass::PassPart,
};

/// How a value is read.
pub(super) struct ReadMode<'de, 'n> {
    budget: &'n Budget<'n>,
    /// The value, in the second pass.
    part: Option<PassPart<'de, 'n>>,
}

impl<'de, 'n> ReadMode<'de, 'n> {
    /// As fast as possible.
    pub(super) fn first_pass(budget: &'n Budget<'n>) -> Self {
        Self { budget, part: None }
    }

    pub(super) fn second_pass(part: PassPart<'de, 'n>, budget: &'n Budget<'n>) -> Self {
        Self { budget, part: Some(part) }
    }
}

impl<'de> ReadMode<'de, '_> {
    /// Reads the value of the second pass. The innermost value that fails records the fault first.
    pub(super) fn read<S: DeserializeSeed<'de>>(&self, seed: S) -> serde_json::Result<S::Value> {
        let mut json = serde_json::Deserializer::from_str(self.part.map_or("", |part| part.text));
        let read = seed.deserialize(Strict(&mut json, self));
        if let Err(error) = &read {
            self.blame(error);
        }
        read
    }

    fn blame(&self, error: &serde_json::Error) {
        if let Some(part) = &self.part {
            part.faults_found.blame(error, part);
        }
    }
}

/// A deserializer, or a part of one, that refuses sequences for structs and charges the budget for what it allocates.
pub(super) struct Strict<'de, 'n, T>(pub(super) T, pub(super) &'n ReadMode<'de, 'n>);

/// Like [`serde_json::from_str`], but structs must be objects.
pub(super) fn from_str<'de, S: DeserializeSeed<'de>>(
    seed: S,
    text: &'de str,
    budget: &Budget<'_>,
) -> serde_json::Result<S::Value> {
    let mut json = serde_json::Deserializer::from_str(text);
    let value = seed.deserialize(Strict(&mut json, &ReadMode::first_pass(budget)))?;
    json.end().map(|()| value)
}

/// Reads an object that an API server sent, whatever memory it takes.
pub fn object<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    from_str(PhantomData::<T>, text, &Budget::new(&MemoryPool::new(usize::MAX)))
}

macro_rules! forward {
    ($($method:ident($($arg:ident: $ty:ty),*);)*) => {
        $(
            #[inline]
            fn $method<V: Visitor<'de>>(self, $($arg: $ty,)* visitor: V) -> Result<V::Value, Self::Error> {
                self.0.$method($($arg,)* Strict(visitor, self.1))
            }
        )*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Strict<'de, '_, D> {
    type Error = D::Error;

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        // It may lie behind a pointer.
        self.1.budget.pay::<V::Value, _>(1)?;
        self.0.deserialize_map(StructVisitor { visitor, fields, mode: self.1 })
    }

    /// Variants are unit variants. The parser would report any value other than a string or an object as invalid JSON.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.0.deserialize_str(VariantName(visitor))
    }

    /// A value of any type is read in one go, by the rules of the first pass.
    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        self.0.deserialize_any(Strict(visitor, &ReadMode::first_pass(self.1.budget)))
    }

    forward! {
        deserialize_bool(); deserialize_i8(); deserialize_i16(); deserialize_i32();
        deserialize_i64(); deserialize_u8(); deserialize_u16(); deserialize_u32(); deserialize_u64();
        deserialize_f32(); deserialize_f64(); deserialize_char(); deserialize_str(); deserialize_string();
        deserialize_bytes(); deserialize_byte_buf(); deserialize_option(); deserialize_unit();
        deserialize_unit_struct(name: &'static str); deserialize_newtype_struct(name: &'static str);
        deserialize_seq(); deserialize_tuple(len: usize);
        deserialize_tuple_struct(name: &'static str, len: usize); deserialize_map();
        deserialize_identifier(); deserialize_ignored_any();
    }
}

macro_rules! values {
    ($($method:ident($ty:ty);)*) => {
        $(
            #[inline]
            fn $method<E: Error>(self, value: $ty) -> Result<Self::Value, E> {
                self.0.$method(value)
            }
        )*
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Strict<'de, '_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.expecting(f)
    }

    values! {
        visit_bool(bool); visit_i64(i64); visit_u64(u64); visit_bytes(&[u8]); visit_borrowed_bytes(&'de [u8]);
        visit_byte_buf(Vec<u8>);
    }

    #[inline]
    fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
        self.1.budget.pay_text::<Self::Value, E>(value)?;
        self.0.visit_str(value)
    }
    #[inline]
    fn visit_borrowed_str<E: Error>(self, value: &'de str) -> Result<Self::Value, E> {
        self.1.budget.pay_text::<Self::Value, E>(value)?;
        self.0.visit_borrowed_str(value)
    }
    #[inline]
    fn visit_string<E: Error>(self, value: String) -> Result<Self::Value, E> {
        self.1.budget.pay_text::<Self::Value, E>(&value)?;
        self.0.visit_string(value)
    }

    /// `80.0` is the integer 80, as in JSON Schema.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "it is a whole number of at most 53 bits")]
    fn visit_f64<E: Error>(self, value: f64) -> Result<Self::Value, E> {
        const EXACT: f64 = 9_007_199_254_740_992.0;
        if value.fract() == 0.0 && value.abs() <= EXACT {
            return self.0.visit_i64(value as i64);
        }
        self.0.visit_f64(value)
    }

    #[inline]
    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        self.0.visit_none()
    }
    #[inline]
    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        self.0.visit_unit()
    }
    #[inline]
    fn visit_some<D: Deserializer<'de>>(self, d: D) -> Result<Self::Value, D::Error> {
        self.0.visit_some(Strict(d, self.1))
    }
    #[inline]
    fn visit_newtype_struct<D: Deserializer<'de>>(self, d: D) -> Result<Self::Value, D::Error> {
        self.0.visit_newtype_struct(Strict(d, self.1))
    }
    #[inline]
    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        self.0.visit_seq(Elements { list: seq, index: 0, mode: self.1 })
    }
    #[inline]
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let left = if self.1.part.is_some() { Left::Pairs(map, String::new()) } else { Left::Parsed(map) };
        self.0.visit_map(Members { left, mode: self.1 })
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Strict<'de, '_, S> {
    type Value = S::Value;
    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Self::Value, D::Error> {
        self.0.deserialize(Strict(d, self.1))
    }
}

struct Elements<'de, 'n, A> {
    list: A,
    index: usize,
    mode: &'n ReadMode<'de, 'n>,
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Elements<'de, '_, A> {
    type Error = A::Error;
    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Self::Error> {
        if let Some(part) = &self.mode.part {
            return self.next_in_second_pass(part, seed);
        }
        // A list grows to twice its length, and has room for four elements at first. One more is asked for than it has.
        self.mode.budget.pay::<T::Value, _>(2)?;
        self.list.next_element_seed(Strict(seed, self.mode))
    }
    fn size_hint(&self) -> Option<usize> {
        self.list.size_hint()
    }
}

impl<'de, A: SeqAccess<'de>> Elements<'de, '_, A> {
    #[cold]
    #[inline(never)]
    fn next_in_second_pass<T: DeserializeSeed<'de>>(
        &mut self,
        part: &PassPart<'de, '_>,
        seed: T,
    ) -> Result<Option<T::Value>, A::Error> {
        let Some(value) = self.list.next_element::<&RawValue>()? else { return Ok(None) };
        self.mode.budget.pay::<T::Value, A::Error>(2)?;
        let part = part.child(Pointer::Index(&part.at, self.index), value);
        self.index += 1;
        ReadMode::second_pass(part, self.mode.budget).read(seed).map(Some).map_err(A::Error::custom)
    }
}

/// The members of an object.
struct Members<'de, 'n, A> {
    left: Left<'de, A>,
    mode: &'n ReadMode<'de, 'n>,
}

/// The members that are left.
enum Left<'de, A> {
    /// In the first pass.
    Parsed(A),
    /// Those of a map in the second pass, and the key of the value that comes next.
    Pairs(A, String),
    /// Those of a struct in the second pass: its last one comes next.
    Fields(Vec<(&'static str, &'de RawValue)>),
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Members<'de, '_, A> {
    type Error = A::Error;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Self::Error> {
        if let Left::Parsed(map) = &mut self.left {
            // The key of a struct takes one byte. That of a map is as large as its value, and a map grows as a list does.
            self.mode.budget.pay::<K::Value, _>(4)?;
            return map.next_key_seed(seed);
        }
        let budget = self.mode.budget;
        let Some(name) = self.next_name()? else { return Ok(None) };
        budget.pay::<K::Value, A::Error>(4)?;
        seed.deserialize(name.into_deserializer()).map(Some)
    }

    #[inline]
    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Self::Error> {
        match &mut self.left {
            Left::Parsed(map) => map.next_value_seed(Strict(seed, self.mode)),
            _ => self.next_in_second_pass(seed),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        match &self.left {
            Left::Parsed(map) | Left::Pairs(map, _) => map.size_hint(),
            Left::Fields(fields) => Some(fields.len()),
        }
    }
}

impl<'de, A: MapAccess<'de>> Members<'de, '_, A> {
    /// The name of the next member in the second pass.
    #[cold]
    fn next_name(&mut self) -> Result<Option<&str>, A::Error> {
        match &mut self.left {
            Left::Parsed(_) => Ok(None),
            Left::Pairs(map, key) => {
                let Some(OwnedKey(name)) = map.next_key()? else { return Ok(None) };
                *key = name;
                Ok(Some(key))
            }
            Left::Fields(fields) => Ok(fields.last().map(|(name, _)| *name)),
        }
    }

    #[cold]
    #[inline(never)]
    fn next_in_second_pass<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, A::Error> {
        let budget = self.mode.budget;
        ReadMode::second_pass(self.next_part()?, budget).read(seed).map_err(A::Error::custom)
    }

    /// The next value in the second pass.
    fn next_part(&mut self) -> Result<PassPart<'de, '_>, A::Error> {
        let member = match &mut self.left {
            Left::Parsed(_) => None,
            Left::Pairs(map, key) => Some((key.as_str(), map.next_value()?)),
            Left::Fields(fields) => fields.pop(),
        };
        match (&self.mode.part, member) {
            (Some(part), Some((name, value))) => Ok(part.child(Pointer::Key(&part.at, name), value)),
            _ => Err(A::Error::custom("a value without a key")),
        }
    }
}

/// Passes the members of an object to a struct.
struct StructVisitor<'de, 'n, V> {
    visitor: V,
    fields: &'static [&'static str],
    mode: &'n ReadMode<'de, 'n>,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for StructVisitor<'de, '_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    #[inline]
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        let left = match &self.mode.part {
            None => Left::Parsed(map),
            Some(part) => Left::Fields(known_members(map, self.fields, part)?),
        };
        self.visitor.visit_map(Members { left, mode: self.mode })
    }
}

/// The members of a struct, the last one of each name, in reverse order of its fields.
#[cold]
fn known_members<'de, A: MapAccess<'de>>(
    mut map: A,
    fields: &'static [&'static str],
    part: &PassPart<'de, '_>,
) -> Result<Vec<(&'static str, &'de RawValue)>, A::Error> {
    let mut found: Vec<Option<&'de RawValue>> = vec![None; fields.len()];
    while let Some(key) = map.next_key::<&'de RawValue>()? {
        let OwnedKey(name) = serde_json::from_str(key.get()).map_err(|e| A::Error::custom(message(&e)))?;
        let Some(i) = fields.iter().position(|f| *f == name) else {
            map.next_value::<IgnoredAny>()?;
            continue;
        };
        let value: &RawValue = map.next_value()?;
        if found[i].replace(value).is_some() {
            part.faults_found.note_repeated(part.at, fields[i], key);
        }
    }
    Ok(fields.iter().zip(found).rev().filter_map(|(name, value)| Some((*name, value?))).collect())
}

/// A key: a string with or without escapes.
#[derive(Deserialize)]
struct OwnedKey(String);

/// Reads the name of a variant.
struct VariantName<V>(V);

impl<'de, V: Visitor<'de>> Visitor<'de> for VariantName<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        self.0.visit_enum(name.into_deserializer())
    }
}

#[cfg(test)]
mod tests {
    use std::marker::PhantomData;

    use roster_engine::{
        model::{EndpointSlice, Node, Service, json::message::message},
        state::{Controller, Options},
    };

    use super::*;
    use crate::decode::budget::MemoryPool;

    #[test]
    fn a_list_is_not_an_object() {
        for (text, ok) in [
            (r#"{"metadata":{"name":"a"},"spec":{"ports":[{"port":80}]}}"#, true),
            (r#"{"metadata":null}"#, true),
            (r#"{"spec":{"ports":[{"port":8e1,"targetPort":80.0}]}}"#, true),
            (r#"{"spec":{"ports":[{"port":80.5}]}}"#, false),
            ("[]", false),
            (r#"{"metadata":[]}"#, false),
            (r#"{"spec":{"ports":[[]]}}"#, false),
        ] {
            let pool = MemoryPool::new(1 << 20);
            assert_eq!(from_str(PhantomData::<Service>, text, &Budget::new(&pool)).is_ok(), ok, "{text}");
        }
    }

    #[test]
    fn allocations_are_charged_to_the_budget() {
        let list = |n: usize| vec!["{}"; n].join(",");
        let map = |n: usize| (0..n).map(|i| format!("\"{i}\":\"\"")).collect::<Vec<_>>().join(",");
        for (name, text, ok) in [
            ("few elements", format!("{{\"endpoints\":[{}]}}", list(100)), true),
            ("many elements", format!("{{\"endpoints\":[{}]}}", list(10_000)), false),
            ("many that are skipped", format!("{{\"x\":[{}]}}", list(10_000)), true),
            ("few pairs", format!("{{\"metadata\":{{\"labels\":{{{}}}}}}}", map(100)), true),
            ("many pairs", format!("{{\"metadata\":{{\"labels\":{{{}}}}}}}", map(30_000)), false),
            ("many that are skipped", format!("{{\"x\":{{{}}}}}", map(30_000)), true),
        ] {
            let pool = MemoryPool::new(1 << 20);
            let budget = Budget::new(&pool);
            let read = from_str(PhantomData::<EndpointSlice>, &text, &budget);
            assert_eq!((read.is_ok(), budget.refusal().is_some()), (ok, !ok), "{name}");
        }
    }

    #[test]
    fn messages_use_terms_of_json() {
        fn said<T: serde::de::DeserializeOwned>(text: &str) -> String {
            let pool = MemoryPool::new(1 << 20);
            let read = from_str(PhantomData::<T>, text, &Budget::new(&pool));
            read.err().map(|e| message(&e)).unwrap_or_default()
        }
        for (got, want) in [
            (said::<Service>("5"), "invalid type: integer `5`, expected an object"),
            (said::<Service>(r#"{"spec":{"ports":5}}"#), "invalid type: integer `5`, expected a list"),
            (
                said::<Service>(r#"{"spec":{"ports":[{"port":"80"}]}}"#),
                "invalid type: string \"80\", expected a 32-bit integer",
            ),
            (
                said::<Service>(r#"{"metadata":{"name":", expected struct X"}, "spec":[[1]]}"#),
                "invalid type: list, expected an object",
            ),
            (said::<Service>(r#"{"spec":{"ports":[{"targetPort":[]}]}}"#), "targetPort must be a number or a string"),
            (said::<Node>(r#"{"status":{"allocatable":{"cpu":[]}}}"#), "cpu must be a number or a string"),
            (said::<Options>(r#"{"maxEndpointsPerSlice":0}"#), "0 is not from 1 to 1000"),
            (said::<Vec<Controller>>("[5]"), "invalid type: integer `5`, expected a string"),
            (said::<Vec<Controller>>("[{}]"), "invalid type: object, expected a string"),
            (said::<Service>(r#"{"metadata":{"name":"a","name":"b"}}"#), "duplicate field `name`"),
        ] {
            assert_eq!(got, want);
        }
        let long = said::<Service>(&format!("\"{}\"", "x".repeat(1000)));
        assert!(long.chars().count() < 350 && long.ends_with("…, expected an object"), "{long}");
    }
}
