//! The second look at a request: field by field and object by object, telling what is odd about each.

use std::{cell::Cell, fmt, marker::PhantomData};

use serde::{
    Deserializer,
    de::{DeserializeOwned, DeserializeSeed, Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{BETA, Field, FieldErrors, Found, RequestError, Table, field, kind, names};
use crate::model::json::pointer::Pointer;
use crate::{
    decode::{
        DecodeError, DecodeReason, Source,
        budget::{Budget, Pool},
        kind::{Kind, TypeMeta},
        object::{self, Means, OfKind, Place},
        position::Position,
        value::offset_of,
    },
    engine::reason::{Finding, Reason},
    inventory::Interner,
    model::{
        ObjectKey,
        json::message::{message, shortened},
    },
};

/// What a request is called in problems that are about no object.
const REQUEST: &str = "Request";

/// More fields that are not read than this are not told.
const MAX_UNKNOWN: usize = 5;

pub(super) fn read<'a>(text: &'a str, source: &Source<'_>, table: &'static Table) -> Result<Found<'a>, RequestError> {
    let fields = Fields::of(text, source, table)?;
    let mut found = Found::default();
    let (pool, targets) = (Pool::new(source.max_memory), found.objects.targets());
    let (interner, budget) = (Interner::new(&targets), Budget::new(&pool));
    let means = Means { interner, budget, max_memory: source.max_memory };
    let known = Cell::new((0, Position::START));
    let errors = FieldErrors::default();
    let mut slow = Slow { text, source, known, means, objects: 0, found: &mut found, errors };
    slow.about_fields(&fields);
    for ((name, field), raw) in table.iter().zip(fields.known) {
        if let Some(raw) = raw.filter(|raw| raw.get() != "null") {
            slow.field(name, *field, raw)?;
        }
    }
    let errors = slow.errors;
    // A list may have fields of a request beside its items. They do not count, and must make sense all the same.
    match (errors.first.is_empty(), fields.objects) {
        (false, _) => Err(errors.into()),
        (true, true) => Err(RequestError::Objects),
        (true, false) => Ok(found),
    }
}

/// The fields of a request, unread; of several with one name the last one.
struct Fields<'a> {
    table: &'static Table,
    known: Vec<Option<&'a RawValue>>,
    twice: Vec<bool>,
    /// Those that are not read, the first of them.
    unknown: Vec<String>,
    /// Whether it has `kind` or `items`.
    objects: bool,
}

impl<'a> Fields<'a> {
    fn none(table: &'static Table) -> Self {
        let (known, twice) = (vec![None; table.len()], vec![false; table.len()]);
        Self { table, known, twice, unknown: Vec::new(), objects: false }
    }

    fn of(text: &'a str, source: &Source<'_>, table: &'static Table) -> Result<Self, RequestError> {
        let mut json = serde_json::Deserializer::from_str(text);
        let broken = |e: &serde_json::Error| {
            let at = Position::START.after(&text.as_bytes()[..offset_of(e, text)]);
            at.error(source.name, DecodeReason::Json(message(e)))
        };
        let fields = match Self::none(table).deserialize(&mut json) {
            Ok(fields) => fields,
            Err(e) if e.is_data() => return Err(RequestError::NoObject(what(text), names(table))),
            Err(e) => return Err(broken(&e).into()),
        };
        // Of objects there may be several, one after the other.
        if !fields.objects {
            json.end().map_err(|e| broken(&e))?;
        }
        Ok(fields)
    }

    fn add(&mut self, name: &str, value: &'a RawValue) {
        if let Some(i) = field(self.table, name) {
            self.twice[i] |= self.known[i].replace(value).is_some();
            return;
        }
        match name {
            "kind" | "items" => self.objects = true,
            // What an object has that lost its kind.
            "apiVersion" | "metadata" | "spec" | "status" => {}
            _ if self.unknown.len() < MAX_UNKNOWN => self.unknown.push(shortened(name).into_owned()),
            _ => {}
        }
    }
}

/// What a text is that is no object.
fn what(text: &str) -> &'static str {
    match text.trim_start().as_bytes().first() {
        Some(b'[') => "a list",
        Some(b'"') => "a string",
        Some(b'n') => "null",
        Some(b't' | b'f') => "a boolean",
        _ => "a number",
    }
}

impl<'de> DeserializeSeed<'de> for Fields<'de> {
    type Value = Self;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Self, D::Error> {
        d.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Fields<'de> {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self, A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            self.add(&name, map.next_value()?);
        }
        Ok(self)
    }
}

struct Slow<'a, 'f> {
    text: &'a str,
    source: &'f Source<'f>,
    /// A place that was worked out: the next one is mostly behind it, and each is looked for from here.
    known: Cell<(usize, Position)>,
    means: Means<'f>,
    objects: usize,
    found: &'f mut Found<'a>,
    errors: FieldErrors,
}

impl<'a> Slow<'a, '_> {
    /// Fields that are there twice, and those that nobody reads.
    fn about_fields(&mut self, fields: &Fields<'_>) {
        let problems = &mut self.found.objects.problems;
        let about = |reason, name: &str, message| {
            let key = ObjectKey { kind: REQUEST.into(), ..ObjectKey::default() };
            let pointer = Some(Pointer::Key(&Pointer::At(""), name).to_string());
            Finding { pointer, ..Finding::new(reason, key, message) }
        };
        for ((name, _), _) in fields.table.iter().zip(&fields.twice).filter(|(_, twice)| **twice) {
            let message = format!("{name} is there twice; the last one counts");
            problems.add(|| about(Reason::DuplicateKey, name, message));
        }
        for name in &fields.unknown {
            let message = format!("{name:?} is not read; the fields are {}", names(fields.table));
            problems.add(|| about(Reason::InvalidSetting, name, message));
        }
    }

    fn field(&mut self, name: &str, field: Field, raw: &'a RawValue) -> Result<(), DecodeError> {
        let root = Pointer::At("");
        let at = Pointer::Key(&root, name);
        match field {
            Field::One(kind) => self.one(kind, raw.get(), at),
            Field::Many(kind) => self.many(kind, raw, at),
            Field::Controllers => self.setting(raw.get(), at).map(|set| self.found.controllers = set),
            Field::Options => self.setting(raw.get(), at).map(|set| self.found.options = set.unwrap_or_default()),
            Field::Object => self.count(raw.get()).map(|()| self.found.object = Some(raw)),
            Field::OldObject => self.count(raw.get()).map(|()| self.found.old_object = Some(raw)),
            Field::User => self.setting(raw.get(), at).map(|set| self.found.user = set.unwrap_or_default()),
            Field::Groups => self.setting(raw.get(), at).map(|set| self.found.groups = set.unwrap_or_default()),
            Field::Namespace => self.setting(raw.get(), at).map(|set| self.found.namespace = set.unwrap_or_default()),
            Field::Policies => self.unread(raw, at).map(|list| self.found.policies = list),
            Field::Namespaces => self.unread(raw, at).map(|list| self.found.namespaces = list),
        }
    }

    /// An object that the request cannot do without.
    fn one(&mut self, name: &str, text: &'a str, at: Pointer<'_>) -> Result<(), DecodeError> {
        self.count(text)?;
        if let Some(object) = self.required(OfKind(kind(name)), name, text, at)? {
            object::keep(object, text, at, &mut self.means.interner, &mut self.found.objects);
        }
        Ok(())
    }

    /// A list of objects that somebody else reads.
    fn unread(&mut self, list: &'a RawValue, at: Pointer<'_>) -> Result<Vec<&'a RawValue>, DecodeError> {
        let list: Vec<&'a RawValue> = match serde_json::from_str(list.get()) {
            Ok(list) => list,
            Err(error) => {
                self.errors.push(at.to_string(), message(&error));
                Vec::new()
            }
        };
        list.iter().try_for_each(|object| self.count(object.get()))?;
        Ok(list)
    }

    fn setting<T: DeserializeOwned>(&mut self, text: &'a str, at: Pointer<'_>) -> Result<Option<T>, DecodeError> {
        self.required(PhantomData, REQUEST, text, at)
    }

    /// A value; if it cannot be read, the fields to blame are errors.
    fn required<S>(
        &mut self,
        seed: S,
        kind: &str,
        text: &'a str,
        pointer: Pointer<'_>,
    ) -> Result<Option<S::Value>, DecodeError>
    where
        S: DeserializeSeed<'a> + Copy,
    {
        let (whole, known) = (self.text, &self.known);
        let at = || place(whole, text, known);
        let place = Place { input: self.source.name, at: &at, document: 0, pointer };
        let look = object::read(seed, text, place, &self.means)?;
        for flaw in look.flaws {
            if flaw.reason == Reason::InvalidObject {
                self.errors.push(flaw.pointer, flaw.why);
            } else {
                self.found.objects.problems.add(|| object::problem(flaw, text, kind, place));
            }
        }
        Ok(look.value)
    }

    /// A list of objects, of which each may be bad.
    fn many(&mut self, name: &str, list: &'a RawValue, at: Pointer<'_>) -> Result<(), DecodeError> {
        let meta = TypeMeta { kind: name.into(), ..TypeMeta::default() };
        let mut failed = None;
        let elements = Elements(|index, text: &'a str| {
            failed = self.element(&meta, text, Pointer::Index(&at, index)).err();
            failed.is_none()
        });
        let read = serde_json::Deserializer::from_str(list.get()).deserialize_seq(elements);
        match (failed, read) {
            (Some(error), _) => Err(error),
            (None, Ok(())) => Ok(()),
            (None, Err(error)) => {
                self.errors.push(at.to_string(), message(&error));
                Ok(())
            }
        }
    }

    fn element(&mut self, meta: &TypeMeta, text: &'a str, pointer: Pointer<'_>) -> Result<(), DecodeError> {
        self.count(text)?;
        let (whole, known) = (self.text, &self.known);
        let at = || place(whole, text, known);
        let place = Place { input: self.source.name, at: &at, document: 0, pointer };
        // The field says which kind it is; only the older version of slices is read in another way.
        let beta = TypeMeta { api_version: BETA.into(), kind: meta.kind.clone() };
        let is_beta = beta.kind() == Kind::EndpointSliceBeta && TypeMeta::of(text, true).api_version == BETA;
        object::add(text, if is_beta { &beta } else { meta }, place, &mut self.means, &mut self.found.objects)
    }

    /// Counts the object in `text`.
    fn count(&mut self, text: &str) -> Result<(), DecodeError> {
        let max = self.source.max_objects;
        self.objects += 1;
        if self.objects <= max {
            return Ok(());
        }
        Err(place(self.text, text, &self.known).error(self.source.name, DecodeReason::TooManyObjects(max)))
    }
}

/// The place of `part` in the whole text.
fn place(whole: &str, part: &str, known: &Cell<(usize, Position)>) -> Position {
    let offset = (part.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize);
    let (from, at) = if known.get().0 <= offset { known.get() } else { (0, Position::START) };
    let at = at.after(whole.as_bytes().get(from..offset).unwrap_or_default());
    known.set((offset, at));
    at
}

/// Hands each element of a list to a function, until that says no.
struct Elements<F>(F);

impl<'de, F: FnMut(usize, &'de str) -> bool> Visitor<'de> for Elements<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        let mut index = 0;
        while let Some(value) = list.next_element::<&'de RawValue>()? {
            if !self.0(index, value.get()) {
                return Err(A::Error::custom("stopped"));
            }
            index += 1;
        }
        Ok(())
    }
}
