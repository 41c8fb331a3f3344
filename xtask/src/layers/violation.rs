//! A violation: where it is, and what is wrong there.

use std::fmt;

/// Sorts by file and line.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Violation {
    pub file: String,
    pub line: usize,
    pub text: String,
    /// The arrows of a circle.
    pub arrows: Vec<String>,
}

impl Violation {
    pub(super) fn new(file: &str, line: usize, text: String) -> Self {
        Self { file: file.to_owned(), line, text, arrows: Vec::new() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.text)?;
        self.arrows.iter().try_for_each(|arrow| write!(f, "\n    {arrow}"))
    }
}
