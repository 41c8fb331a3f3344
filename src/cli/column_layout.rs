//! The layout of a table's columns: how wide each is, on which line it stands, and how a row becomes lines.

use std::{
    io::{self, Write},
    ops::Range,
};

use anstyle::Style;
pub(super) use roster_engine::text_columns::wrap;
use roster_engine::text_columns::{MARKS, columns};

/// Spaces between two columns.
const GAP: usize = 2;
/// The width to which the last column shrinks, for short and for long texts: it holds sentences, the others hold names.
const SENTENCE: (usize, usize) = (16, 24);
/// How much farther the columns are indented that stand below others.
const STEP: usize = 4;

/// The widest column to which others are padded: one long text must not lengthen every row.
const MOST_PADDED: usize = 512;

/// The widths of a table's columns. Columns that do not fit beside each other without breaking words stand below each other.
#[derive(Debug)]
pub(super) struct ColumnLayout {
    indent: usize,
    widths: Vec<usize>,
    /// The columns of each line of a row.
    lines: Vec<Range<usize>>,
}

impl ColumnLayout {
    /// The layout of `rows`, which all have as many texts, on a screen of this width; without a width, each row is one
    /// line.
    pub(super) fn of<'t, R>(rows: impl Iterator<Item = R> + Clone, indent: usize, screen: Option<usize>) -> Self
    where
        R: Iterator<Item = &'t str>,
    {
        let natural = widest(rows.clone(), |_, text| columns(text));
        let one_line = 0..natural.len();
        let Some(room) = screen.map(|screen| screen.saturating_sub(indent)) else {
            return Self { indent, widths: natural, lines: vec![one_line] };
        };
        if taken(&natural) <= room {
            return Self { indent, widths: natural, lines: vec![one_line] };
        }
        let last = natural.len().saturating_sub(1);
        let longest_line = room.saturating_sub(STEP);
        let mut names = widest(rows.clone(), |_, text| floor_of_name(text, longest_line));
        let mut floors = names.clone();
        let sentences = widest(rows.clone(), |_, text| floor_of_sentence(text, longest_line));
        floors[last] = sentences[last];
        names[last] = names[last].max(floors[last]);
        let lines = lines(&floors, room);
        let shared = lines.iter().flat_map(|line| {
            let room = room_of(line, room);
            let is_whole = names[line.clone()].iter().sum::<usize>() <= room;
            fit(&natural[line.clone()], &if is_whole { &names } else { &floors }[line.clone()], room)
        });
        let mut widths: Vec<usize> = shared.collect();
        // Where cells wrap, they seldom fill their column: the last one of a line gets what is left.
        let used = widest(rows, |column, text| longest(wrap(text, widths[column]).into_iter()));
        for line in &lines {
            if let Some((last, names)) = widths[line.clone()].split_last_mut() {
                names.copy_from_slice(&used[line.start..line.end - 1]);
                let left = room_of(line, room).saturating_sub(names.iter().sum());
                *last = left.max(*last).min(natural[line.end - 1]);
            }
        }
        Self { indent, widths, lines }
    }

    /// Whether all columns stand beside each other.
    pub(super) fn is_one_line(&self) -> bool {
        self.lines.len() < 2
    }

    /// Writes one row: as many lines as its longest cells need, without spaces at their ends.
    pub(super) fn write_row(&self, out: &mut dyn Write, texts: &[&str], styles: &[Style]) -> io::Result<()> {
        for line in &self.lines {
            let texts = &texts[line.clone()];
            if line.start == 0 || texts.iter().any(|text| !text.is_empty()) {
                let indent = self.indent + step_of(line);
                write_cells(out, indent, texts, &self.widths[line.clone()], &styles[line.clone()])?;
            }
        }
        Ok(())
    }
}

/// Writes cells beside each other.
fn write_cells(
    out: &mut dyn Write,
    indent: usize,
    texts: &[&str],
    widths: &[usize],
    styles: &[Style],
) -> io::Result<()> {
    let cells: Vec<Vec<&str>> = texts.iter().zip(widths).map(|(text, width)| wrap(text, *width)).collect();
    let lines = cells.iter().map(Vec::len).max().unwrap_or_default();
    for line in 0..lines {
        let part = |i: usize| cells[i].get(line).copied().unwrap_or_default();
        if let Some(filled) = (0..cells.len()).rposition(|i| !part(i).is_empty()) {
            write!(out, "{:indent$}", "")?;
            for (i, style) in styles.iter().enumerate().take(filled + 1) {
                let text = part(i);
                if !text.is_empty() {
                    write!(out, "{style}{text}{style:#}")?;
                }
                if i < filled {
                    let width = widths[i].min(MOST_PADDED);
                    write!(out, "{:pad$}", "", pad = width.saturating_sub(columns(text)) + GAP)?;
                }
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

/// How much farther a line of a row is indented than its first.
fn step_of(line: &Range<usize>) -> usize {
    if line.start == 0 { 0 } else { STEP }
}

/// What the columns of a line may take of the room of a row, without the spaces between them.
fn room_of(line: &Range<usize>, room: usize) -> usize {
    room.saturating_sub(step_of(line) + line.len().saturating_sub(1) * GAP)
}

/// What columns take, with the spaces between them.
fn taken(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + widths.len().saturating_sub(1) * GAP
}

/// The columns of each line: as many as fit if each is as narrow as it may be.
fn lines(floors: &[usize], room: usize) -> Vec<Range<usize>> {
    let mut lines = Vec::new();
    let mut start = 0;
    for end in 1..=floors.len() {
        let is_full = end == floors.len() || {
            let line = start..end + 1;
            floors[line.clone()].iter().sum::<usize>() > room_of(&line, room)
        };
        if is_full {
            lines.push(start..end);
            start = end;
        }
    }
    lines
}

/// The width that names need: they stay whole, so that they can be copied, unless they fit on no line.
fn floor_of_name(text: &str, room: usize) -> usize {
    let whole = |word: &str| Some(columns(word)).filter(|width| *width <= room);
    text.split(' ').map(|word| whole(word).unwrap_or_else(|| floor_of_word(word, room))).max().unwrap_or_default()
}

/// The width that a sentence needs: its words may break after punctuation.
fn floor_of_sentence(text: &str, room: usize) -> usize {
    let words = text.split(' ').map(|word| floor_of_word(word, room));
    let half = (columns(text) / 2).clamp(SENTENCE.0, SENTENCE.1);
    words.max().unwrap_or_default().max(half.min(columns(text)))
}

/// The width that a word needs to break after punctuation only.
fn floor_of_word(word: &str, room: usize) -> usize {
    longest(word.split_inclusive(MARKS)).min(room)
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

/// The widths of columns that share `room`, which has place for the least of each. The last one shrinks first; then all of them
/// shrink, the widest first.
fn fit(natural: &[usize], floors: &[usize], room: usize) -> Vec<usize> {
    let (Some((last, names)), Some(least)) = (natural.split_last(), floors.last()) else { return Vec::new() };
    let left = room.checked_sub(names.iter().sum());
    if let Some(left) = left.filter(|left| left >= least) {
        return names.iter().copied().chain([left.min(*last)]).collect();
    }
    let capped = |cap: usize| natural.iter().zip(floors).map(move |(n, floor)| cap.max(*floor).min(*n));
    let widest = natural.iter().copied().max().unwrap_or_default();
    let cap = (0..=widest).rev().find(|cap| capped(*cap).sum::<usize>() <= room).unwrap_or_default();
    capped(cap).map(|width| width.min(room)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn columns_share_the_room() {
        for (name, natural, floors, room, want) in [
            ("all fit", &[4, 7, 20][..], &[4, 7, 9][..], 31, &[4, 7, 20][..]),
            ("sentences wrap", &[4, 7, 90], &[4, 7, 24], 60, &[4, 7, 49]),
            ("names that hold spaces wrap", &[40, 7, 90], &[9, 7, 24], 60, &[26, 7, 26]),
            ("names stay whole", &[20, 20, 90], &[20, 20, 20], 60, &[20, 20, 20]),
            ("an empty last column", &[40, 40, 0], &[9, 9, 0], 60, &[30, 30, 0]),
            ("one column", &[90], &[24], 10, &[10]),
            ("nothing", &[], &[], 10, &[]),
        ] {
            assert_eq!(fit(natural, floors, room), want, "{name}");
        }
    }

    #[test]
    fn what_does_not_fit_beside_stands_below() {
        for (name, floors, room, want) in [
            ("all fit", &[4, 7, 24][..], 39, &[(0, 3)][..]),
            ("the last is below", &[4, 7, 24], 38, &[(0, 2), (2, 3)]),
            ("some are below", &[30, 30, 30, 24], 70, &[(0, 2), (2, 4)]),
            ("the lines below are indented", &[30, 30, 40, 24], 68, &[(0, 2), (2, 3), (3, 4)]),
            ("each is below the other", &[60, 60, 60], 60, &[(0, 1), (1, 2), (2, 3)]),
            ("nothing fits", &[60, 60], 10, &[(0, 1), (1, 2)]),
            ("nothing", &[], 10, &[]),
        ] {
            let got: Vec<(usize, usize)> = lines(floors, room).iter().map(|line| (line.start, line.end)).collect();
            assert_eq!(got, want, "{name}");
        }
    }

    #[test]
    fn names_are_whole_and_sentences_break_after_punctuation() {
        for (text, room, name, sentence) in [
            ("", 60, 0, 0),
            ("EndpointSlice shop/web-x8k2p", 60, 14, 16),
            ("the port of a-very-long-name-of-a-container-image is missing", 60, 37, 24),
            ("topologyspreadconstraintsofpods", 60, 31, 31),
            ("apps/overlays/production/service.yaml:8", 20, 11, 19),
            ("topologyspreadconstraintsofpods", 20, 20, 20),
        ] {
            assert_eq!(
                (floor_of_name(text, room), floor_of_sentence(text, room)),
                (name, sentence),
                "{text} in {room}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_line_is_longer_than_the_screen_and_no_text_is_lost(
            cells in prop::collection::vec([".{0,40}", "([a-z-]{1,20} ?){0,4}", "[a-z ./]{0,90}"], 1..5),
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
                // Names are whole if they fit.
                for word in row[1].split(' ') {
                    prop_assert!(columns(word) + STEP + indent > screen || out.contains(word), "{word:?} {out:?}");
                }
            }
        }
    }
}
