//! Positions in a text.

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
