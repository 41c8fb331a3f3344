//! Tables for people: columns two spaces apart, as `kubectl` prints them.
//!
//! On a terminal, cells wrap so that lines fit, and the columns that do not fit stand below the others. Elsewhere a row is one
//! line, for `grep` and `awk`.

use std::{
    borrow::Cow,
    io::{self, Write},
};

use anstyle::Style;
use roster_engine::reason::Severity;

use super::{
    column_layout::ColumnLayout,
    output::Output,
    printable::printable,
    style::{BOLD, DIM, RED, YELLOW},
};

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

    /// Writes the table for a screen of this width; without a width, each row is one line.
    pub(super) fn print_to(&self, out: &mut dyn Write, indent: usize, width: Option<usize>) -> io::Result<()> {
        write_rows(out, &self.heading, self.rows.iter().map(<[Cell; N]>::as_slice), indent, width)
    }
}

/// How many of the columns stand beside each other on a screen of this width: at least `least`, the first ones.
pub(super) fn columns_that_fit(heading: &[&str], rows: &[Vec<Cell>], least: usize, width: Option<usize>) -> usize {
    let fits = |columns: &usize| {
        let texts = rows.iter().map(|row| row[..*columns].iter().map(|cell| cell.text.as_str()).collect());
        let all: Vec<Vec<&str>> = texts.chain([heading[..*columns].to_vec()]).collect();
        ColumnLayout::of(all.iter().map(|row| row.iter().copied()), 0, width).is_one_line()
    };
    (least..=heading.len()).rev().find(fits).unwrap_or(least)
}

/// Writes a heading and rows with as many cells, for tables whose columns depend on the input.
pub(super) fn write_rows<'a>(
    out: &mut dyn Write,
    heading: &[&str],
    rows: impl Iterator<Item = &'a [Cell]> + Clone,
    indent: usize,
    width: Option<usize>,
) -> io::Result<()> {
    let texts: Vec<Vec<Cow<'_, str>>> =
        rows.clone().map(|row| row.iter().map(|cell| printable(&cell.text)).collect()).collect();
    let texts: Vec<Vec<&str>> = texts.iter().map(|row| row.iter().map(AsRef::as_ref).collect()).collect();
    let all = texts.iter().map(Vec::as_slice).chain([heading]);
    let layout = ColumnLayout::of(all.map(|row| row.iter().copied()), indent, width);
    layout.write_row(out, heading, &vec![BOLD; heading.len()])?;
    for (texts, row) in texts.iter().zip(rows) {
        let styles: Vec<Style> = row.iter().map(|cell| cell.style).collect();
        layout.write_row(out, texts, &styles)?;
    }
    Ok(())
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
    fn the_last_column_wraps_first() {
        let mut table = Table::new(["A", "B", "C"]);
        table.push(["a".into(), "b".into(), "one two three four five six seven eight".into()]);
        let want = "A  B  C\na  b  one two three four five\n      six seven eight\n";
        assert_eq!(print(&table, Some(32)), want);
    }

    #[test]
    fn as_many_columns_are_shown_as_fit() {
        let row = ["node-1, node-2".into(), "0".into(), "1".into()].to_vec();
        let heading = ["NODES", "shop/checkout", "shop/web"];
        for (width, want) in [(None, 3), (Some(34), 3), (Some(33), 3), (Some(32), 3), (Some(31), 2), (Some(9), 1)] {
            assert_eq!(columns_that_fit(&heading, std::slice::from_ref(&row), 1, width), want, "{width:?}");
        }
    }

    #[test]
    fn columns_wrap_and_stand_below_others_if_they_must() {
        let mut table = Table::new(["SERVICE", "PODS", "DETAIL"]);
        table.push(["shop/web".into(), "web-lr6nq65xss-7jjqk, web-mg4zj".into(), "no container has the port".into()]);
        for (width, want) in [
            (
                60,
                "\
SERVICE   PODS                             DETAIL
shop/web  web-lr6nq65xss-7jjqk, web-mg4zj  no container has
                                           the port
",
            ),
            (
                40,
                "\
SERVICE   PODS
    DETAIL
shop/web  web-lr6nq65xss-7jjqk,
          web-mg4zj
    no container has the port
",
            ),
        ] {
            assert_eq!(print(&table, Some(width)), want, "{width}");
        }
    }
}
