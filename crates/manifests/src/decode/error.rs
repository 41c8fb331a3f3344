//! Errors that end the reading of an input.

use std::io;

use roster_engine::model::Interrupted;

use super::position::Position;

/// Why reading ended early. The objects before the error stay in the inventory.
#[derive(Debug, thiserror::Error)]
#[error("{input}:{line}:{column}: {reason}")]
pub struct DecodeError {
    /// Name of the input.
    pub input: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in bytes, from 1.
    pub column: usize,
    /// What is wrong there.
    #[source]
    pub reason: DecodeReason,
}

/// What is wrong with the input as a whole.
#[derive(Debug, thiserror::Error)]
pub enum DecodeReason {
    /// Reading failed, or the gzip data is damaged.
    #[error("cannot read: {0}")]
    Io(#[from] io::Error),
    /// The input is not JSON.
    #[error("not JSON: {0}")]
    Json(String),
    /// The input is not YAML.
    #[error("not YAML: {0}")]
    Yaml(String),
    /// The decompressed input is too large.
    #[error("more than {0} bytes after decompression")]
    TooLarge(u64),
    /// One object is too large.
    #[error("one object has more than {0} bytes")]
    ObjectTooLarge(usize),
    /// There are too many objects.
    #[error("more than {0} objects")]
    TooManyObjects(usize),
    /// There are too many YAML documents.
    #[error("more than {0} documents")]
    TooManyDocuments(usize),
    /// The objects take too much memory.
    #[error("the objects take more than {0} bytes of memory")]
    TooMuchMemory(usize),
    /// Other inputs take the memory that all have in common.
    #[error("other requests take all memory")]
    NoMemory,
    /// Nobody waits for the objects any more.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

impl Position {
    /// An error at this place.
    pub(super) fn error(self, input: &str, reason: DecodeReason) -> DecodeError {
        DecodeError { input: input.to_owned(), line: self.line, column: self.column, reason }
    }
}

/// The cause of an [`io::Error`] for an input over its limit.
#[derive(Debug, thiserror::Error)]
#[error("more than {0} bytes after decompression")]
pub(super) struct OverLimit(pub(super) u64);

/// The cause of an [`io::Error`] for text that is not YAML.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(super) struct YamlError {
    pub(super) at: Position,
    pub(super) message: String,
}

/// The error of a reader: its cause may be a limit, invalid YAML, or that nobody waits any more.
pub(super) fn read_error(error: io::Error, at: Position, input: &str) -> DecodeError {
    let inner = error.get_ref();
    if let Some(OverLimit(limit)) = inner.and_then(|e| e.downcast_ref()) {
        return at.error(input, DecodeReason::TooLarge(*limit));
    }
    if let Some(YamlError { at, message }) = inner.and_then(|e| e.downcast_ref()) {
        return at.error(input, DecodeReason::Yaml(message.clone()));
    }
    if let Some(interrupted) = inner.and_then(|e| e.downcast_ref::<Interrupted>()) {
        return at.error(input, DecodeReason::Interrupted(*interrupted));
    }
    at.error(input, DecodeReason::Io(error))
}
