//! JSON with comments, as many programs write their configuration: kubectl reads no manifest of this form.

/// The JSON with spaces in place of comments and of commas before a closing bracket; `None` if the text has neither, or
/// does not begin as JSON.
pub fn without_comments(text: &str) -> Option<String> {
    let mut json = String::with_capacity(text.len());
    // Where the last comma is, if only white space and comments follow it.
    let mut comma = None;
    let mut changed = false;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '"' => string(rest),
            '/' => comment(rest)?,
            c => c.len_utf8(),
        };
        let (token, behind) = rest.split_at(length);
        match c {
            '/' => {
                changed = true;
                json.extend(token.chars().map(|c| if c == '\n' { c } else { ' ' }));
            }
            '}' | ']' if let Some(comma) = comma.take() => {
                changed = true;
                json.replace_range(comma..=comma, " ");
                json.push(c);
            }
            c => {
                if c == ',' {
                    comma = Some(json.len());
                } else if !c.is_whitespace() {
                    comma = None;
                }
                json.push_str(token);
            }
        }
        rest = behind;
    }
    (changed && json.trim_start().starts_with(['{', '['])).then_some(json)
}

/// The length of the string at the start of a text.
fn string(text: &str) -> usize {
    let mut escaped = false;
    let is_end = |byte: u8| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    };
    text.bytes().skip(1).position(is_end).map_or(text.len(), |at| at + 2)
}

/// The length of the comment at the start of a text; `None` if a slash begins something else.
fn comment(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    text.strip_prefix("/*")?.find("*/").map(|at| at + 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_last_commas_are_left_out() {
        for (text, want) in [
            ("{\"a\": 1}", None),
            ("a: 1 // b", None),
            ("# {,}", None),
            ("{/a}", None),
            ("{/* a", None),
            ("{ // a\n}", Some("{     \n}")),
            ("// a\n[/*b\nc*/1, 2]", Some("    \n[   \n   1, 2]")),
            ("{\"a\": [1, ],\n}", Some("{\"a\": [1  ] \n}")),
            ("[1, /* b */ ]", Some("[1          ]")),
            // In strings, both are text.
            ("[\"//,]\", \"\\\\\", \"\\\",\",]", Some("[\"//,]\", \"\\\\\", \"\\\",\" ]")),
        ] {
            assert_eq!(without_comments(text).as_deref(), want, "{text}");
        }
    }
}
