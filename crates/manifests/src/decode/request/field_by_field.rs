//! The slow path for the body of a request: field by field and object by object, with findings about each.

use std::{cell::Cell, fmt, marker::PhantomData};

use roster_engine::model::json::pointer::Pointer;
use roster_engine::{
    model::{
        ObjectKey,
        defaults::Defaults,
        json::{
            message::{message, shortened},
            raw::JsonMembers,
        },
        spelling::nearest,
    },
    reason::{Finding, Reason},
};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, DeserializeSeed, Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{
    request_fields::{
        BETA, FieldContent, FieldErrors, FieldTable, RequestError, RequestFields, SUBJECTS, kind, names, position,
    },
    request_options::RequestOptions,
    view_options::ViewOptions,
};
use crate::decode::{
    DecodeError, DecodeReason, Source,
    budget::{Budget, MemoryPool},
    documents::raw_list,
    kind::{InputKind, TypeMeta},
    object::{self, DecodeContext, KindSeed, ObjectCharge, ObjectPlace},
    position::Position,
    second_pass::offset_of,
    value,
};

/// The kind in findings about the request itself.
const REQUEST: &str = "Request";

/// Most unknown fields that are reported.
const MAX_UNKNOWN: usize = 5;

/// The fields of an object, besides its kind.
const OBJECT_FIELDS: [&str; 4] = ["apiVersion", "metadata", "spec", "status"];

pub(super) fn read<'a>(
    text: &'a str,
    source: &Source<'_>,
    table: &'static FieldTable,
) -> Result<RequestFields<'a>, RequestError> {
    let fields = RawFields::of(text, source, table)?;
    let pool = MemoryPool::of(source);
    let source = &Source { defaults: source.defaults.or(fields.defaults(&pool)), ..*source };
    let mut found = RequestFields::default();
    let targets = found.objects.targets();
    let context = DecodeContext::new(&targets, &pool);
    let known = Cell::new((0, Position::START));
    let errors = FieldErrors::default();
    let mut reader = FieldReader { text, source, known, context, objects: 0, found: &mut found, errors };
    reader.about_fields(&fields);
    let missing = fields.missing().filter(|_| !fields.objects);
    for ((name, field), raw) in table.iter().zip(fields.known) {
        if let Some(raw) = raw.filter(|raw| raw.get() != "null") {
            reader.field(name, *field, raw)?;
        }
    }
    let mut errors = std::mem::take(&mut reader.errors);
    drop(reader);
    if let Some(missing) = missing {
        errors.push(format!("/{missing}"), "is missing".to_owned());
    }
    found.objects.label_pods(&source.defaults);
    // A list may have fields of a request beside its items. They are not used, but must be valid.
    match (errors.first.is_empty(), fields.objects) {
        (false, _) => Err(errors.into()),
        (true, true) => Err(RequestError::Objects),
        (true, false) => Ok(found),
    }
}

/// The fields of a request, not parsed; of several with the same name the last one.
struct RawFields<'a> {
    table: &'static FieldTable,
    known: Vec<Option<&'a RawValue>>,
    twice: Vec<bool>,
    /// The first unknown fields.
    unknown: Vec<String>,
    /// Fields of an object without a kind. Beside a field of a request, they are unknown.
    of_object: Vec<&'static str>,
    /// Whether the body has `kind` or `items`.
    objects: bool,
}

impl<'a> RawFields<'a> {
    fn none(table: &'static FieldTable) -> Self {
        let (known, twice) = (vec![None; table.len()], vec![false; table.len()]);
        Self { table, known, twice, unknown: Vec::new(), of_object: Vec::new(), objects: false }
    }

    fn of(text: &'a str, source: &Source<'_>, table: &'static FieldTable) -> Result<Self, RequestError> {
        let interrupted = source.interrupt.check();
        interrupted.map_err(|why| Position::START.error(source.name, why.into()))?;
        let mut json = serde_json::Deserializer::from_str(text);
        let broken = |e: &serde_json::Error| {
            let at = Position::START.after(&text.as_bytes()[..offset_of(e, text)]);
            at.error(source.name, DecodeReason::Json(message(e)))
        };
        let fields = match Self::none(table).deserialize(&mut json) {
            Ok(fields) => fields,
            Err(e) if e.is_data() => return Err(RequestError::NotAnObject(type_of(text), names(table))),
            Err(e) => return Err(broken(&e).into()),
        };
        // Several objects may follow each other.
        if !fields.objects {
            json.end().map_err(|e| broken(&e))?;
        }
        Ok(fields)
    }

    /// The field that is missing in a plan request that is about nothing.
    fn missing(&self) -> Option<&'static str> {
        let has = |name: &str| position(self.table, name).is_some_and(|place| self.known[place].is_some());
        let is_plan = self.table.iter().any(|(_, field)| *field == FieldContent::Controllers);
        let is_subject_missing = is_plan && self.unknown.is_empty() && !SUBJECTS.into_iter().any(has);
        is_subject_missing.then_some(SUBJECTS[0])
    }

    fn add(&mut self, name: &str, value: &'a RawValue) {
        if let Some(i) = position(self.table, name) {
            self.twice[i] |= self.known[i].replace(value).is_some();
            return;
        }
        let of_object = OBJECT_FIELDS.iter().find(|field| **field == name);
        match (name, of_object) {
            ("kind" | "items", _) => self.objects = true,
            (_, Some(field)) if self.of_object.contains(field) => {}
            (_, Some(field)) => self.of_object.push(field),
            _ if self.unknown.len() < MAX_UNKNOWN => self.unknown.push(shortened(name).into_owned()),
            _ => {}
        }
    }

    /// The first fields that the request does not have.
    fn unknown(&self) -> impl Iterator<Item = &str> {
        let is_request = self.known.iter().any(Option::is_some);
        let of_object = self.of_object.iter().copied().filter(move |_| is_request);
        self.unknown.iter().map(String::as_str).chain(of_object).take(MAX_UNKNOWN)
    }
}

impl<'a> RawFields<'a> {
    /// What is filled in, by a field that may follow the objects. If it is invalid, the request is, and is read to find
    /// all faults.
    fn defaults(&self, pool: &MemoryPool<'_>) -> Defaults<'a> {
        if let Some(options) = self.read::<ViewOptions>(FieldContent::ViewOptions, pool) {
            return options.defaults();
        }
        let options: RequestOptions = self.read(FieldContent::Options, pool).unwrap_or_default();
        Defaults { namespace: self.read(FieldContent::Namespace, pool).unwrap_or_default(), ..options.defaults() }
    }

    /// Reads a setting as [`FieldReader`] does, which reports its faults.
    fn read<T: Deserialize<'a>>(&self, content: FieldContent, pool: &MemoryPool<'_>) -> Option<T> {
        let place = self.table.iter().position(|(_, field)| *field == content)?;
        let text = self.known.get(place).copied().flatten()?.get();
        value::read(PhantomData::<T>, text, Pointer::At(""), &Budget::new(pool)).ok()?.value
    }
}

/// The type of a value that is not an object.
fn type_of(text: &str) -> &'static str {
    match text.trim_start().as_bytes().first() {
        Some(b'[') => "a list",
        Some(b'"') => "a string",
        Some(b'n') => "null",
        Some(b't' | b'f') => "a boolean",
        _ => "a number",
    }
}

impl<'de> DeserializeSeed<'de> for RawFields<'de> {
    type Value = Self;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Self, D::Error> {
        d.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for RawFields<'de> {
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

/// The message about a field that a part of the request does not have, with the field that it may stand for.
fn unknown_field(part: &str, fields: &[&str], name: &str) -> String {
    match nearest(name, fields, |field| *field) {
        Some(field) => format!("is not a field of {part}; did you mean {field}?"),
        None => format!("is not a field of {part}; its fields are {}", fields.join(", ")),
    }
}

struct FieldReader<'a, 'f> {
    text: &'a str,
    source: &'f Source<'f>,
    /// The last computed position: the next one is usually behind it.
    known: Cell<(usize, Position)>,
    context: DecodeContext<'f>,
    objects: usize,
    found: &'f mut RequestFields<'a>,
    errors: FieldErrors,
}

impl<'a> FieldReader<'a, '_> {
    /// Reports repeated and unknown fields.
    fn about_fields(&mut self, fields: &RawFields<'_>) {
        let problems = &mut self.found.objects.problems;
        let about = |reason, name: &str, message| {
            let key = ObjectKey { kind: REQUEST.into(), ..ObjectKey::default() };
            let pointer = Some(Pointer::Key(&Pointer::At(""), name).to_string());
            Finding { pointer, ..Finding::new(reason, key, message) }
        };
        for ((name, _), _) in fields.table.iter().zip(&fields.twice).filter(|(_, twice)| **twice) {
            let message = format!("the key {name} is repeated; the last one counts");
            problems.add(Reason::DuplicateKey.severity(), || about(Reason::DuplicateKey, name, message));
        }
        // A list may have any field beside its items.
        if fields.objects {
            return;
        }
        let names: Vec<&str> = fields.table.iter().map(|(field, _)| *field).collect();
        for name in fields.unknown() {
            let pointer = Pointer::Key(&Pointer::At(""), name).to_string();
            self.errors.push(pointer, unknown_field("the request", &names, name));
        }
    }

    fn field(&mut self, name: &str, field: FieldContent, raw: &'a RawValue) -> Result<(), DecodeError> {
        let root = Pointer::At("");
        let at = Pointer::Key(&root, name);
        match field {
            FieldContent::One(kind) => self.one(kind, raw.get(), at),
            FieldContent::Many(kind) => self.many(kind, raw, at),
            FieldContent::Controllers => self.setting(raw.get(), at).map(|set| self.found.controllers = set),
            FieldContent::Options => {
                self.refuse_unknown(RequestOptions::FIELDS, raw, at);
                self.setting(raw.get(), at).map(|set| self.found.options = set.unwrap_or_default())
            }
            FieldContent::Object => self.count(raw.get()).map(|()| self.found.object = Some(raw)),
            FieldContent::OldObject => self.count(raw.get()).map(|()| self.found.old_object = Some(raw)),
            FieldContent::User => self.setting(raw.get(), at).map(|set| self.found.user = set.unwrap_or_default()),
            FieldContent::Groups => self.setting(raw.get(), at).map(|set| self.found.groups = set.unwrap_or_default()),
            FieldContent::Namespace => {
                self.setting(raw.get(), at).map(|set| self.found.namespace = set.unwrap_or_default())
            }
            FieldContent::Node => self.setting(raw.get(), at).map(|set| self.found.view.node = set),
            FieldContent::Scheme => self.setting(raw.get(), at).map(|set| self.found.view.scheme = set),
            FieldContent::IpFamily => self.setting(raw.get(), at).map(|set| self.found.view.family = set),
            FieldContent::NodePools => {
                self.setting(raw.get(), at).map(|set| self.found.view.pools = set.unwrap_or_default())
            }
            FieldContent::ViewOptions => {
                self.refuse_unknown(ViewOptions::FIELDS, raw, at);
                self.setting(raw.get(), at).map(|set| self.found.view.options = set.unwrap_or_default())
            }
            FieldContent::Policies => self.unread(raw, at).map(|list| self.found.policies = list),
            FieldContent::Namespaces => self.unread(raw, at).map(|list| self.found.namespaces = list),
        }
    }

    /// Reports the options that do not exist: the reader itself is lenient, as Kubernetes is with objects.
    fn refuse_unknown(&mut self, known: &[&str], options: &RawValue, at: Pointer<'_>) {
        let options = JsonMembers::read(options).unwrap_or_default();
        let mut unknown: Vec<&str> = options.names().filter(|name| !known.contains(name)).collect();
        unknown.sort_unstable();
        for name in unknown.into_iter().take(MAX_UNKNOWN) {
            self.errors.push(Pointer::Key(&at, name).to_string(), unknown_field("the options", known, name));
        }
    }

    /// Reads an object that must be valid.
    fn one(&mut self, name: &str, text: &'a str, at: Pointer<'_>) -> Result<(), DecodeError> {
        self.count(text)?;
        let before = self.context.budget.spent();
        let Some(object) = self.required(KindSeed(kind(name)), name, text, at)? else { return Ok(()) };
        let DecodeContext { interner, budget } = &mut self.context;
        let charge = ObjectCharge { before, budget };
        object::keep(object, text, at, &self.source.defaults, charge, interner, &mut self.found.objects)
            .map_err(|reason| place(self.text, text, &self.known).error(self.source.name, reason))
    }

    /// Reads a list of objects without parsing them.
    fn unread(&mut self, list: &'a RawValue, at: Pointer<'_>) -> Result<Vec<&'a RawValue>, DecodeError> {
        let list: Vec<&'a RawValue> = match raw_list(list, self.source.max_objects) {
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

    /// Reads a value that must be valid; the invalid fields are errors.
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
        let place = ObjectPlace::of(self.source, &at, pointer);
        let reading = object::read(seed, text, place, &self.context)?;
        for fault in reading.faults {
            if fault.reason == Reason::InvalidObject {
                self.errors.push(fault.pointer, fault.why);
            } else {
                let problems = &mut self.found.objects.problems;
                problems.add(fault.reason.severity(), || object::problem(fault, text, kind, place));
            }
        }
        Ok(reading.value)
    }

    /// Reads a list of objects, each of which may be invalid.
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
        let place = ObjectPlace::of(self.source, &at, pointer);
        // The field determines the kind; only slices of the older version are read differently.
        let beta = TypeMeta { api_version: BETA.into(), kind: meta.kind.clone() };
        let is_beta = beta.kind() == InputKind::EndpointSliceBeta && TypeMeta::of(text, true).api_version == BETA;
        object::add(text, if is_beta { &beta } else { meta }, place, &mut self.context, &mut self.found.objects)
    }

    /// Counts an object against the limit.
    fn count(&mut self, text: &str) -> Result<(), DecodeError> {
        let max = self.source.max_objects;
        self.objects += 1;
        if self.objects <= max {
            return Ok(());
        }
        Err(place(self.text, text, &self.known).error(self.source.name, DecodeReason::TooManyObjects(max)))
    }
}

/// The position of `part` in the whole text.
fn place(whole: &str, part: &str, known: &Cell<(usize, Position)>) -> Position {
    let offset = (part.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize);
    let (from, at) = if known.get().0 <= offset { known.get() } else { (0, Position::START) };
    let at = at.after(whole.as_bytes().get(from..offset).unwrap_or_default());
    known.set((offset, at));
    at
}

/// Calls a function for each element of a list until it returns false.
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
