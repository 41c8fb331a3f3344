//! The layout of a table's columns: how wide each is, and how a row becomes lines.

use std::io::{self, Write};

use anstyle::Style;

/// Spaces between two columns.
const GAP: usize = 2;
/// The width of the last column from which it alone wraps: it holds sentences, the others hold names.
const SENTENCE: usize = 24;
/// The width to which the last column shrinks before names break.
const PHRASE: usize = 16;
/// The width to which columns shrink before they are all equal.
const LEAST: usize = 8;

/// The widest column to which others are padded: one long text must not lengthen every row.
const MOST_PADDED: usize = 512;

/// The widths of a table's columns.
#[derive(Debug)]
pub(super) struct ColumnLayout {
    indent: usize,
    widths: Vec<usize>,
}

impl ColumnLayout {
    /// The layout of `rows`, which all have as many texts, on a screen of this width; without a width, each row is one
    /// line.
    pub(super) fn of<'t, R>(rows: impl Iterator<Item = R> + Clone, indent: usize, screen: Option<usize>) -> Self
    where
        R: Iterator<Item = &'t str>,
    {
        let natural = widest(rows.clone(), |_, text| columns(text));
        let Some(screen) = screen else { return Self { indent, widths: natural } };
        let room = screen.saturating_sub(indent + natural.len().saturating_sub(1) * GAP);
        if natural.iter().sum::<usize>() <= room {
            return Self { indent, widths: natural };
        }
        let words = widest(rows.clone(), |_, text| longest(text.split(' ')));
        let mut widths = fit(&natural, &words, room);
        // Where cells wrap, they seldom fill their column: the last one gets what is left.
        let used = widest(rows, |column, text| longest(wrap(text, widths[column]).into_iter()));
        if let Some((last, names)) = widths.split_last_mut() {
            names.copy_from_slice(&used[..names.len()]);
            let left = room.saturating_sub(names.iter().sum());
            *last = left.max(*last).min(natural[natural.len() - 1]);
        }
        Self { indent, widths }
    }

    /// Writes one row: as many lines as its longest cell needs, without spaces at their ends.
    pub(super) fn write_row(&self, out: &mut dyn Write, texts: &[&str], styles: &[Style]) -> io::Result<()> {
        let cells: Vec<Vec<&str>> = texts.iter().zip(&self.widths).map(|(text, width)| wrap(text, *width)).collect();
        let lines = cells.iter().map(Vec::len).max().unwrap_or_default();
        for line in 0..lines {
            let part = |i: usize| cells[i].get(line).copied().unwrap_or_default();
            if let Some(filled) = (0..cells.len()).rposition(|i| !part(i).is_empty()) {
                write!(out, "{:indent$}", "", indent = self.indent)?;
                for (i, style) in styles.iter().enumerate().take(filled + 1) {
                    let text = part(i);
                    if !text.is_empty() {
                        write!(out, "{style}{text}{style:#}")?;
                    }
                    if i < filled {
                        let width = self.widths[i].min(MOST_PADDED);
                        write!(out, "{:pad$}", "", pad = width.saturating_sub(columns(text)) + GAP)?;
                    }
                }
            }
            writeln!(out)?;
        }
        Ok(())
    }
}

/// The largest measure of each column.
fn widest<'t, R>(rows: impl Iterator<Item = R>, measure: impl Fn(usize, &str) -> usize) -> Vec<usize>
where
    R: Iterator<Item = &'t str>,
{
    let mut widths = Vec::new();
    for row in rows {
        for (column, text) in row.enumerate() {
            if column == widths.len() {
                widths.push(0);
            }
            widths[column] = measure(column, text).max(widths[column]);
        }
    }
    widths
}

/// The columns of the longest text.
fn longest<'t>(texts: impl Iterator<Item = &'t str>) -> usize {
    texts.map(columns).max().unwrap_or_default()
}

/// The widths of columns that share `room`. The last one shrinks first; then all of them shrink, the widest first: down
/// to their longest words, in the last column if need be to less, else to [`LEAST`]. The first column, which says what a row
/// is about, keeps its words longest.
fn fit(natural: &[usize], words: &[usize], room: usize) -> Vec<usize> {
    let Some((last, names)) = natural.split_last() else { return Vec::new() };
    let left = room.checked_sub(names.iter().sum());
    if let Some(left) = left.filter(|left| *left >= SENTENCE.min(*last)) {
        return names.iter().copied().chain([left.min(*last)]).collect();
    }
    // Names stay whole, so that they can be copied, if sentences need not break into letters.
    let with_phrase = words[..names.len()].iter().copied().chain([PHRASE.min(*last)]).collect();
    let all = |least: usize| natural.iter().map(|n| least.min(*n)).collect::<Vec<usize>>();
    let with_first = || words[..1].iter().copied().chain(all(LEAST).into_iter().skip(1)).collect::<Vec<usize>>();
    let equal = (room / natural.len()).max(1);
    let choices = [words.to_vec(), with_phrase, with_first(), all(LEAST)];
    let fitting = choices.into_iter().find(|floors| floors.iter().sum::<usize>() <= room);
    let floors = fitting.unwrap_or_else(|| all(equal));
    let capped = |cap: usize| natural.iter().zip(&floors).map(move |(n, floor)| cap.max(*floor).min(*n));
    let widest = natural.iter().copied().max().unwrap_or_default();
    let cap = (0..=widest).rev().find(|cap| capped(*cap).sum::<usize>() <= room).unwrap_or_default();
    capped(cap).collect()
}

/// How many columns a text takes. Names in Kubernetes are ASCII; a wide character elsewhere may shift its row.
fn columns(text: &str) -> usize {
    text.chars().count()
}

/// Breaks a text into parts of at most `width` columns: at spaces; in a longer word after punctuation, else anywhere.
pub(super) fn wrap(text: &str, width: usize) -> Vec<&str> {
    let width = width.max(1);
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((limit, _)) = rest.char_indices().nth(width) {
        let (part, next) = rest.split_at(end_of_part(rest, limit));
        parts.push(part);
        rest = next.strip_prefix(' ').unwrap_or(next);
    }
    parts.push(rest);
    parts
}

/// Where the first part of `text` ends, which may take its first `limit` bytes.
fn end_of_part(text: &str, limit: usize) -> usize {
    if text[limit..].starts_with(' ') {
        return limit;
    }
    let space = text[..limit].rfind(' ').filter(|at| *at > 0);
    // The ending of a file belongs to its name.
    let after = |marks: &[char]| text[..limit].rfind(marks).map(|at| at + 1).filter(|at| *at > limit / 3);
    let punctuation = || after(&['-', '/', ',', ':', '=']).or_else(|| after(&['.']));
    space.or_else(punctuation).unwrap_or(limit)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn texts_break_at_spaces_then_after_punctuation_then_anywhere() {
        for (text, width, want) in [
            ("", 4, &[""][..]),
            ("one two", 7, &["one two"]),
            ("one two", 6, &["one", "two"]),
            ("one two", 3, &["one", "two"]),
            ("ä ö ü", 3, &["ä ö", "ü"]),
            ("aaaaaaaaaa bb", 4, &["aaaa", "aaaa", "aa", "bb"]),
            ("web-lr6nq65xss-7jjqk", 18, &["web-lr6nq65xss-", "7jjqk"]),
            ("a-bbbbbbbb", 8, &["a-bbbbbb", "bb"]),
            ("ex/typo/service.yaml:8", 18, &["ex/typo/", "service.yaml:8"]),
            ("x", 0, &["x"]),
            (" leading", 4, &[" lea", "ding"]),
        ] {
            assert_eq!(wrap(text, width), want, "{text:?} in {width}");
        }
    }

    #[test]
    fn columns_share_the_room() {
        for (name, natural, words, room, want) in [
            ("all fit", &[4, 7, 20][..], &[4, 7, 9][..], 31, &[4, 7, 20][..]),
            ("sentences wrap", &[4, 7, 90], &[4, 7, 9], 60, &[4, 7, 49]),
            ("names that hold spaces wrap", &[40, 7, 90], &[9, 7, 9], 60, &[26, 7, 26]),
            ("names stay whole", &[20, 20, 90], &[20, 20, 30], 60, &[20, 20, 20]),
            ("names break", &[60, 60, 90], &[60, 60, 9], 60, &[20, 20, 20]),
            ("narrower than anything", &[60, 60, 90], &[60, 60, 9], 10, &[3, 3, 3]),
            ("the first column stays whole", &[24, 8, 20, 28, 90], &[24, 8, 14, 28, 12], 72, &[24, 8, 13, 13, 13]),
            ("many columns on a phone", &[15, 8, 7, 24, 50], &[15, 8, 7, 24, 12], 32, &[6, 6, 6, 6, 6]),
            ("an empty last column", &[40, 40, 0], &[9, 9, 0], 60, &[30, 30, 0]),
            ("nothing", &[], &[], 10, &[]),
        ] {
            assert_eq!(fit(natural, words, room), want, "{name}");
        }
    }

    proptest! {
        #[test]
        fn no_line_is_longer_than_the_screen_and_no_text_is_lost(
            cells in prop::collection::vec([".{0,40}", "[a-z -]{0,60}", "[a-z ./]{0,90}"], 1..5),
            indent in 0usize..3,
            screen in 24usize..120,
        ) {
            let rows: Vec<[&str; 3]> = cells.iter().map(|row| [&*row[0], &*row[1], &*row[2]]).collect();
            let layout = ColumnLayout::of(rows.iter().map(|row| row.iter().copied()), indent, Some(screen));
            for row in &rows {
                let mut out = Vec::new();
                layout.write_row(&mut out, row, &[Style::new(); 3])?;
                let out = String::from_utf8(out)?;
                for line in out.split('\n') {
                    prop_assert!(columns(line) <= screen, "{} columns of {screen}: {line:?}", columns(line));
                }
                let letters = |text: &str| {
                    let mut all: Vec<char> = text.chars().filter(|c| *c != ' ' && *c != '\n').collect();
                    all.sort_unstable();
                    all
                };
                prop_assert_eq!(letters(&out), letters(&row.concat()));
            }
        }
    }
}
