//! Input that cannot be read on.

use std::io;

use super::{input::OverLimit, position::Position, yaml::YamlError};

/// Why reading ended early. What was read before stays in the inventory.
#[derive(Debug, thiserror::Error)]
#[error("{input}:{line}:{column}: {reason}")]
pub struct DecodeError {
    /// Name of the input: a file, or what stands for it.
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
    /// Reading failed; also damaged gzip data.
    #[error("cannot read: {0}")]
    Io(#[from] io::Error),
    /// It is no JSON.
    #[error("not JSON: {0}")]
    Json(String),
    /// It is no YAML.
    #[error("not YAML: {0}")]
    Yaml(String),
    /// It unpacks to more than is allowed.
    #[error("more than {0} bytes after decompression")]
    TooLarge(u64),
    /// One object is larger than is allowed.
    #[error("one object has more than {0} bytes")]
    ObjectTooLarge(usize),
    /// There are more objects than are allowed.
    #[error("more than {0} objects")]
    TooManyObjects(usize),
    /// They would take more memory than is allowed.
    #[error("the objects take more than {0} bytes of memory")]
    TooMuchMemory(usize),
}

/// What a reader's error means: it may stand for a limit, or for bad YAML.
pub(super) fn read_error(error: io::Error, at: Position, input: &str) -> DecodeError {
    let inner = error.get_ref();
    if let Some(OverLimit(limit)) = inner.and_then(|e| e.downcast_ref()) {
        return at.error(input, DecodeReason::TooLarge(*limit));
    }
    if let Some(YamlError { at, message }) = inner.and_then(|e| e.downcast_ref()) {
        return at.error(input, DecodeReason::Yaml(message.clone()));
    }
    at.error(input, DecodeReason::Io(error))
}
