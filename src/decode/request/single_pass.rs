//! The first look at a request: all of it in one go, if nothing about it is odd.

use std::{borrow::Cow, fmt};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::{FIELDS, Field, Found, field, kind};
use crate::model::json::pointer::Pointer;
use crate::{
    decode::{
        Source,
        budget::{Budget, Pool},
        object::{OfKind, keep},
        strict::Strict,
    },
    inventory::{AnyObject, Interner},
};

/// Reads `text`, unless there is anything to say about it: then the second look says it.
pub(super) fn read(text: &str, source: &Source<'_>) -> Option<Found<'static>> {
    let mut found = Found::default();
    let (pool, targets) = (Pool::new(source.max_memory), found.objects.targets());
    let budget = Budget::new(&pool);
    let mut json = serde_json::Deserializer::from_str(text);
    let quick = Quick { found: &mut found, interner: Interner::new(&targets), left: source.max_objects };
    Strict(&mut json, &budget).deserialize_map(quick).ok()?;
    json.end().ok()?;
    found.objects.problems.is_empty().then_some(found)
}

struct Quick<'a> {
    found: &'a mut Found<'static>,
    interner: Interner<'a>,
    /// How many objects there may be yet.
    left: usize,
}

impl Quick<'_> {
    fn keep<E: Error>(&mut self, object: AnyObject) -> Result<(), E> {
        self.left = self.left.checked_sub(1).ok_or_else(odd)?;
        // Where a problem stands is no matter here.
        keep(object, "", Pointer::At(""), &mut self.interner, &mut self.found.objects);
        if self.found.objects.problems.is_empty() { Ok(()) } else { Err(odd()) }
    }
}

fn odd<E: Error>() -> E {
    E::custom("something is odd")
}

impl<'de> Visitor<'de> for Quick<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let mut seen = [false; FIELDS.len()];
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            let i = field(&FIELDS, &key).filter(|i| !std::mem::replace(&mut seen[*i], true)).ok_or_else(odd)?;
            let field = FIELDS[i].1;
            match field {
                Field::One(name) | Field::Many(name) => {
                    let list = matches!(field, Field::Many(_));
                    map.next_value_seed(Objects { quick: &mut self, kind: OfKind(kind(name)), list })?;
                }
                Field::Controllers => self.found.controllers = map.next_value()?,
                Field::Options => self.found.options = map.next_value::<Option<_>>()?.unwrap_or_default(),
                // Not of a plan.
                _ => return Err(odd()),
            }
        }
        Ok(())
    }
}

/// The objects of one field, if it is not null.
struct Objects<'q, 'a> {
    quick: &'q mut Quick<'a>,
    kind: OfKind,
    list: bool,
}

impl<'de> DeserializeSeed<'de> for Objects<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for Objects<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("objects")
    }

    fn visit_none<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        if self.list {
            return d.deserialize_seq(self);
        }
        let object = self.kind.deserialize(d)?;
        self.quick.keep(object)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(object) = list.next_element_seed(self.kind)? {
            self.quick.keep(object)?;
        }
        Ok(())
    }
}
