//! Text from inputs that is safe to show: on a terminal, in a report, in a drawing.

use std::borrow::Cow;

/// `text` with every character escaped that could steer a terminal, or make a reader see another text: control
/// characters, line and paragraph separators, and the invisible characters of Unicode's bidirectional algorithm and
/// their like.
pub fn printable(text: &str) -> Cow<'_, str> {
    let Some(first) = text.find(is_hidden) else { return Cow::Borrowed(text) };
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(&text[..first]);
    for c in text[first..].chars() {
        if is_hidden(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Whether [`printable`] escapes a character.
pub fn is_hidden(c: char) -> bool {
    // C0, DEL and C1.
    c.is_control()
        || matches!(
            c,
            // The soft hyphen, which most programs do not show.
            '\u{ad}'
            // The Arabic letter mark: bidirectional, as U+200E and U+200F.
            | '\u{61c}'
            // Spaces and joiners without width, and direction marks.
            | '\u{200b}'..='\u{200f}'
            // Line and paragraph separators, then embeddings and overrides of the direction.
            | '\u{2028}'..='\u{202e}'
            // Invisible operators, then isolates, then deprecated format characters.
            | '\u{2060}'..='\u{206f}'
            // The byte order mark, and annotations between lines.
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            // Tags: a second, invisible ASCII.
            | '\u{e0000}'..='\u{e007f}'
        )
}

/// [`printable`] text for an attribute or an element of XML or HTML.
pub fn xml_escaped(text: &str) -> String {
    let text = printable(text);
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // XML does not allow these, even escaped.
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_or_hides_is_shown() {
        for (text, want) in [
            ("a\u{1b}[31mb\nc\u{202e}", "a\\u{1b}[31mb\\nc\\u{202e}"),
            ("\u{0}\t\r\u{7f}\u{80}\u{9b}2J\u{9f}", "\\u{0}\\t\\r\\u{7f}\\u{80}\\u{9b}2J\\u{9f}"),
            ("\u{61c}\u{200e}\u{200f}", "\\u{61c}\\u{200e}\\u{200f}"),
            ("\u{202a}\u{2066}x\u{2069}\u{202c}", "\\u{202a}\\u{2066}x\\u{2069}\\u{202c}"),
            ("a\u{2028}b\u{2029}", "a\\u{2028}b\\u{2029}"),
            ("日本 café – naïve", "日本 café – naïve"),
            ("", ""),
        ] {
            assert_eq!(printable(text), want);
        }
    }

    #[test]
    fn text_of_the_input_is_escaped() {
        assert_eq!(xml_escaped("a<b>&\"c\"\u{1}\u{ffff}"), "a&lt;b&gt;&amp;&quot;c&quot;\\u{1}\u{fffd}");
    }
}
