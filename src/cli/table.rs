//! Tables for people: columns two spaces apart, as `kubectl` prints them.
//!
//! On a terminal the last column wraps at the terminal's width. Elsewhere a row is one line, for `grep` and `awk`.

use std::{
    borrow::Cow,
    io::{self, Write},
};

use anstyle::Style;

use super::{
    output::Output,
    printable::printable,
    style::{BOLD, DIM, RED, YELLOW},
};
use crate::engine::reason::Severity;

/// One cell of a row: text and its style.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    /// A cell in a style.
    pub(super) fn styled(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style }
    }

    /// A severity in its colour.
    pub(super) fn severity(severity: Severity) -> Self {
        match severity {
            Severity::Error => Self::styled("error", RED),
            Severity::Warning => Self::styled("warning", YELLOW),
            Severity::Info => Self::styled("info", DIM),
        }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::styled(text, Style::new())
    }
}

/// Spaces between two columns.
const GAP: usize = 2;
/// The least width of the last column.
const NARROWEST: usize = 24;

/// A table: a heading, and rows with as many cells.
#[derive(Clone, Debug)]
pub(super) struct Table<'a, const N: usize> {
    heading: [&'a str; N],
    rows: Vec<[Cell; N]>,
}

impl<'a, const N: usize> Table<'a, N> {
    /// A table without rows.
    pub(super) fn new(heading: [&'a str; N]) -> Self {
        Self { heading, rows: Vec::new() }
    }

    /// Adds a row.
    pub(super) fn push(&mut self, row: [Cell; N]) {
        self.rows.push(row);
    }

    /// Whether there are no rows.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Prints the table, indented, as wide as the terminal.
    pub(super) fn print(&self, out: &mut Output, indent: usize) -> io::Result<()> {
        let width = out.width();
        self.print_to(out, indent, width)
    }

    /// Prints the table to standard error.
    pub(super) fn print_to_stderr(&self) -> io::Result<()> {
        self.print_to(&mut anstream::stderr(), 0, None)
    }

    fn print_to(&self, out: &mut dyn Write, indent: usize, width: Option<usize>) -> io::Result<()> {
        let mut widths = self.heading.map(columns);
        let rows: Vec<[Cow<'_, str>; N]> =
            self.rows.iter().map(|row| std::array::from_fn(|i| printable(&row[i].text))).collect();
        for row in &rows {
            for (width, text) in widths.iter_mut().zip(row) {
                *width = (*width).max(columns(text));
            }
        }
        let before = indent + widths[..N - 1].iter().map(|w| w + GAP).sum::<usize>();
        let last = width.map_or(usize::MAX, |w| w.saturating_sub(before).max(NARROWEST));
        let layout = TableLayout { indent, widths, before, last };
        layout.line(out, &self.heading.map(Cow::Borrowed), &[BOLD; N])?;
        for (texts, row) in rows.iter().zip(&self.rows) {
            layout.line(out, texts, &std::array::from_fn(|i| row[i].style))?;
        }
        Ok(())
    }
}

/// The positions and widths of a table's columns.
struct TableLayout<const N: usize> {
    indent: usize,
    widths: [usize; N],
    /// Where the last column begins.
    before: usize,
    /// The width at which the last column wraps.
    last: usize,
}

impl<const N: usize> TableLayout<N> {
    fn line(&self, out: &mut dyn Write, texts: &[Cow<'_, str>; N], styles: &[Style; N]) -> io::Result<()> {
        write!(out, "{:indent$}", "", indent = self.indent)?;
        // No spaces at the end of a line: empty cells at the end are left out.
        let filled = texts.iter().rposition(|t| !t.is_empty()).unwrap_or(0);
        for (i, (text, style)) in texts.iter().zip(styles).enumerate().take(filled + 1) {
            if i + 1 < N {
                write!(out, "{style}{text}{style:#}")?;
                if i < filled {
                    write!(out, "{:pad$}", "", pad = self.widths[i] - columns(text) + GAP)?;
                }
                continue;
            }
            for (n, part) in wrap(text, self.last).into_iter().enumerate() {
                if n > 0 {
                    write!(out, "\n{:before$}", "", before = self.before)?;
                }
                write!(out, "{style}{part}{style:#}")?;
            }
        }
        writeln!(out)
    }
}

/// How many columns a text takes. Names in Kubernetes are ASCII; a wide character elsewhere may shift its row.
fn columns(text: &str) -> usize {
    text.chars().count()
}

/// Breaks a text at spaces into parts of at most `width` columns; a longer word stays whole.
fn wrap(text: &str, width: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while columns(rest) > width {
        let limit = rest.char_indices().nth(width + 1).map_or(rest.len(), |(i, _)| i);
        let Some(at) = rest[..limit].rfind(' ').or_else(|| rest.find(' ')) else { break };
        parts.push(&rest[..at]);
        rest = &rest[at + 1..];
    }
    parts.push(rest);
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cli::printable::{assert_shown, tricky};

    proptest! {
        #[test]
        fn cells_cannot_break_their_row(a in tricky(), b in tricky(), c in tricky()) {
            let mut table = Table::new(["A", "B", "C"]);
            table.push([a.into(), b.into(), c.into()]);
            let printed = print(&table, None);
            assert_shown(&printed);
            prop_assert_eq!(printed.matches('\n').count(), 2);
        }
    }

    fn print(table: &Table<'_, 3>, width: Option<usize>) -> String {
        let mut out = Vec::new();
        table.print_to(&mut out, 0, width).unwrap();
        anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string()
    }

    #[test]
    fn columns_line_up_and_lines_have_no_trailing_space() {
        let mut table = Table::new(["NAME", "KIND", "DETAIL"]);
        table.push(["a".into(), "Service".into(), "x y".into()]);
        table.push(["longer".into(), "".into(), "".into()]);
        assert_eq!(print(&table, None), "NAME    KIND     DETAIL\na       Service  x y\nlonger\n");
    }

    #[test]
    fn only_the_last_column_is_wrapped() {
        let mut table = Table::new(["A", "B", "C"]);
        table.push(["a".into(), "b".into(), "one two three four five six seven eight".into()]);
        let want = "A  B  C\na  b  one two three four five\n      six seven eight\n";
        assert_eq!(print(&table, Some(32)), want);
    }

    #[test]
    fn a_long_word_stays_whole() {
        assert_eq!(wrap("aaaaaaaaaa bb", 4), ["aaaaaaaaaa", "bb"]);
        assert_eq!(wrap("", 4), [""]);
        assert_eq!(wrap("ä ö ü", 3), ["ä ö", "ü"]);
    }
}
