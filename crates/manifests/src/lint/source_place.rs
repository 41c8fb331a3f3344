//! Where something that was rendered is written.

use std::fmt;

/// A place in a file that a renderer has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourcePlace<'a> {
    /// The file.
    pub file: &'a str,
    /// The line, from 1, if it is known.
    pub line: Option<usize>,
    /// The column, from 1, if the whole object is on this line.
    pub column: Option<usize>,
}

impl fmt::Display for SourcePlace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.file)?;
        [self.line, self.column].into_iter().map_while(|number| number).try_for_each(|number| write!(f, ":{number}"))
    }
}
