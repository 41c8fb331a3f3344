//! The second pass over a value that cannot be read: what it reads, where that is, and what is wrong with it.

use std::cell::RefCell;

use roster_engine::model::json::{message::message, pointer::Pointer};
use roster_engine::reason::Reason;
use serde_json::{error::Category, value::RawValue};

/// A field that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FieldFault {
    pub(super) reason: Reason,
    /// JSON pointer to the field.
    pub(super) pointer: String,
    /// Offset of the field in the text.
    pub(super) offset: usize,
    pub(super) why: String,
}

/// Most repeated keys of one value that are reported.
const MAX_REPEATED: usize = 20;

/// The faults that the second pass finds.
pub(super) struct PassFaults<'de> {
    whole: &'de str,
    pub(super) repeated: RefCell<Vec<FieldFault>>,
    /// The first error, which is the innermost one.
    pub(super) blamed: RefCell<Option<(Category, FieldFault)>>,
}

impl<'de> PassFaults<'de> {
    pub(super) fn new(whole: &'de str) -> Self {
        Self { whole, repeated: RefCell::default(), blamed: RefCell::default() }
    }

    fn offset(&self, part: &str) -> usize {
        // The parser returns slices of the text: the difference of the addresses is the offset.
        (part.as_ptr() as usize).saturating_sub(self.whole.as_ptr() as usize)
    }

    pub(super) fn blame(&self, error: &serde_json::Error, part: &PassPart<'de, '_>) {
        let mut blamed = self.blamed.borrow_mut();
        if blamed.is_none() {
            let start = self.offset(part.text);
            let offset = if error.is_data() { start } else { start + offset_of(error, part.text) };
            let fault =
                FieldFault { reason: Reason::InvalidObject, pointer: part.at.to_string(), offset, why: message(error) };
            *blamed = Some((error.classify(), fault));
        }
    }

    pub(super) fn note_repeated(&self, at: Pointer<'_>, name: &str, key: &RawValue) {
        let mut repeated = self.repeated.borrow_mut();
        if repeated.len() < MAX_REPEATED {
            repeated.push(FieldFault {
                reason: Reason::DuplicateKey,
                pointer: Pointer::Key(&at, name).to_string(),
                offset: self.offset(key.get()),
                why: format!("the key {name} is repeated; the last one counts"),
            });
        }
    }

    pub(super) fn broken(self, error: &serde_json::Error) -> FieldFault {
        let fault = self.blamed.into_inner().map(|(_, fault)| fault);
        fault.unwrap_or_else(|| FieldFault {
            reason: Reason::InvalidObject,
            pointer: String::new(),
            offset: 0,
            why: message(error),
        })
    }
}

/// The offset in `text` of an error of the parser.
pub(super) fn offset_of(error: &serde_json::Error, text: &str) -> usize {
    let line = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum::<usize>();
    (line + error.column().saturating_sub(1)).min(text.len())
}

/// A value in the second pass.
#[derive(Clone, Copy)]
pub(super) struct PassPart<'de, 'n> {
    pub(super) text: &'de str,
    pub(super) at: Pointer<'n>,
    pub(super) faults_found: &'n PassFaults<'de>,
}

impl<'de> PassPart<'de, '_> {
    /// A value within this one.
    pub(super) fn child<'c>(&self, at: Pointer<'c>, value: &'de RawValue) -> PassPart<'de, 'c>
    where
        Self: 'c,
    {
        PassPart { text: value.get(), at, faults_found: self.faults_found }
    }
}
