//! An object as raw JSON, with the places of its fields.

use std::{borrow::Cow, ops::Range, sync::OnceLock};

use roster_engine::model::json::{
    pointer::Pointer,
    raw::{JsonMembers, ObjectIdentity},
};
use serde_json::value::RawValue;

use super::{error::Position, field_places, hidden_objects, key_scan, repeated_keys};
use crate::decode::single_keys::SingleKeys;

/// What is known of the keys of a document.
#[derive(Clone, Debug)]
pub(super) enum DocumentKeys {
    /// Repeated ones may be among them.
    Any,
    /// None of them is repeated.
    Single,
    /// Some were repeated. The text of the document is without what these replace.
    MadeSingle(Box<SingleKeys>),
}

/// An object and its line.
#[derive(Clone, Debug)]
pub struct Document<'a> {
    /// The object.
    pub raw: Cow<'a, RawValue>,
    identity: OnceLock<ObjectIdentity>,
    /// Its line, from 1.
    pub line: usize,
    pub(super) at: Position,
    /// The bytes that it takes in the text of all objects, without a type from its list.
    pub(super) span: Range<usize>,
    /// Whether its text has the lines of the input.
    has_lines: bool,
    /// How many bytes the type from its list takes, which follows the first one of its text.
    pub(super) added: usize,
    /// Whether it is a document of YAML in block style, and not a part of one.
    pub(super) is_block: bool,
    /// What is known of its keys.
    pub(super) keys: DocumentKeys,
    /// The texts of the objects that it hides, because `---` is missing between them.
    pub(super) hidden: Vec<String>,
}

impl<'a> Document<'a> {
    /// An object that is a slice of `text`.
    pub fn within(text: &str, raw: &'a RawValue) -> Self {
        let start = (raw.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
        let at = Position::START.after(text.as_bytes().get(..start).unwrap_or_default());
        Self::placed(Cow::Borrowed(raw), at, Some(0))
    }

    /// An object at its place. `added` is how many bytes the type from its list takes; `None` if its text does not have the
    /// lines of the input.
    pub(super) fn placed(raw: Cow<'a, RawValue>, at: Position, added: Option<usize>) -> Self {
        Self {
            raw,
            identity: OnceLock::new(),
            line: at.line,
            at,
            span: 0..0,
            has_lines: added.is_some(),
            added: added.unwrap_or_default(),
            is_block: false,
            keys: DocumentKeys::Any,
            hidden: Vec::new(),
        }
    }

    /// What the object calls itself. To read it takes a pass over the object, and each document takes only one.
    pub fn identity(&self) -> &ObjectIdentity {
        self.identity.get_or_init(|| ObjectIdentity::of(&self.raw))
    }

    /// Whether keys may be repeated, as far as is known.
    pub fn may_repeat_keys(&self) -> bool {
        matches!(self.keys, DocumentKeys::Any)
    }

    /// Opens the object. What it calls itself is read in the same pass.
    ///
    /// # Errors
    ///
    /// It is not a JSON object.
    pub fn open(&self) -> serde_json::Result<JsonMembers<'_>> {
        let members = JsonMembers::read(&self.raw)?;
        self.identity.get_or_init(|| ObjectIdentity::of_members(&members));
        Ok(members)
    }

    /// The same object after [`make_keys_single`](Self::make_keys_single).
    #[must_use]
    pub fn with_single_keys(mut self) -> Self {
        self.make_keys_single();
        self
    }

    /// Drops what later keys of the same name replace. [`objects`](super::objects()) reports these keys. A recorded review stays
    /// as it is: nobody has written it.
    pub fn make_keys_single(&mut self) {
        if !key_scan::may_repeat(self.raw.get()) {
            self.keys = DocumentKeys::Single;
            return;
        }
        let Some(single) = SingleKeys::search(self.raw.get()) else { return };
        if self.identity().key.kind == "AdmissionReview" {
            return;
        }
        let Ok(owned) = RawValue::from_string(single.text.clone()) else { return };
        if repeated_keys::is_mixture(&single, Pointer::At(""), self.is_block) {
            self.hidden = hidden_objects::within(self.raw.get());
        }
        self.raw = Cow::Owned(owned);
        self.identity = OnceLock::new();
        self.keys = DocumentKeys::MadeSingle(Box::new(single));
    }

    /// The line, from 1, of a field path (`spec.ports[0].name`) or a JSON pointer. For a missing field, the line of the
    /// object that should contain it.
    pub fn line_of(&self, field: &str) -> usize {
        self.lines_of(&[field]).first().copied().unwrap_or(self.line)
    }

    /// The lines of several fields, as of [`line_of`](Self::line_of), in one pass over the object.
    pub fn lines_of(&self, fields: &[&str]) -> Vec<usize> {
        self.positions_of(fields).into_iter().map(|at| at.line).collect()
    }

    /// The lines of several fields; and their columns, from 1, if the whole object is on one line.
    pub fn places_of(&self, fields: &[&str]) -> Vec<(usize, Option<usize>)> {
        if fields.is_empty() {
            return Vec::new();
        }
        let on_one_line = !self.raw.get().contains('\n');
        self.positions_of(fields).into_iter().map(|at| (at.line, on_one_line.then_some(at.column))).collect()
    }

    fn positions_of(&self, fields: &[&str]) -> Vec<Position> {
        let mut positions = vec![self.at; fields.len()];
        if !self.has_lines {
            return positions;
        }
        let offsets = field_places::offsets(&self.raw, fields);
        let mut in_order: Vec<usize> = (0..fields.len()).collect();
        in_order.sort_unstable_by_key(|field| offsets[*field]);
        // What was added has no place: it is at the object, as a field that is missing.
        let (mut at, mut seen) = (self.at, self.added);
        for field in in_order {
            let offset = offsets[field].max(self.added);
            at = at.after(self.raw.get().as_bytes().get(seen..offset).unwrap_or_default());
            seen = offset;
            positions[field] = at;
        }
        positions
    }
}

#[cfg(test)]
mod tests {
    use crate::decode::{Source, documents, whole_text};

    #[test]
    fn fields_are_found_in_their_lines() {
        let yaml = "\
# a comment
kind: A
metadata:
  labels:
    a.b/c: x
spec:
  ports:
  - port: 1
  -
    port: 2
";
        let source = Source::file("f");
        let json = whole_text::text(yaml.as_bytes(), &source).unwrap();
        let document = documents(&json, &source).unwrap().remove(0);
        for (field, want) in [
            ("", 2),
            ("metadata.labels[a.b/c]", 5),
            ("metadata.labels[\"a.b/c\"]", 5),
            ("/metadata/labels/a.b~1c", 5),
            ("spec.ports[1].port", 10),
            ("spec.ports[1].name", 10),
            ("spec.ports[7]", 8),
            ("kind.x", 2),
            ("/spec/ports/0/port", 8),
            ("[", 2),
            ("nothing", 2),
        ] {
            assert_eq!(document.line_of(field), want, "{field}");
        }
    }
}
