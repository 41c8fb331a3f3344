//! The shape of a body: its fields, and the elements of its lists, none of them parsed.

use std::fmt;

use roster_engine::model::json::message::{message, shortened};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor};
use serde_json::value::RawValue;

use super::request_fields::{
    FieldContent, FieldTable, ListContent, RequestError, SUBJECTS, ValueContent, names, position,
};
use crate::decode::{DecodeReason, Source, budget::Budget, error::Position, second_pass::offset_of};

/// Most unknown fields that are reported.
pub(super) const MAX_UNKNOWN: usize = 5;

/// The fields of an object, besides its kind.
const OBJECT_FIELDS: [&str; 4] = ["apiVersion", "metadata", "spec", "status"];

/// The fields of a body; of several with the same name the last one.
pub(super) struct RawFields<'a> {
    table: &'static FieldTable,
    /// In the order of the table.
    pub(super) known: Vec<Option<RawField<'a>>>,
    twice: Vec<bool>,
    /// The first unknown fields.
    unknown: Vec<String>,
    /// Fields of an object without a kind. Beside a field of a request, they are unknown.
    of_object: Vec<&'static str>,
    /// Whether the body has `kind` or `items`: then it consists of Kubernetes objects.
    pub(super) has_objects: bool,
}

/// A field, not parsed.
pub(super) enum RawField<'a> {
    Null,
    Value(ValueContent, &'a RawValue),
    List(ListContent, Vec<&'a RawValue>),
    /// The message about another value.
    NotAList(String),
}

impl<'a> RawFields<'a> {
    /// Scans a body once. `budget` pays for the lists, and a list longer than the limit of `source` ends behind it.
    pub(super) fn scan(
        text: &'a str,
        source: &Source<'_>,
        budget: &Budget<'_>,
        table: &'static FieldTable,
    ) -> Result<Self, RequestError> {
        let interrupted = source.interrupt.check();
        interrupted.map_err(|why| Position::START.error(source.name, why.into()))?;
        let mut json = serde_json::Deserializer::from_str(text);
        let broken = |e: &serde_json::Error| {
            let at = Position::START.after(&text.as_bytes()[..offset_of(e, text)]);
            at.error(source.name, budget.refusal().unwrap_or_else(|| DecodeReason::Json(message(e))))
        };
        let scan = FieldScan { fields: Self::none(table), most: source.max_objects, budget };
        let fields = match json.deserialize_map(scan) {
            Ok(fields) => fields,
            Err(e) if e.is_data() && budget.refusal().is_none() => {
                return Err(RequestError::NotAnObject(type_of(text), names(table)));
            }
            Err(e) => return Err(broken(&e).into()),
        };
        // Several objects may follow each other.
        if !fields.has_objects {
            json.end().map_err(|e| broken(&e))?;
        }
        Ok(fields)
    }

    fn none(table: &'static FieldTable) -> Self {
        let (known, twice) = (table.iter().map(|_| None).collect(), vec![false; table.len()]);
        Self { table, known, twice, unknown: Vec::new(), of_object: Vec::new(), has_objects: false }
    }

    /// The field that is missing in a plan request that is about nothing.
    pub(super) fn missing(&self) -> Option<&'static str> {
        let has = |name: &str| position(self.table, name).is_some_and(|place| self.known[place].is_some());
        let is_plan = self.table.iter().any(|(_, field)| *field == FieldContent::One(ValueContent::Controllers));
        let is_subject_missing =
            is_plan && !self.has_objects && self.unknown.is_empty() && !SUBJECTS.into_iter().any(has);
        is_subject_missing.then_some(SUBJECTS[0])
    }

    /// The names of all fields that the request may have.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.table.iter().map(|(name, _)| *name)
    }

    /// The fields that are present more than once.
    pub(super) fn repeated(&self) -> impl Iterator<Item = &'static str> {
        self.table.iter().zip(&self.twice).filter(|(_, twice)| **twice).map(|((name, _), _)| *name)
    }

    /// The first fields that the request does not have. A list may have any field beside its items.
    pub(super) fn unknown(&self) -> impl Iterator<Item = &str> {
        let is_request = self.known.iter().any(Option::is_some);
        let of_object = self.of_object.iter().copied().filter(move |_| is_request);
        let unknown = self.unknown.iter().map(String::as_str).chain(of_object);
        unknown.take(if self.has_objects { 0 } else { MAX_UNKNOWN })
    }

    /// The text of the field with this content, unless it is null.
    pub(super) fn text(&self, wanted: ValueContent) -> Option<&'a str> {
        self.known.iter().flatten().find_map(|field| match field {
            RawField::Value(content, raw) if *content == wanted => Some(raw.get()),
            _ => None,
        })
    }

    fn add(&mut self, place: usize, value: RawField<'a>) {
        self.twice[place] |= self.known[place].replace(value).is_some();
    }

    fn add_unknown(&mut self, name: &str) {
        let of_object = OBJECT_FIELDS.iter().find(|field| **field == name);
        match (name, of_object) {
            ("kind" | "items", _) => self.has_objects = true,
            (_, Some(field)) if self.of_object.contains(field) => {}
            (_, Some(field)) => self.of_object.push(field),
            _ if self.unknown.len() < MAX_UNKNOWN => self.unknown.push(shortened(name).into_owned()),
            _ => {}
        }
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

struct FieldScan<'a, 'b> {
    fields: RawFields<'a>,
    /// One element more than this is kept of a list, for the message about it.
    most: usize,
    budget: &'b Budget<'b>,
}

impl<'de> Visitor<'de> for FieldScan<'de, '_> {
    type Value = RawFields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let Self { mut fields, most, budget } = self;
        while let Some(name) = map.next_key::<String>()? {
            let Some(place) = position(fields.table, &name) else {
                map.next_value::<IgnoredAny>()?;
                fields.add_unknown(&name);
                continue;
            };
            let value = match fields.table[place].1 {
                FieldContent::Many(content) => map.next_value_seed(ListScan { content, most, budget })?,
                FieldContent::One(content) => match map.next_value::<&RawValue>()? {
                    raw if raw.get() == "null" => RawField::Null,
                    raw => RawField::Value(content, raw),
                },
            };
            fields.add(place, value);
        }
        Ok(fields)
    }
}

/// Splits a list into its elements.
struct ListScan<'b> {
    content: ListContent,
    most: usize,
    budget: &'b Budget<'b>,
}

impl<'de> DeserializeSeed<'de> for ListScan<'_> {
    type Value = RawField<'de>;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Self::Value, D::Error> {
        d.deserialize_any(self)
    }
}

macro_rules! no_lists {
    ($($method:ident($ty:ty) $unexpected:ident;)*) => {
        $(fn $method<E: Error>(self, value: $ty) -> Result<Self::Value, E> {
            Ok(not_a_list(Unexpected::$unexpected(value.into())))
        })*
    };
}

impl<'de> Visitor<'de> for ListScan<'_> {
    type Value = RawField<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut all = Vec::new();
        while let Some(element) = list.next_element::<&'de RawValue>()? {
            if all.len() <= self.most {
                self.budget.pay::<&RawValue, A::Error>(2)?;
                all.push(element);
            }
        }
        Ok(RawField::List(self.content, all))
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(RawField::Null)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(not_a_list(Unexpected::Map))
    }

    no_lists! {
        visit_bool(bool) Bool; visit_i64(i64) Signed; visit_u64(u64) Unsigned; visit_f64(f64) Float;
        visit_str(&str) Str;
    }
}

fn not_a_list<'de>(found: Unexpected<'_>) -> RawField<'de> {
    RawField::NotAList(message(&serde_json::Error::invalid_type(found, &"a list")))
}
