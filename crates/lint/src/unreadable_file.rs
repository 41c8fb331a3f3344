//! Files, and documents of them, that are not checked or cannot be read.

use std::{fmt, sync::Arc};

use roster_manifests::{
    decode::{DecodeError, DecodeReason, Document},
    lint::Skip,
};

use crate::input_room::MAX_OBJECT_BYTES;

/// A file, or a document of it, that is not checked.
#[derive(Clone, Debug)]
pub struct SkippedFile {
    /// The file.
    pub file: Arc<str>,
    /// The line of the document; `None` for a whole file.
    pub line: Option<usize>,
    /// What it is.
    pub why: Skip,
}

impl SkippedFile {
    pub(crate) fn whole(file: &str, why: Skip) -> Self {
        Self { file: file.into(), line: None, why }
    }

    /// The file, with the line of the document.
    pub fn place(&self) -> String {
        match self.line {
            Some(line) => format!("{}:{line}", self.file),
            None => self.file.to_string(),
        }
    }
}

/// A file, or a document of it, that cannot be read.
#[derive(Debug)]
pub struct UnreadableFile<'a> {
    /// The file.
    pub file: &'a str,
    /// Where and why.
    pub place: UnreadablePlace,
}

impl UnreadableFile<'_> {
    /// The file, with the line and the column where reading ends.
    pub fn place(&self) -> String {
        match self.place.column {
            Some(column) => format!("{}:{}:{column}", self.file, self.place.line),
            None => self.file.to_owned(),
        }
    }
}

impl fmt::Display for UnreadableFile<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place(), self.place.why)
    }
}

/// Where a file or a document of it cannot be read any further, and why.
#[derive(Clone, Debug)]
pub struct UnreadablePlace {
    /// The line, from 1.
    pub line: usize,
    /// `None` if nothing of the file can be read.
    pub column: Option<usize>,
    /// Why.
    pub why: String,
    /// The text, if it is known.
    pub(crate) text: Option<Arc<str>>,
}

impl UnreadablePlace {
    pub(crate) fn whole(why: String) -> Self {
        Self { line: 1, column: None, why, text: None }
    }

    pub(crate) fn of(error: &DecodeError) -> Self {
        let why = match &error.reason {
            reason @ (DecodeReason::TooManyObjects(_) | DecodeReason::TooManyDocuments(_)) => {
                format!("not checked from here on: {reason}")
            }
            reason => reason.to_string(),
        };
        Self { line: error.line, column: Some(error.column), why, text: None }
    }

    /// An object that is too large.
    pub(crate) fn too_large(document: &Document<'_>) -> Self {
        Self::not_checked(document, &format!("the object has more than {} MiB", MAX_OBJECT_BYTES >> 20))
    }

    /// An object that is not looked at.
    pub(crate) fn not_checked(document: &Document<'_>, why: &str) -> Self {
        Self { line: document.line, column: Some(1), why: format!("not checked: {why}"), text: None }
    }
}
