//! Colours of the command line, and text that is safe to print on a terminal.

use anstyle::{AnsiColor, Style};

/// Good.
pub(super) const GREEN: Style = AnsiColor::Green.on_default();
/// Worth a look.
pub(super) const YELLOW: Style = AnsiColor::Yellow.on_default();
/// Bad.
pub(super) const RED: Style = AnsiColor::Red.on_default();
/// Less important.
pub(super) const DIM: Style = Style::new().dimmed();
/// A heading.
pub(super) const BOLD: Style = Style::new().bold();

/// Text with its control characters made visible, so that a name from a file cannot steer the terminal.
pub(super) fn printable(text: &str) -> String {
    // Invisible characters that reverse or hide text count as control characters here.
    let hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    if !text.contains(hidden) {
        return text.to_owned();
    }
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        if hidden(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown() {
        assert_eq!(printable("a\u{1b}[31mb\nc\u{202e}"), "a\\u{1b}[31mb\\nc\\u{202e}");
        assert_eq!(printable("日本"), "日本");
    }
}
