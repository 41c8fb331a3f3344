//! The marks of states: each has a form of its own, so that a drawing can be read without colours.

use crate::picture::PictureState;

/// The mark of a state, 14 pixels wide and high; nothing for [`PictureState::Plain`].
pub fn mark(state: PictureState, (x, y): (i32, i32)) -> String {
    let form = match state {
        PictureState::Plain => return String::new(),
        // A check mark.
        PictureState::Served => "<path d=\"M2 7l4 4 6-8\"/>",
        // Half a disc.
        PictureState::PartlyServed => {
            "<circle cx=\"7\" cy=\"7\" r=\"5\"/><path class=\"solid\" d=\"M7 2a5 5 0 0 0 0 10z\"/>"
        }
        // A circle with a bar.
        PictureState::NotServed => "<circle cx=\"7\" cy=\"7\" r=\"5\"/><path d=\"M4 7h6\"/>",
        // A cross.
        PictureState::Broken => "<path d=\"M3 3l8 8M11 3l-8 8\"/>",
        // A question mark.
        PictureState::Unknown => "<path d=\"M4 5a3 3 0 1 1 4 2.8c-.7.3-1 .7-1 1.4M7 11v1.6\"/>",
    };
    format!("<g class=\"mark\" transform=\"translate({x} {y})\">{form}</g>\n")
}
