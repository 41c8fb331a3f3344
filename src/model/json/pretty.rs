//! JSON with line breaks and indentation, from JSON without.
//!
//! It works on text, so that documents are serialized by one writer only: with a second one, each of their types would be
//! compiled once more. Numbers and strings stay as they are, and so does JSON that was read and not parsed.

/// Two spaces for each level.
const INDENT: &str = "  ";

/// The same JSON as `serde_json::to_string_pretty` would write it, and a line feed.
pub(crate) fn pretty_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    let (mut rest, mut depth, mut is_open) = (json, 0_usize, false);
    while let Some(first) = rest.chars().next() {
        let (token, after) = rest.split_at(if first == '"' { string_len(rest) } else { first.len_utf8() });
        rest = after;
        if first.is_ascii_whitespace() {
            continue;
        }
        let is_close = matches!(first, '}' | ']');
        depth = depth.saturating_sub(usize::from(is_close));
        // After an opening bracket and before a closing one, except between the two.
        if is_open != is_close {
            break_line(&mut out, depth);
        }
        out.push_str(token);
        is_open = matches!(first, '{' | '[');
        depth += usize::from(is_open);
        match first {
            ',' => break_line(&mut out, depth),
            ':' => out.push(' '),
            _ => {}
        }
    }
    out.push('\n');
    out
}

/// The length of the string that `text` begins with, with its quotes.
fn string_len(text: &str) -> usize {
    let mut at = 1;
    while let Some(found) = memchr::memchr2(b'"', b'\\', &text.as_bytes()[at..]) {
        at += found + 1;
        if text.as_bytes()[at - 1] == b'"' {
            return at;
        }
        // What an escape begins with.
        at += 1;
    }
    text.len()
}

fn break_line(out: &mut String, depth: usize) {
    out.push('\n');
    (0..depth).for_each(|_| out.push_str(INDENT));
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn it_is_the_text_that_serde_json_writes() {
        for json in [
            "{}",
            "[]",
            "5",
            r#""a""#,
            r#"{"a":{},"b":[],"c":[[],{}],"d":[1,-2.5,true,null]}"#,
            r#"[{"a":"{[:,]}"},"\"","\\","\\\",","é\n","€\"€"]"#,
            " { \"a\" : [ 1 ,\n\t2 ] , \"b\" : { \"c\" : [ ] } } ",
        ] {
            let value: Value = serde_json::from_str(json).unwrap();
            assert_eq!(pretty_json(json), serde_json::to_string_pretty(&value).unwrap() + "\n", "{json}");
        }
        let exact = r#"[12345678901234567890123,1e400,1.50,"\u0041"]"#;
        assert_eq!(pretty_json(exact), "[\n  12345678901234567890123,\n  1e400,\n  1.50,\n  \"\\u0041\"\n]\n");
    }
}
