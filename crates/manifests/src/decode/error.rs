//! Positions in a text, and the errors that end the reading of an input.

use std::io;

use roster_engine::model::Interrupted;

/// Line and column, both from 1; columns count bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) line: usize,
    pub(super) column: usize,
}

impl Position {
    pub(super) const START: Self = Self { line: 1, column: 1 };

    /// The position after `text`, which begins here.
    pub(super) fn after(self, text: &[u8]) -> Self {
        match memchr::memrchr(b'\n', text) {
            None => Self { column: self.column + text.len(), ..self },
            Some(last) => {
                Self { line: self.line + memchr::memchr_iter(b'\n', text).count(), column: text.len() - last }
            }
        }
    }

    /// The position of `line` and `column` in a text that begins here.
    pub(super) fn within(self, line: usize, column: usize) -> Self {
        match line {
            0 | 1 => Self { column: self.column + column.saturating_sub(1), ..self },
            _ => Self { line: self.line + line - 1, column: column.max(1) },
        }
    }

    /// The position of an error of `serde_json` in a text that begins here.
    pub(super) fn of(self, error: &serde_json::Error) -> Self {
        self.within(error.line(), error.column())
    }

    /// An error at this place.
    pub(super) fn error(self, input: &str, reason: DecodeReason) -> DecodeError {
        DecodeError { input: input.to_owned(), line: self.line, column: self.column, reason }
    }
}

/// Why reading ended early. The objects before the error stay in the inventory.
#[derive(Debug, thiserror::Error)]
#[error("{}{reason}", self.place())]
pub struct DecodeError {
    /// Name of the input; empty for several inputs together.
    pub input: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in bytes, from 1.
    pub column: usize,
    /// What is wrong there.
    #[source]
    pub reason: DecodeReason,
}

impl DecodeError {
    /// The beginning of its message.
    fn place(&self) -> String {
        let Self { input, line, column, .. } = self;
        if input.is_empty() { String::new() } else { format!("{input}:{line}:{column}: ") }
    }
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
    /// The text is YAML and longer than that may be.
    #[error("more than {0} bytes of YAML; JSON (`kubectl get … -o json`) may be longer")]
    TooMuchYaml(usize),
    /// One object is too large.
    #[error("one object has more than {0} bytes")]
    ObjectTooLarge(usize),
    /// There are too many objects.
    #[error("more than {0} objects")]
    TooManyObjects(usize),
    /// There are too many YAML documents.
    #[error("more than {0} documents")]
    TooManyDocuments(usize),
    /// There are too many policies.
    #[error("more than {0} EndpointPolicies: each is asked about each object")]
    TooManyPolicies(usize),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_add_up() {
        let at = |line, column| Position { line, column };
        assert_eq!(Position::START.after(b"abc"), at(1, 4));
        assert_eq!(at(3, 5).after(b"abc\nd\nef"), at(5, 3));
        assert_eq!(at(3, 5).within(1, 4), at(3, 8));
        assert_eq!(at(3, 5).within(2, 4), at(4, 4));
    }
}
