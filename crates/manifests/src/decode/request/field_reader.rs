//! Reads the fields of a request, object by object, with findings about each.

use std::{cell::Cell, marker::PhantomData};

use roster_engine::{
    model::{
        ObjectKey,
        defaults::Defaults,
        json::{pointer::Pointer, raw::JsonMembers},
        spelling::nearest,
    },
    reason::{Finding, Reason},
};
use serde::de::{DeserializeOwned, DeserializeSeed};
use serde_json::value::RawValue;

use super::{
    raw_fields::{MAX_UNKNOWN, RawField, RawFields},
    request_fields::{
        BETA, FieldErrors, FieldTable, ListContent, RequestBody, RequestError, RequestFields, ValueContent, kind,
    },
    request_options::RequestOptions,
    view_request::ViewOptions,
};
use crate::decode::{
    DecodeError, DecodeReason, Source,
    budget::{Budget, MemoryPool},
    error::Position,
    kind::{InputKind, TypeMeta},
    object::{self, DecodeContext, KindSeed, ObjectCharge, ObjectPlace},
    value,
};

/// The kind in findings about the request itself.
const REQUEST: &str = "Request";

/// Reads a body: its shape first, then its fields.
pub(super) fn read<'a>(
    text: &'a str,
    source: &Source<'_>,
    table: &'static FieldTable,
) -> Result<RequestBody<RequestFields<'a>>, RequestError> {
    let pool = MemoryPool::of(source);
    let budget = Budget::new(&pool);
    let fields = RawFields::scan(text, source, &budget, table)?;
    let source = &Source { defaults: source.defaults.or(defaults(&fields, &budget)), ..*source };
    let mut found = RequestFields::default();
    let targets = found.objects.targets();
    let context = DecodeContext::new(&targets, budget);
    let known = Cell::new((0, Position::START));
    let errors = FieldErrors::default();
    let mut reader = FieldReader { text, source, known, context, objects: 0, found: &mut found, errors };
    reader.about_fields(&fields);
    let (missing, has_objects) = (fields.missing(), fields.has_objects);
    for ((name, _), field) in table.iter().zip(fields.known) {
        if let Some(field) = field {
            reader.field(name, field)?;
        }
    }
    let mut errors = std::mem::take(&mut reader.errors);
    drop(reader);
    if let Some(missing) = missing {
        errors.push(format!("/{missing}"), "is missing".to_owned());
    }
    found.objects.label_pods(&source.defaults);
    found.objects.report_wrong_fields(true);
    // A list may have fields of a request beside its items. They are not used, but must be valid.
    match (errors.first.is_empty(), has_objects) {
        (false, _) => Err(errors.into()),
        (true, true) => Ok(RequestBody::Objects),
        (true, false) => Ok(RequestBody::Request(found)),
    }
}

/// What is filled in, by a field that may follow the objects. If it is invalid, the request is, and [`FieldReader`] finds
/// all faults.
fn defaults<'a>(fields: &RawFields<'a>, budget: &Budget<'_>) -> Defaults<'a> {
    fn setting<'a, T: serde::Deserialize<'a>>(text: Option<&'a str>, budget: &Budget<'_>) -> Option<T> {
        value::read(PhantomData::<T>, text?, Pointer::At(""), budget).ok()?.value
    }
    if let Some(options) = setting::<ViewOptions>(fields.text(ValueContent::ViewOptions), budget) {
        return options.defaults();
    }
    let options: RequestOptions = setting(fields.text(ValueContent::Options), budget).unwrap_or_default();
    let namespace = setting(fields.text(ValueContent::Namespace), budget).unwrap_or_default();
    Defaults { namespace, ..options.defaults() }
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
        for name in fields.repeated() {
            let message = format!("the key {name} is repeated; the last one counts");
            problems.add(Reason::DuplicateKey.severity(), || about(Reason::DuplicateKey, name, message));
        }
        let names: Vec<&str> = fields.names().collect();
        for name in fields.unknown() {
            let pointer = Pointer::Key(&Pointer::At(""), name).to_string();
            self.errors.push(pointer, unknown_field("the request", &names, name));
        }
    }

    fn field(&mut self, name: &str, field: RawField<'a>) -> Result<(), DecodeError> {
        let root = Pointer::At("");
        let at = Pointer::Key(&root, name);
        match field {
            RawField::Null => {}
            RawField::NotAList(message) => self.errors.push(at.to_string(), message),
            RawField::Value(content, raw) => self.value(content, raw, at)?,
            RawField::List(ListContent::Parsed(kind), list) => self.objects(kind, list, at)?,
            RawField::List(ListContent::Policies, list) => self.found.policies = self.unread(list)?,
            RawField::List(ListContent::Namespaces, list) => self.found.namespaces = self.unread(list)?,
        }
        Ok(())
    }

    fn value(&mut self, content: ValueContent, raw: &'a RawValue, at: Pointer<'_>) -> Result<(), DecodeError> {
        let text = raw.get();
        match content {
            ValueContent::Parsed(kind) => self.object(kind, text, at)?,
            ValueContent::Controllers => self.found.controllers = self.setting(text, at)?,
            ValueContent::Options => {
                self.refuse_unknown(RequestOptions::FIELDS, raw, at);
                self.found.options = self.setting(text, at)?.unwrap_or_default();
            }
            ValueContent::Object => {
                self.count(text)?;
                self.found.object = Some(raw);
            }
            ValueContent::OldObject => {
                self.count(text)?;
                self.found.old_object = Some(raw);
            }
            ValueContent::User => self.found.user = self.setting(text, at)?.unwrap_or_default(),
            ValueContent::Groups => self.found.groups = self.setting(text, at)?.unwrap_or_default(),
            ValueContent::Namespace => self.found.namespace = self.setting(text, at)?.unwrap_or_default(),
            ValueContent::Node => self.found.view.node = self.setting(text, at)?,
            ValueContent::Scheme => self.found.view.scheme = self.setting(text, at)?,
            ValueContent::IpFamily => self.found.view.family = self.setting(text, at)?,
            ValueContent::NodePools => self.found.view.pools = self.setting(text, at)?.unwrap_or_default(),
            ValueContent::ViewOptions => {
                self.refuse_unknown(ViewOptions::FIELDS, raw, at);
                self.found.view.options = self.setting(text, at)?.unwrap_or_default();
            }
        }
        Ok(())
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
    fn object(&mut self, name: &str, text: &'a str, at: Pointer<'_>) -> Result<(), DecodeError> {
        self.count(text)?;
        let before = self.context.budget.spent();
        let Some(object) = self.required(KindSeed(kind(name)), name, text, at)? else { return Ok(()) };
        let start = || Position::START;
        let meta = TypeMeta { kind: name.into(), ..TypeMeta::default() };
        object::note_refused(text, &meta, ObjectPlace::of(self.source, &start, at), &mut self.found.objects);
        let DecodeContext { interner, budget } = &mut self.context;
        let charge = ObjectCharge { before, budget };
        object::keep(object, text, at, &self.source.defaults, charge, interner, &mut self.found.objects)
            .map_err(|reason| place(self.text, text, &self.known).error(self.source.name, reason))
    }

    /// Counts objects that are not parsed here.
    fn unread(&mut self, list: Vec<&'a RawValue>) -> Result<Vec<&'a RawValue>, DecodeError> {
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
    fn objects(&mut self, name: &str, list: Vec<&'a RawValue>, at: Pointer<'_>) -> Result<(), DecodeError> {
        let meta = TypeMeta { kind: name.into(), ..TypeMeta::default() };
        for (index, text) in list.into_iter().enumerate() {
            self.element(&meta, text.get(), Pointer::Index(&at, index))?;
        }
        Ok(())
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
