//! The second look at a request: field by field and object by object, telling what is odd about each.

use std::{cell::Cell, fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, DeserializeSeed, Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{BETA, FIELDS, Field, FieldErrors, Found, RequestError, field, kind, names};
use crate::{
    decode::{
        DecodeError, DecodeReason, Source,
        budget::{Budget, Pool},
        kind::{Kind, TypeMeta},
        message::{message, shortened},
        object::{self, Means, OfKind, Place},
        pointer::Pointer,
        position::Position,
        value::offset_of,
    },
    inventory::Interner,
    model::ObjectKey,
    reason::{Problem, Reason},
};

/// What a request is called in problems that are about no object.
const REQUEST: &str = "Request";

/// More fields that are not read than this are not told.
const MAX_UNKNOWN: usize = 5;

pub(super) fn read(text: &str, source: &Source<'_>) -> Result<Found, RequestError> {
    let fields = Fields::of(text, source)?;
    if fields.objects {
        return Err(RequestError::Objects);
    }
    let mut found = Found::default();
    let (pool, targets) = (Pool::new(source.max_memory), found.objects.targets());
    let (interner, budget) = (Interner::new(&targets), Budget::new(&pool));
    let means = Means { interner, budget, max_memory: source.max_memory };
    let known = Cell::new((0, Position::START));
    let mut slow = Slow { text, source, known, means, objects: 0, found: &mut found, errors: FieldErrors::default() };
    slow.about_fields(&fields);
    for ((name, field), raw) in FIELDS.iter().zip(fields.known) {
        if let Some(raw) = raw.filter(|raw| raw.get() != "null") {
            slow.field(name, *field, raw)?;
        }
    }
    let errors = slow.errors;
    if errors.first.is_empty() { Ok(found) } else { Err(errors.into()) }
}

/// The fields of a request, unread; of several with one name the last one.
#[derive(Default)]
struct Fields<'a> {
    known: [Option<&'a RawValue>; FIELDS.len()],
    twice: [bool; FIELDS.len()],
    /// Those that are not read, the first of them.
    unknown: Vec<String>,
    /// Whether it has `kind` or `items`.
    objects: bool,
}

impl<'a> Fields<'a> {
    fn of(text: &'a str, source: &Source<'_>) -> Result<Self, RequestError> {
        let mut json = serde_json::Deserializer::from_str(text);
        let broken = |e: &serde_json::Error| {
            let at = Position::START.after(&text.as_bytes()[..offset_of(e, text)]);
            at.error(source.name, DecodeReason::Json(message(e)))
        };
        let fields = match Self::deserialize(&mut json) {
            Ok(fields) => fields,
            Err(e) if e.is_data() => return Err(RequestError::NoObject(what(text))),
            Err(e) => return Err(broken(&e).into()),
        };
        // Of objects there may be several, one after the other.
        if !fields.objects {
            json.end().map_err(|e| broken(&e))?;
        }
        Ok(fields)
    }

    fn add(&mut self, name: &str, value: &'a RawValue) {
        if let Some(i) = field(name) {
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

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Fields<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut fields = Fields::default();
                while let Some(name) = map.next_key::<String>()? {
                    fields.add(&name, map.next_value()?);
                }
                Ok(fields)
            }
        }
        d.deserialize_map(Members)
    }
}

struct Slow<'a, 'f> {
    text: &'a str,
    source: &'a Source<'a>,
    /// A place that was worked out: the next one is mostly behind it, and each is looked for from here.
    known: Cell<(usize, Position)>,
    means: Means<'f>,
    objects: usize,
    found: &'f mut Found,
    errors: FieldErrors,
}

impl<'a> Slow<'a, '_> {
    /// Fields that are there twice, and those that nobody reads.
    fn about_fields(&mut self, fields: &Fields<'_>) {
        let problems = &mut self.found.objects.problems;
        let about = |reason, name: &str, message| {
            let key = ObjectKey { kind: REQUEST.into(), ..ObjectKey::default() };
            let pointer = Some(Pointer::Key(&Pointer::At(""), name).to_string());
            Problem { pointer, ..Problem::new(reason, key, message) }
        };
        for ((name, _), _) in FIELDS.iter().zip(fields.twice).filter(|(_, twice)| *twice) {
            let message = format!("{name} is there twice; the last one counts");
            problems.add(|| about(Reason::DuplicateKey, name, message));
        }
        for name in &fields.unknown {
            let message = format!("{name:?} is not read; the fields are {}", names());
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
