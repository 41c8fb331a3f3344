//! The strict JSON reader: a deserializer that refuses a list in the place of an object.
//!
//! Derived structs also deserialize from a sequence, field by field: `{"service": []}` would be an empty Service.
//! Kubernetes refuses it, and so does this reader.

use std::marker::PhantomData;

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Visitor,
};

use super::budget::{Budget, MemoryPool};

/// A deserializer, or a part of one, that refuses sequences for structs and charges the budget for what it allocates.
pub(super) struct Strict<'b, T>(pub(super) T, pub(super) &'b Budget<'b>);

/// Like [`serde_json::from_str`], but structs must be objects.
pub(super) fn from_str<'de, S: DeserializeSeed<'de>>(
    seed: S,
    text: &'de str,
    budget: &Budget<'_>,
) -> serde_json::Result<S::Value> {
    let mut json = serde_json::Deserializer::from_str(text);
    let value = seed.deserialize(Strict(&mut json, budget))?;
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

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Strict<'_, D> {
    type Error = D::Error;

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        // It may lie behind a pointer.
        self.1.pay::<V::Value, _>(1)?;
        self.0.deserialize_map(Strict(visitor, self.1))
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

    forward! {
        deserialize_any(); deserialize_bool(); deserialize_i8(); deserialize_i16(); deserialize_i32();
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

impl<'de, V: Visitor<'de>> Visitor<'de> for Strict<'_, V> {
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
        self.1.pay_text::<Self::Value, E>(value)?;
        self.0.visit_str(value)
    }
    #[inline]
    fn visit_borrowed_str<E: Error>(self, value: &'de str) -> Result<Self::Value, E> {
        self.1.pay_text::<Self::Value, E>(value)?;
        self.0.visit_borrowed_str(value)
    }
    #[inline]
    fn visit_string<E: Error>(self, value: String) -> Result<Self::Value, E> {
        self.1.pay_text::<Self::Value, E>(&value)?;
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
        self.0.visit_seq(Strict(seq, self.1))
    }
    #[inline]
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        self.0.visit_map(Strict(map, self.1))
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Strict<'_, S> {
    type Value = S::Value;
    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Self::Value, D::Error> {
        self.0.deserialize(Strict(d, self.1))
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Strict<'_, A> {
    type Error = A::Error;
    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Self::Error> {
        // A list grows to twice its length, and has room for four elements at first. One more is asked for than it has.
        self.1.pay::<T::Value, _>(2)?;
        self.0.next_element_seed(Strict(seed, self.1))
    }
    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Strict<'_, A> {
    type Error = A::Error;
    #[inline]
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Self::Error> {
        // The key of a struct takes one byte. That of a map is as large as its value, and a map grows as a list does.
        self.1.pay::<K::Value, _>(4)?;
        self.0.next_key_seed(seed)
    }
    #[inline]
    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Self::Error> {
        self.0.next_value_seed(Strict(seed, self.1))
    }
    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

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

    use super::*;
    use crate::{
        decode::budget::MemoryPool,
        engine::state::{Controller, Options},
        model::{EndpointSlice, Node, Service, json::message::message},
    };

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
