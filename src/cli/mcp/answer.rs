//! The text of an answer, which fits into what a model is meant to read at once.

use roster_engine::phrase::counted;

use super::token_estimate::tokens;
use crate::cli::printable::printable;

/// The most tokens of an answer.
pub(super) const MOST_TOKENS: usize = 1500;
/// The most bytes of a line. A message of an object may have a megabyte.
const LONGEST_LINE: usize = 600;
/// What the line takes that says how many are left out, and how to see them.
const ROOM_FOR_MORE: usize = 80;

/// What is left out of a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fold {
    /// Most items.
    most: usize,
    /// What an item is.
    thing: &'static str,
    how: ToSeeMore,
}

/// How to see what is left out.
#[derive(Clone, Copy, Debug)]
enum ToSeeMore {
    Nothing,
    Do(&'static str),
    /// The call has skipped so many items before.
    Skip(usize),
}

impl Fold {
    /// At most so many items.
    pub(super) fn after(most: usize, thing: &'static str) -> Self {
        Self { most, thing, how: ToSeeMore::Nothing }
    }

    /// The others can be seen by doing this.
    pub(super) fn others(self, what: &'static str) -> Self {
        Self { how: ToSeeMore::Do(what), ..self }
    }

    /// The others can be seen by skipping more than `before`.
    pub(super) fn skipped(self, before: usize) -> Self {
        Self { how: ToSeeMore::Skip(before), ..self }
    }
}

/// An answer, line by line. A line that does not fit is left out, and so are those behind it.
#[derive(Debug, Default)]
pub(super) struct Answer {
    text: String,
    tokens: usize,
    is_full: bool,
}

impl Answer {
    /// Adds a line. What could steer or hide text is escaped in it. Returns whether it fits.
    pub(super) fn line(&mut self, line: impl AsRef<str>) -> bool {
        let is_added = self.try_line(line.as_ref(), 0);
        self.is_full |= !is_added;
        is_added
    }

    /// Adds a line if at least `room` tokens are left behind it.
    fn try_line(&mut self, line: &str, room: usize) -> bool {
        let line = clipped(&printable(line));
        let more = tokens(&line) + 1;
        if self.is_full || self.tokens + more + room > MOST_TOKENS {
            return false;
        }
        self.tokens += more;
        self.text.push_str(&line);
        self.text.push('\n');
        true
    }

    /// Adds a heading and a list below it: at most so many items, and how many more there are.
    pub(super) fn list<T>(
        &mut self,
        heading: &str,
        items: impl IntoIterator<Item = T>,
        fold: Fold,
        text: impl Fn(&T) -> String,
    ) {
        let Fold { most, thing, how } = fold;
        let mut items = items.into_iter().peekable();
        if items.peek().is_none() || !self.try_line(heading, 2 * ROOM_FOR_MORE) {
            return;
        }
        let mut listed = 0;
        while let Some(item) = items.peek() {
            if listed == most || !self.try_line(&format!("- {}", text(item)), ROOM_FOR_MORE) {
                break;
            }
            listed += 1;
            items.next();
        }
        let more = items.count();
        if more > 0 {
            let how = match how {
                ToSeeMore::Nothing => String::new(),
                ToSeeMore::Do(what) => format!(": {what}"),
                ToSeeMore::Skip(before) => format!(": pass skip: {}", before + listed),
            };
            self.line(format!("- and {}{how}", counted(more, &format!("more {thing}"))));
        }
    }

    /// The text.
    pub(super) fn finish(self) -> String {
        self.text
    }
}

/// The beginning of a line that is too long.
fn clipped(line: &str) -> String {
    if line.len() <= LONGEST_LINE {
        return line.to_owned();
    }
    let end = (0..=LONGEST_LINE).rev().find(|end| line.is_char_boundary(*end)).unwrap_or_default();
    format!("{}…", &line[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_counted() {
        let mut answer = Answer::default();
        assert!(answer.line("cause: x"));
        let items: Vec<String> = (0..5000).map(|i| format!("pod web-{i} is not ready")).collect();
        let fold = Fold::after(3, "pod").others("name one in `pod`");
        answer.list("pods:", &items, fold, |item| (*item).clone());
        let want = "cause: x\npods:\n- pod web-0 is not ready\n- pod web-1 is not ready\n- pod web-2 is not ready\n\
                    - and 4997 more pods: name one in `pod`\n";
        assert_eq!(answer.text, want);
        answer.list("all pods:", &items, Fold::after(5000, "pod"), |item| (*item).clone());
        let text = answer.finish();
        assert!(tokens(&text) <= MOST_TOKENS && tokens(&text) > MOST_TOKENS - 100, "{}", tokens(&text));
        assert!(text.ends_with(" more pods\n"), "{text}");
    }

    #[test]
    fn a_line_is_one_line_and_bounded() {
        let mut answer = Answer::default();
        answer.line(format!("a\nb\u{202e}{}", "é".repeat(1000)));
        let text = answer.finish();
        assert!(text.starts_with("a\\nb\\u{202e}éé") && text.ends_with("é…\n") && text.len() < 610, "{text}");
    }
}
