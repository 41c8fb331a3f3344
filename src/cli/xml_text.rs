//! Text in XML.

use super::printable::printable;

/// Text for an attribute or an element.
pub(super) fn escaped(text: &str) -> String {
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
    fn text_of_the_input_is_escaped() {
        assert_eq!(escaped("a<b>&\"c\"\u{1}\u{ffff}"), "a&lt;b&gt;&amp;&quot;c&quot;\\u{1}\u{fffd}");
    }
}
