//! The legend of a drawing: what its marks and lines mean.

use std::fmt::Write as _;

use super::{Face, mark, state_class, write_text};
use crate::picture::{EdgeKind, Picture, PictureState};

/// The height of a row, the space between two entries, and the length of a line.
const ROW: i32 = 22;
const SPACE: i32 = 22;
const WIRE: i32 = 30;

/// What an entry of a legend explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Mark(PictureState),
    Wire(&'static str),
}

/// The states of pictures in words: a word says the same as the mark, for readers who do not see colours.
const STATES: [(PictureState, &str); 5] = [
    (PictureState::Served, "served"),
    (PictureState::PartlyServed, "served on some ports or pods only"),
    (PictureState::NotServed, "no traffic: not ready, ended or unused"),
    (PictureState::Broken, "no traffic: something does not fit"),
    (PictureState::Unknown, "not known"),
];

/// A legend of states in words, from a place on, in rows of at most `width` pixels; and its height.
pub fn legend(states: &[(PictureState, &str)], place: (i32, i32), width: i32) -> (String, i32) {
    let entries: Vec<(Sign, &str)> = states.iter().map(|(state, text)| (Sign::Mark(*state), *text)).collect();
    write(&entries, place, width)
}

/// The legend of a picture: all states, and the lines that it has.
pub(super) fn of(picture: &Picture, place: (i32, i32), width: i32) -> (String, i32) {
    let mut entries: Vec<(Sign, &str)> = STATES.iter().map(|(state, text)| (Sign::Mark(*state), *text)).collect();
    for (kind, class, text) in [
        (EdgeKind::RunsOn, "runs-on", "runs on"),
        (EdgeKind::Hint, "hint", "clients there use"),
        (EdgeKind::Mirrors, "mirrors", "is copied to"),
    ] {
        if picture.edges.iter().any(|edge| edge.kind == kind) {
            entries.push((Sign::Wire(class), text));
        }
    }
    write(&entries, place, width)
}

fn write(entries: &[(Sign, &str)], (left, top): (i32, i32), width: i32) -> (String, i32) {
    let mut out = String::from("<g class=\"legend\">\n");
    let (mut x, mut y) = (0, 0);
    for (sign, text) in entries {
        let of_sign = if matches!(sign, Sign::Mark(_)) { 20 } else { WIRE + 8 };
        let room = of_sign + Face::Detail.room(text);
        if x > 0 && x + room > width {
            (x, y) = (0, y + ROW);
        }
        let at = (left + x, top + y);
        // Writing to a string does not fail.
        let _ = match sign {
            Sign::Mark(state) => write!(out, "<g class=\"{}\">\n{}", state_class(*state), mark(*state, at)),
            Sign::Wire(class) => {
                let (x, y) = (at.0, at.1 + 7);
                writeln!(out, "<g class=\"plain {class}\">\n<path class=\"wire\" d=\"M{x} {y}h{WIRE}\"/>")
            }
        };
        write_text(&mut out, Face::Detail, (at.0 + of_sign, at.1 + 11), text);
        out.push_str("</g>\n");
        x += room + SPACE;
    }
    out.push_str("</g>\n");
    (out, y + ROW)
}
