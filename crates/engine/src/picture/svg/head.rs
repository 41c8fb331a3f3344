//! The head of a drawing: the Service, how much of it is served, and what is wrong.

use std::fmt::Write as _;

use super::{Face, MARGIN, mark, shown, state_class, write_text};
use crate::{
    picture::{Picture, PictureState},
    reason::Severity,
    shown_text::printable,
    text_columns::wrap_at_most,
};

/// The most reasons that are written, and lines of each.
const REASONS: usize = 3;
const LINES: usize = 3;
/// The height of a line.
const LINE: i32 = 15;
const TITLE_LINE: i32 = 24;

/// The head of a drawing.
pub(super) struct Head {
    lines: Vec<HeadLine>,
    pub(super) height: i32,
}

struct HeadLine {
    face: Face,
    /// The state that its code looks like, if it begins a reason.
    state: PictureState,
    indent: i32,
    y: i32,
    text: String,
}

impl Head {
    pub(super) fn of(picture: &Picture, width: i32) -> Self {
        let mut head = Self { lines: Vec::new(), height: 0 };
        head.push(Face::Title, PictureState::Plain, 0, shown(Face::Title, &picture.name(), width));
        head.height += 6;
        for reason in picture.reasons.iter().take(REASONS) {
            let state = match reason.severity {
                Severity::Info => PictureState::Plain,
                Severity::Warning => PictureState::NotServed,
                Severity::Error => PictureState::Broken,
            };
            head.push(Face::Code, state, 20, shown(Face::Code, reason.code, width - 20));
            head.wrap(&reason.detail, width - 20);
            if !reason.fix.is_empty() {
                head.wrap(&format!("→ {}", reason.fix), width - 20);
            }
            head.height += 4;
        }
        if let Some(more) = picture.reasons.len().checked_sub(REASONS).filter(|more| *more > 0) {
            head.wrap(&format!("and {more} more"), width - 20);
        }
        head.height += 16;
        head
    }

    fn push(&mut self, face: Face, state: PictureState, indent: i32, text: String) {
        self.height += if face == Face::Title { TITLE_LINE } else { LINE };
        self.lines.push(HeadLine { face, state, indent, y: self.height, text });
    }

    fn wrap(&mut self, text: &str, room: i32) {
        for part in wrap_at_most(&printable(text), Face::Detail.fitting(room), LINES) {
            self.push(Face::Detail, PictureState::Plain, 20, part.into_owned());
        }
    }

    pub(super) fn write(&self, out: &mut String) {
        for HeadLine { face, state, indent, y, text } in &self.lines {
            let _ = writeln!(out, "<g class=\"{}\">", state_class(*state));
            if *face == Face::Code {
                out.push_str(&mark(*state, (MARGIN, MARGIN + y - 15)));
            }
            write_text(out, *face, (MARGIN + indent, MARGIN + y - 4), text);
            out.push_str("</g>\n");
        }
    }
}
