//! The difference between two texts, line by line, as `diff -u` writes it.
//!
//! Lines that both texts have once are compared first, as in a patience diff: addresses and names of pods, between which
//! the objects of Kubernetes repeat themselves.

use std::{fmt::Write, ops::Range};

/// Unchanged lines around a change.
const CONTEXT: usize = 3;
/// The most pairs of lines that are compared one by one; a larger part counts as replaced.
const MAX_PAIRS: usize = 1 << 20;
/// The most pairs of all parts together.
const MAX_ALL_PAIRS: usize = 1 << 26;
/// The most levels of parts within parts: lines can be made so that each part has one line less than the one around it.
const MAX_DEPTH: usize = 40;

/// A run of lines: the same in both texts, or of which the second text has others.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Run {
    same: bool,
    old: Range<usize>,
    new: Range<usize>,
}

/// The hunks that turn `old` into `new`; empty if the texts are equal.
pub(super) fn unified(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let mut runs = Vec::new();
    compare(&old, &new, 0..old.len(), 0..new.len(), &mut Room { depth: MAX_DEPTH, pairs: MAX_ALL_PAIRS }, &mut runs);
    let mut out = String::new();
    for hunk in hunks(&runs) {
        write_hunk(&mut out, &old, &new, &hunk);
    }
    out
}

/// What may still be compared.
struct Room {
    depth: usize,
    pairs: usize,
}

/// Compares parts of two texts, and appends their runs.
fn compare(a: &[&str], b: &[&str], old: Range<usize>, new: Range<usize>, room: &mut Room, runs: &mut Vec<Run>) {
    let both = || a[old.clone()].iter().zip(&b[new.clone()]);
    let head = both().take_while(|(x, y)| x == y).count();
    let left = old.len().min(new.len()) - head;
    let ends = a[old.clone()].iter().rev().zip(b[new.clone()].iter().rev());
    let tail = ends.take(left).take_while(|(x, y)| x == y).count();
    push(runs, true, old.start..old.start + head, new.start..new.start + head);
    let (inner_old, inner_new) = (old.start + head..old.end - tail, new.start + head..new.end - tail);
    if inner_old.is_empty() || inner_new.is_empty() {
        push(runs, false, inner_old, inner_new);
    } else {
        let depth = room.depth;
        let pairs = if room.depth == 0 { Vec::new() } else { pairs(a, b, &inner_old, &inner_new, room) };
        room.depth = room.depth.saturating_sub(1);
        if pairs.is_empty() {
            push(runs, false, inner_old, inner_new);
        } else {
            let (mut i, mut j) = (inner_old.start, inner_new.start);
            for (x, y) in pairs {
                compare(a, b, i..x, j..y, room, runs);
                push(runs, true, x..x + 1, y..y + 1);
                (i, j) = (x + 1, y + 1);
            }
            compare(a, b, i..inner_old.end, j..inner_new.end, room, runs);
        }
        room.depth = depth;
    }
    push(runs, true, old.end - tail..old.end, new.end - tail..new.end);
}

/// Appends a run, or lengthens the last one.
fn push(runs: &mut Vec<Run>, same: bool, old: Range<usize>, new: Range<usize>) {
    if old.is_empty() && new.is_empty() {
        return;
    }
    match runs.last_mut() {
        Some(last) if last.same == same => (last.old.end, last.new.end) = (old.end, new.end),
        _ => runs.push(Run { same, old, new }),
    }
}

/// Equal lines of two parts in the order of both: of those that each part has once; if there are none, of all lines.
fn pairs(a: &[&str], b: &[&str], old: &Range<usize>, new: &Range<usize>, room: &mut Room) -> Vec<(usize, usize)> {
    let once_new = lines_once(b, new);
    let place_in_new = |line: &str| once_new.binary_search_by_key(&line, |(line, _)| line).ok();
    let pair = |(line, i): (&str, usize)| Some((i, once_new[place_in_new(line)?].1));
    let mut once: Vec<(usize, usize)> = lines_once(a, old).into_iter().filter_map(pair).collect();
    once.sort_unstable();
    if !once.is_empty() {
        return longest_increasing(&once);
    }
    let count = old.len().saturating_mul(new.len());
    match room.pairs.checked_sub(count).filter(|_| count <= MAX_PAIRS) {
        None => Vec::new(),
        Some(left) => {
            room.pairs = left;
            common(a, b, old, new)
        }
    }
}

/// The lines that a part has once, in the order of their texts, each with its place.
fn lines_once<'t>(lines: &[&'t str], part: &Range<usize>) -> Vec<(&'t str, usize)> {
    let mut all: Vec<(&str, usize)> = part.clone().map(|place| (lines[place], place)).collect();
    all.sort_unstable();
    let once = all.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() == 1);
    once.flatten().copied().collect()
}

/// The longest part of `pairs` in which the second numbers increase as the first ones do.
fn longest_increasing(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // For each length the pair that ends the best such part, and for each pair the one before it.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (at, pair) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| pairs[*end].1 < pair.1);
        before.push(length.checked_sub(1).map(|l| ends[l]));
        ends.truncate(length.max(ends.len()));
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut out: Vec<(usize, usize)> =
        std::iter::successors(ends.last().copied(), |at| before[*at]).map(|at| pairs[at]).collect();
    out.reverse();
    out
}

/// A longest common subsequence of two short parts.
fn common(a: &[&str], b: &[&str], old: &Range<usize>, new: &Range<usize>) -> Vec<(usize, usize)> {
    let width = new.len() + 1;
    // How many lines the rests from each pair of places have in common.
    let mut lengths = vec![0u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            lengths[i * width + j] = if a[old.start + i] == b[new.start + j] {
                lengths[(i + 1) * width + j + 1] + 1
            } else {
                lengths[(i + 1) * width + j].max(lengths[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j, mut out) = (0, 0, Vec::new());
    while i < old.len() && j < new.len() {
        if a[old.start + i] == b[new.start + j] {
            out.push((old.start + i, new.start + j));
            (i, j) = (i + 1, j + 1);
        } else if lengths[(i + 1) * width + j] >= lengths[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    out
}

/// The changes, with the unchanged lines around them; changes close to each other share a hunk.
fn hunks(runs: &[Run]) -> Vec<Vec<Run>> {
    let mut hunks: Vec<Vec<Run>> = Vec::new();
    let mut open: Vec<Run> = Vec::new();
    for (at, run) in runs.iter().enumerate() {
        if !run.same {
            open.push(run.clone());
            continue;
        }
        let (first, last, lines) = (at == 0, at + 1 == runs.len(), run.old.len());
        if !first && !last && lines <= 2 * CONTEXT {
            open.push(run.clone());
            continue;
        }
        if !first {
            let n = lines.min(CONTEXT);
            open.push(Run { same: true, old: run.old.start..run.old.start + n, new: run.new.start..run.new.start + n });
            hunks.push(std::mem::take(&mut open));
        }
        if !last {
            let n = lines.min(CONTEXT);
            open.push(Run { same: true, old: run.old.end - n..run.old.end, new: run.new.end - n..run.new.end });
        }
    }
    if open.iter().any(|run| !run.same) {
        hunks.push(open);
    }
    hunks
}

fn write_hunk(out: &mut String, old: &[&str], new: &[&str], hunk: &[Run]) {
    let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { return };
    let old_lines = lines(first.old.start..last.old.end);
    let new_lines = lines(first.new.start..last.new.end);
    let _ = writeln!(out, "@@ -{old_lines} +{new_lines} @@");
    for run in hunk {
        let sign = if run.same { ' ' } else { '-' };
        for line in &old[run.old.clone()] {
            let _ = writeln!(out, "{sign}{line}");
        }
        if !run.same {
            for line in &new[run.new.clone()] {
                let _ = writeln!(out, "+{line}");
            }
        }
    }
}

/// The lines of a hunk: the first one and their number, which is left out if it is 1.
fn lines(range: Range<usize>) -> String {
    match range.len() {
        // Of no lines, the line before them.
        0 => format!("{},0", range.start),
        1 => format!("{}", range.start + 1),
        n => format!("{},{n}", range.start + 1),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn differences_are_written_as_diff_writes_them() {
        for (name, old, new, want) in [
            ("equal", "a\nb\n", "a\nb\n", ""),
            ("created", "", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n"),
            ("deleted", "a\n", "", "@@ -1 +0,0 @@\n-a\n"),
            ("changed", "a\nb\nc\n", "a\nx\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n"),
            ("added at the end", "a\nb\n", "a\nb\nc\n", "@@ -1,2 +1,3 @@\n a\n b\n+c\n"),
            (
                "three lines around, and two hunks",
                "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n",
                "1\nx\n3\n4\n5\n6\n7\n8\n9\n10\ny\n12\n",
                "@@ -1,5 +1,5 @@\n 1\n-2\n+x\n 3\n 4\n 5\n@@ -8,5 +8,5 @@\n 8\n 9\n 10\n-11\n+y\n 12\n",
            ),
            (
                "lines that repeat",
                "- ip: 1\n  ready: true\n- ip: 2\n  ready: true\n",
                "- ip: 1\n  ready: true\n- ip: 3\n  ready: true\n- ip: 2\n  ready: true\n",
                "@@ -1,4 +1,6 @@\n - ip: 1\n   ready: true\n+- ip: 3\n+  ready: true\n - ip: 2\n   ready: true\n",
            ),
        ] {
            assert_eq!(unified(old, new), want, "{name}");
        }
    }

    /// Each part has one line once: the next one is within it.
    #[test]
    fn parts_within_parts_end() {
        let text = |sign: &str| (0..5_000).fold(String::new(), |text, i| text + &format!("{}\n{sign}\n{i}\n", i + 1));
        let (old, new) = (text("-"), text("+"));
        assert_eq!(patched(&old, &unified(&old, &new)), new);
    }

    /// What `diff` makes of `old`, as `patch` does.
    fn patched(old: &str, diff: &str) -> String {
        let old: Vec<&str> = old.lines().collect();
        let (mut out, mut at) = (Vec::new(), 0);
        for line in diff.lines() {
            match line.split_at(1) {
                ("@", _) => {
                    let numbers = line.split_once('-').unwrap().1.split_once(' ').unwrap().0;
                    let (start, count) = numbers.split_once(',').unwrap_or((numbers, "1"));
                    let start: usize = start.parse().unwrap();
                    let start = if count == "0" { start } else { start - 1 };
                    out.extend(&old[at..start]);
                    at = start;
                }
                ("+", text) => out.push(text),
                (sign, text) => {
                    assert_eq!(old[at], text);
                    if sign == " " {
                        out.push(text);
                    }
                    at += 1;
                }
            }
        }
        out.extend(&old[at..]);
        text(&out)
    }

    fn text<T: AsRef<str>>(lines: &[T]) -> String {
        lines.iter().flat_map(|line| [line.as_ref(), "\n"]).collect()
    }

    proptest! {
        #[test]
        fn a_diff_turns_the_old_text_into_the_new_one(
            old in prop::collection::vec("[a-e]", 0..40),
            new in prop::collection::vec("[a-g]", 0..40),
        ) {
            let (old, new) = (text(&old), text(&new));
            let diff = unified(&old, &new);
            prop_assert_eq!(patched(&old, &diff), new, "{}", diff);
        }
    }
}
