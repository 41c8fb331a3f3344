//! The fast path for a plan request: one pass over a body without findings.

use std::{borrow::Cow, fmt};

use roster_engine::model::{
    defaults::{Defaults, DefaultsMode},
    json::pointer::Pointer,
};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::request_fields::{FieldContent, PLAN_FIELDS, RequestFields, SUBJECTS, kind, position};
use crate::{
    decode::{
        Source,
        budget::{Budget, MemoryPool, Spent},
        object::{KindSeed, ObjectCharge, keep},
        strict::{ReadMode, Strict},
    },
    inventory::{AnyObject, Interner},
};

/// Reads a body; `None` if there is anything to report, which [`field_by_field`](super::field_by_field) does.
pub(super) fn read(text: &str, source: &Source<'_>) -> Option<RequestFields<'static>> {
    let pool = MemoryPool::of(source);
    let Some(found) = pass(text, source, &pool) else {
        pool.abandon();
        return None;
    };
    let defaults = source.defaults.or(found.options.defaults());
    // The options mostly follow the objects, which are filled in already: by default, if at all.
    let is_filled_in_otherwise = !found.objects.assumed.is_empty() || defaults.mode == Some(DefaultsMode::Always);
    if defaults == source.defaults || !is_filled_in_otherwise {
        return Some(found);
    }
    drop(found);
    pool.abandon();
    let (source, pool) = (Source { defaults, ..*source }, MemoryPool::of(source));
    let found = pass(text, &source, &pool);
    if found.is_none() {
        pool.abandon();
    }
    found
}

fn pass(text: &str, source: &Source<'_>, pool: &MemoryPool<'_>) -> Option<RequestFields<'static>> {
    let mut found = RequestFields::default();
    let targets = found.objects.targets();
    let budget = Budget::new(pool);
    let mut json = serde_json::Deserializer::from_str(text);
    let (interner, left) = (Interner::new(&targets), source.max_objects);
    let pass = SinglePass { found: &mut found, budget: &budget, interner, left, defaults: source.defaults };
    Strict(&mut json, &ReadMode::first_pass(&budget)).deserialize_map(pass).ok()?;
    json.end().ok()?;
    found.objects.label_pods(&source.defaults);
    found.objects.problems.is_empty().then_some(found)
}

struct SinglePass<'a> {
    found: &'a mut RequestFields<'static>,
    budget: &'a Budget<'a>,
    interner: Interner<'a>,
    /// How many more objects are allowed.
    left: usize,
    defaults: Defaults<'a>,
}

impl SinglePass<'_> {
    fn keep<E: Error>(&mut self, object: AnyObject, before: Spent) -> Result<(), E> {
        self.left = self.left.checked_sub(1).ok_or_else(invalid)?;
        // The position of a finding does not matter: the body is read again.
        let into = &mut self.found.objects;
        let charge = ObjectCharge { before, budget: self.budget };
        keep(object, "", Pointer::At(""), &self.defaults, charge, &mut self.interner, into).map_err(|_| invalid())?;
        if self.found.objects.problems.is_empty() { Ok(()) } else { Err(invalid()) }
    }
}

fn invalid<E: Error>() -> E {
    E::custom("not a valid plan request")
}

impl<'de> Visitor<'de> for SinglePass<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let mut seen = [false; PLAN_FIELDS.len()];
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            let i =
                position(&PLAN_FIELDS, &key).filter(|i| !std::mem::replace(&mut seen[*i], true)).ok_or_else(invalid)?;
            let field = PLAN_FIELDS[i].1;
            match field {
                FieldContent::One(name) | FieldContent::Many(name) => {
                    let list = matches!(field, FieldContent::Many(_));
                    map.next_value_seed(FieldObjects { pass: &mut self, kind: KindSeed(kind(name)), list })?;
                }
                FieldContent::Controllers => self.found.controllers = map.next_value()?,
                FieldContent::Options => self.found.options = map.next_value::<Option<_>>()?.unwrap_or_default(),
                // Not a field of a plan request.
                _ => return Err(invalid()),
            }
        }
        let is_subject = |(name, _): &(&str, FieldContent)| SUBJECTS.contains(name);
        let has_subject = PLAN_FIELDS.iter().zip(seen).any(|(field, seen)| seen && is_subject(field));
        if has_subject { Ok(()) } else { Err(invalid()) }
    }
}

/// The objects of one field.
struct FieldObjects<'q, 'a> {
    pass: &'q mut SinglePass<'a>,
    kind: KindSeed,
    list: bool,
}

impl<'de> DeserializeSeed<'de> for FieldObjects<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for FieldObjects<'_, '_> {
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
        let before = self.pass.budget.spent();
        let object = self.kind.deserialize(d)?;
        self.pass.keep(object, before)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let mut before = self.pass.budget.spent();
        while let Some(object) = list.next_element_seed(self.kind)? {
            self.pass.keep(object, before)?;
            before = self.pass.budget.spent();
        }
        Ok(())
    }
}
