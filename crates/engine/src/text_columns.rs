//! How many columns a text takes in a font whose letters have one width, and where it breaks.

use std::borrow::Cow;

/// How many columns a text takes at most. Names in Kubernetes are ASCII.
pub fn columns(text: &str) -> usize {
    text.chars().map(char_columns).sum()
}

/// The columns of a character. Letters of alphabets and signs that monospaced fonts have count once. All others, such as
/// ideographs and emoji, come from other fonts: they count twice.
fn char_columns(c: char) -> usize {
    match c {
        '\0'..='\u{5ff}' | '\u{2010}'..='\u{203a}' | '\u{2190}'..='\u{21ff}' | '\u{2500}'..='\u{25ff}' => 1,
        _ => 2,
    }
}

/// The begin of a text in at most `width` columns, with an ellipsis if something is left out.
pub fn shortened(text: &str, width: usize) -> Cow<'_, str> {
    let (begin, is_whole) = begin_in(text, width);
    if is_whole {
        return Cow::Borrowed(text);
    }
    if width == 0 {
        return Cow::Borrowed("");
    }
    let (begin, _) = begin_in(&text[..begin], width - 1);
    Cow::Owned(format!("{}…", text[..begin].trim_end()))
}

/// How many bytes of a text fit in `width` columns, and whether that is all of it.
fn begin_in(text: &str, width: usize) -> (usize, bool) {
    // Most texts fit, and no character has more columns than bytes.
    if text.len() <= width {
        return (text.len(), true);
    }
    let mut taken = 0;
    for (at, c) in text.char_indices() {
        taken += char_columns(c);
        if taken > width {
            return (at, false);
        }
    }
    (text.len(), true)
}

/// The punctuation after which a word may break. The last one only counts without the others: the ending of a file belongs to
/// its name.
pub const MARKS: [char; 6] = ['-', '/', ',', ':', '=', '.'];

/// Breaks a text into parts of at most `width` columns: at spaces; in a longer word after punctuation, else anywhere.
pub fn wrap(text: &str, width: usize) -> Vec<&str> {
    // A character has at most two.
    let width = width.max(2);
    let mut parts = Vec::new();
    let mut rest = text;
    loop {
        let (limit, is_whole) = begin_in(rest, width);
        if is_whole {
            break;
        }
        let (part, next) = rest.split_at(end_of_part(rest, limit));
        parts.push(part);
        rest = next.strip_prefix(' ').unwrap_or(next);
    }
    parts.push(rest);
    parts
}

/// At most `most` parts of a text that is broken as by [`wrap`]; the last one is shortened if there are more.
pub fn wrap_at_most(text: &str, width: usize, most: usize) -> Vec<Cow<'_, str>> {
    // No part is longer: the rest of a long text is not looked at.
    let (looked_at, _) = begin_in(text, width.saturating_add(1).saturating_mul(most + 1));
    let parts = wrap(&text[..looked_at], width);
    let is_whole = parts.len() <= most && looked_at == text.len();
    let mut shown: Vec<Cow<'_, str>> = parts.into_iter().take(most).map(Cow::Borrowed).collect();
    if let Some(last) = shown.last_mut().filter(|_| !is_whole) {
        let text = format!("{last} …");
        *last = if columns(&text) <= width { text } else { shortened(&format!("{last}……"), width).into_owned() }.into();
    }
    shown
}

/// Where the first part of `text` ends, which may take its first `limit` bytes.
fn end_of_part(text: &str, limit: usize) -> usize {
    if text[limit..].starts_with(' ') {
        return limit;
    }
    let space = text[..limit].rfind(' ').filter(|at| *at > 0);
    let is_after_word = |at: &usize| text[..*at].contains(char::is_alphanumeric);
    let after = |marks: &[char]| text[..limit].rfind(marks).map(|at| at + 1).filter(is_after_word);
    let punctuation = || after(&MARKS[..5]).or_else(|| after(&MARKS));
    space.or_else(punctuation).unwrap_or(limit)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn texts_break_at_spaces_then_after_punctuation_then_anywhere() {
        for (text, width, want) in [
            ("", 4, &[""][..]),
            ("one two", 7, &["one two"]),
            ("one two", 6, &["one", "two"]),
            ("one two", 3, &["one", "two"]),
            ("ä ö ü", 3, &["ä ö", "ü"]),
            ("日本語", 4, &["日本", "語"]),
            ("aaaaaaaaaa bb", 4, &["aaaa", "aaaa", "aa", "bb"]),
            ("web-lr6nq65xss-7jjqk", 18, &["web-lr6nq65xss-", "7jjqk"]),
            ("a-bbbbbbbb", 8, &["a-", "bbbbbbbb"]),
            ("--bbbbbbbb", 8, &["--bbbbbb", "bb"]),
            ("ex/typo/service.yaml:8", 18, &["ex/typo/", "service.yaml:8"]),
            ("xyz", 0, &["xy", "z"]),
            (" leading", 4, &[" lea", "ding"]),
        ] {
            assert_eq!(wrap(text, width), want, "{text:?} in {width}");
        }
    }

    #[test]
    fn long_texts_end_with_an_ellipsis() {
        for (text, width, want) in [
            ("web", 3, "web"),
            ("website", 4, "web…"),
            ("a website", 3, "a…"),
            ("日本語", 5, "日本…"),
            ("日本語", 4, "日…"),
            ("web", 0, ""),
        ] {
            assert_eq!(shortened(text, width), want, "{text:?} in {width}");
        }
        for (text, most, want) in [
            ("one two three", 2, &["one two", "three"][..]),
            ("one two three four", 2, &["one two", "three …"]),
            ("one two threeee four", 2, &["one two", "threee…"]),
            ("one", 0, &[]),
        ] {
            assert_eq!(wrap_at_most(text, 7, most), want, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn nothing_is_wider_than_it_may_be(text in ".{0,60}", width in 2_usize..30, most in 1_usize..4) {
            prop_assert!(columns(&shortened(&text, width)) <= width);
            let parts = wrap_at_most(&text, width, most);
            prop_assert!(parts.len() <= most && parts.iter().all(|part| columns(part) <= width), "{parts:?}");
            for part in wrap(&text, width) {
                prop_assert!(columns(part) <= width && text.contains(part));
            }
        }
    }
}
