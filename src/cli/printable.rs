//! Text from inputs that is safe to show: in a table, in a message on a terminal, in a report of code scanning.

use std::{
    borrow::Cow,
    fmt::Write as _,
    io::{self, Write},
};

use roster_engine::shown_text::is_hidden;
pub(super) use roster_engine::shown_text::printable;

/// [`printable`] text of several lines, which stay lines.
pub(super) fn printable_lines(text: &str) -> Cow<'_, str> {
    if !text.contains('\n') {
        return printable(text);
    }
    Cow::Owned(text.split('\n').map(printable).collect::<Vec<_>>().join("\n"))
}

/// Whether a text has characters that [`printable`] escapes.
pub(super) fn has_hidden(text: &str) -> bool {
    text.contains(is_hidden)
}

/// Whether a text has characters that [`printable`] escapes, besides line feeds and tabs.
pub(super) fn has_hidden_in_lines(text: &str) -> bool {
    text.contains(|c| is_hidden(c) && !matches!(c, '\n' | '\t'))
}

/// JSON on its way to a writer, in which each character that [`printable`] escapes is an escape of JSON: its reader gets the same
/// value. Outside of strings, JSON has none but white space.
pub(super) struct PrintableJson<'w> {
    out: &'w mut dyn Write,
    /// The bytes of a character whose end is not written yet.
    cut: Vec<u8>,
}

impl<'w> PrintableJson<'w> {
    pub(super) fn new(out: &'w mut dyn Write) -> Self {
        Self { out, cut: Vec::new() }
    }

    fn write_text(&mut self, text: &str) -> io::Result<()> {
        // White space between tokens stays, and a string has no other control characters of ASCII than DEL.
        let is_escaped = |c: char| (c == '\u{7f}' || !c.is_ascii()) && is_hidden(c);
        let mut rest = text;
        while let Some(at) = rest.find(is_escaped) {
            self.out.write_all(&rest.as_bytes()[..at])?;
            let mut after = rest[at..].chars();
            if let Some(c) = after.next() {
                let mut escape = String::new();
                for unit in c.encode_utf16(&mut [0; 2]) {
                    // Writing to a string does not fail.
                    let _ = write!(escape, "\\u{unit:04x}");
                }
                self.out.write_all(escape.as_bytes())?;
            }
            rest = after.as_str();
        }
        self.out.write_all(rest.as_bytes())
    }
}

impl Write for PrintableJson<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.cut.is_empty() && bytes.iter().all(|byte| *byte < 0x7f) {
            self.out.write_all(bytes)?;
            return Ok(bytes.len());
        }
        let mut all = std::mem::take(&mut self.cut);
        all.extend_from_slice(bytes);
        let (text, rest) = match std::str::from_utf8(&all) {
            Ok(text) => (text, &[][..]),
            Err(error) => {
                let (valid, rest) = all.split_at(error.valid_up_to());
                (std::str::from_utf8(valid).unwrap_or_default(), rest)
            }
        };
        self.write_text(text)?;
        self.cut = rest.to_vec();
        // No character has more bytes: what cannot be one is written as it is.
        if self.cut.len() >= 4 {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&std::mem::take(&mut self.cut))
    }
}

/// Characters that no output may contain, for the tests of those that print.
#[cfg(test)]
pub(super) fn assert_shown(text: &str) {
    let hidden: Vec<_> = text.chars().filter(|c| *c != '\n' && is_hidden(*c)).collect();
    assert!(hidden.is_empty(), "{hidden:?} in {text:?}");
}

/// Texts in which every third character or so is one of those.
#[cfg(test)]
pub(super) fn tricky() -> impl proptest::strategy::Strategy<Value = String> {
    use proptest::prelude::*;
    let hidden = prop_oneof![
        prop::char::range('\0', '\u{1f}'),
        prop::char::range('\u{7f}', '\u{9f}'),
        prop::char::range('\u{2028}', '\u{202e}'),
        prop::char::range('\u{2066}', '\u{2069}'),
        prop::sample::select(vec!['\u{61c}', '\u{200e}', '\u{200f}', '\u{ad}', '\u{feff}', '\u{e0041}']),
    ];
    let c = prop_oneof![2 => any::<char>(), 1 => hidden, 2 => prop::char::range('a', 'z')];
    prop::collection::vec(c, 0..24).prop_map(String::from_iter)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_are_shown_one_by_one() {
        assert_eq!(printable_lines("a\u{85}\nb\r\n"), "a\\u{85}\nb\\r\n");
    }

    proptest! {
        #[test]
        fn json_shows_every_character_and_keeps_the_value(text in tricky(), piece in 1_usize..9) {
            let json = serde_json::to_string(&[&text]).unwrap();
            let mut out = Vec::new();
            let mut shown = PrintableJson::new(&mut out);
            json.as_bytes().chunks(piece).for_each(|piece| shown.write_all(piece).unwrap());
            shown.flush().unwrap();
            let out = String::from_utf8(out).unwrap();
            assert_shown(&out);
            prop_assert_eq!(serde_json::from_str::<Vec<String>>(&out).unwrap(), vec![text]);
        }

        #[test]
        fn nothing_hidden_is_left_and_nothing_else_changes(text in tricky()) {
            let shown = printable(&text);
            prop_assert!(!shown.contains(is_hidden), "{:?}", shown);
            prop_assert_eq!(printable(&shown), shown.clone(), "shown twice");
            // What is left of both without the escapes is the same text, in the same order.
            let escaped: String = text
                .chars()
                .map(|c| if is_hidden(c) { c.escape_default().to_string() } else { c.to_string() })
                .collect();
            prop_assert_eq!(shown, escaped);
        }

        #[test]
        fn lines_stay_lines(text in tricky()) {
            let shown = printable_lines(&text);
            assert_shown(&shown);
            prop_assert_eq!(shown.split('\n').count(), text.split('\n').count());
        }
    }
}
