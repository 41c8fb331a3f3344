//! Input that cannot be read on.

use std::io;

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
}
