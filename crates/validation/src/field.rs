//! A value of an object with its place in it, and tables of what its fields may be.

use roster_engine::{
    model::{dns, json::pointer::Pointer, wide_nano_value},
    reason::Reason,
};
use serde::Deserialize;
use serde_json::Value;

use super::{
    faults::{Faults, quoted},
    name_form::NameForm,
    values::{not_one_of, not_qualified},
};

/// A value and its place. A value of another type than the reader expects counts as missing: the schema reports it.
#[derive(Clone, Copy)]
pub(super) struct Field<'v, 'p> {
    value: &'v Value,
    pub(super) at: Pointer<'p>,
}

impl<'v, 'p> Field<'v, 'p> {
    pub(super) fn new(value: &'v Value, at: Pointer<'p>) -> Self {
        Self { value, at }
    }

    /// A field of this object.
    pub(super) fn key<'c>(&'c self, name: &'c str) -> Field<'v, 'c> {
        Field { value: self.value.get(name).unwrap_or(&Value::Null), at: Pointer::Key(&self.at, name) }
    }

    /// The elements of this list.
    pub(super) fn items<'c>(&'c self) -> impl Iterator<Item = Field<'v, 'c>> {
        let elements = self.value.as_array().map(Vec::as_slice).unwrap_or_default();
        elements.iter().enumerate().map(|(i, value)| Field { value, at: Pointer::Index(&self.at, i) })
    }

    /// The fields of this object, whatever their names.
    pub(super) fn entries<'c>(&'c self) -> impl Iterator<Item = (&'v str, Field<'v, 'c>)>
    where
        'v: 'c,
    {
        let fields = self.value.as_object().into_iter().flatten();
        fields.map(|(name, value)| (name.as_str(), Field { value, at: Pointer::Key(&self.at, name) }))
    }

    /// The number of elements of this list.
    pub(super) fn len(&self) -> usize {
        self.value.as_array().map_or(0, Vec::len)
    }

    /// Whether it is missing or null, or an empty list or object.
    pub(super) fn is_empty(&self) -> bool {
        self.value.is_null()
            || self.value.as_array().is_some_and(Vec::is_empty)
            || self.value.as_object().is_some_and(serde_json::Map::is_empty)
    }

    /// Whether it is neither missing nor null.
    pub(super) fn is_set(&self) -> bool {
        !self.value.is_null()
    }

    pub(super) fn is_true(&self) -> bool {
        self.value.as_bool() == Some(true)
    }

    pub(super) fn is_false(&self) -> bool {
        self.value.as_bool() == Some(false)
    }

    /// The text, empty if it is missing.
    pub(super) fn text(&self) -> &'v str {
        self.value.as_str().unwrap_or_default()
    }

    /// The text, if it is one.
    pub(super) fn as_text(&self) -> Option<&'v str> {
        self.value.as_str()
    }

    /// The value of a quantity, in billionths. The schema reports what is not one.
    pub(super) fn quantity(&self) -> Option<i128> {
        wide_nano_value(&self.plain()).filter(|_| self.is_set())
    }

    pub(super) fn number(&self) -> Option<i64> {
        self.value.as_i64()
    }

    /// A number or a text in their plain form.
    pub(super) fn plain(&self) -> String {
        self.value.as_str().map_or_else(|| self.value.to_string(), str::to_owned)
    }

    /// The value as another type, or the default if it does not have this type.
    pub(super) fn read<T: Deserialize<'v> + Default>(&self) -> T {
        T::deserialize(self.value).unwrap_or_default()
    }

    /// Reports that the value is not allowed.
    pub(super) fn refuse(&self, message: impl Into<String>, faults: &mut Faults<'_>) {
        faults.add(Reason::InvalidValue, self.at, message);
    }

    /// Reports that the field is missing.
    pub(super) fn require(&self, message: impl Into<String>, faults: &mut Faults<'_>) {
        faults.add(Reason::MissingField, self.at, message);
    }

    /// Reports a list with more elements than `most`.
    pub(super) fn check_len(&self, most: usize, what: &str, faults: &mut Faults<'_>) {
        if self.len() > most {
            self.refuse(format!("it has {} {what}; {most} are allowed", self.len()), faults);
        }
    }
}

/// What a missing or empty text means.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    /// The field may be missing, and an empty text counts as missing.
    Optional,
    /// The field may be missing, and an empty text is a value.
    Nullable,
    /// The field must have a value.
    Required,
}

/// What a value may be.
#[derive(Clone, Copy)]
pub(super) enum FieldRule {
    /// Any text.
    Text,
    /// An RFC 1123 label.
    Label,
    /// An RFC 1123 subdomain.
    Subdomain,
    /// A name as keys of labels are.
    QualifiedName,
    /// A text that can be a step of a path: not `.`, `..`, and without `/` and `%`.
    PathSegment,
    /// One of a few words.
    OneOf(&'static [&'static str]),
    /// A number from the first to the last.
    Range(i64, i64),
}

/// A number that is 0 or more.
pub(super) const NOT_NEGATIVE: FieldRule = FieldRule::Range(0, i64::MAX);
pub(super) const PROTOCOLS: FieldRule = FieldRule::OneOf(&["TCP", "UDP", "SCTP"]);

/// Fields of an object: name, presence, and what the value may be.
pub(super) type FieldRules = [(&'static str, Presence, FieldRule)];

/// Reports the fields of `object` that break their rule.
pub(super) fn check_fields(object: &Field<'_, '_>, rules: &FieldRules, faults: &mut Faults<'_>) {
    for (name, presence, rule) in rules {
        rule.check(&object.key(name), *presence, faults);
    }
}

impl FieldRule {
    pub(super) fn check(self, field: &Field<'_, '_>, presence: Presence, faults: &mut Faults<'_>) {
        if let Self::Range(first, last) = self {
            if let Some(number) = field.number().filter(|n| !(first..=last).contains(n)) {
                field.refuse(out_of_range(number, first, last), faults);
            }
            return;
        }
        match field.as_text() {
            None | Some("") if presence == Presence::Required => field.require("it must not be empty", faults),
            None => {}
            Some("") if presence == Presence::Optional => {}
            Some(text) => {
                if let Some(why) = self.broken_by(text) {
                    field.refuse(format!("{} {why}", quoted(text)), faults);
                }
            }
        }
    }

    /// What is wrong with a text.
    fn broken_by(self, text: &str) -> Option<String> {
        match self {
            Self::Label if !dns::is_label(text.as_bytes()) => {
                Some("is not a DNS label: at most 63 lower case letters, digits and '-', without dots".to_owned())
            }
            Self::Subdomain if !dns::is_subdomain(text.as_bytes()) => {
                Some("is not a DNS subdomain: lower case letters, digits, '-' and '.'".to_owned())
            }
            Self::QualifiedName => not_qualified(text).map(|why| format!("is not a qualified name: {why}")),
            Self::PathSegment if !NameForm::Segment.holds(text) => {
                Some("is not a name: '.', '..', '/' and '%' are not allowed".to_owned())
            }
            Self::OneOf(words) if !words.contains(&text) => Some(not_one_of(text, words)),
            _ => None,
        }
    }
}

fn out_of_range(number: i64, first: i64, last: i64) -> String {
    match (first, last) {
        (0, i64::MAX) => format!("{number} is negative"),
        (first, i64::MAX) => format!("{number} is less than {first}"),
        (first, last) => format!("{number} is not from {first} to {last}"),
    }
}
