//! Whether an object may repeat a key, at a fraction of what the search for repeated keys takes: almost no object does.

use memchr::{memchr, memchr2, memchr3};

/// Objects with more keys are sorted: to compare each with each takes longer.
const MOST_PAIRED: usize = 16;
/// The parser refuses deeper nesting.
const MAX_DEPTH: usize = 128;

/// Whether a JSON text may repeat a key. Nothing is said of a text that is not JSON.
pub(super) fn may_repeat(text: &str) -> bool {
    let bytes = text.as_bytes();
    // The keys of all open objects, and how many of them are those of outer ones.
    let (mut keys, mut outer) = (Vec::<&[u8]>::with_capacity(64), Vec::with_capacity(16));
    let mut at = 0;
    while let Some(next) = bytes.get(at..).and_then(|rest| memchr3(b'{', b'}', b'"', rest)) {
        at += next + 1;
        match bytes[at - 1] {
            b'{' if outer.len() < MAX_DEPTH => outer.push(keys.len()),
            b'{' => return true,
            b'}' => {
                let first = outer.pop().unwrap_or_default();
                if !are_different(&mut keys[first..]) {
                    return true;
                }
                keys.truncate(first);
            }
            _ => {
                let Some(string) = string(&bytes[at..]) else { return true };
                at += string.len() + 1;
                let follows = bytes[at..].iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or_default();
                if bytes.get(at + follows) == Some(&b':') {
                    if has_other_spelling(string) {
                        return true;
                    }
                    keys.push(string);
                    at += follows + 1;
                }
            }
        }
    }
    false
}

/// A string up to its closing quote; `None` if it has none.
fn string(bytes: &[u8]) -> Option<&[u8]> {
    let mut end = 0;
    loop {
        end += memchr2(b'"', b'\\', bytes.get(end..)?)?;
        if bytes[end] == b'"' {
            return Some(&bytes[..end]);
        }
        end += 2;
    }
}

/// Whether a key has an escape for which there is another spelling, as `\u0061` is `a` and `\/` is `/`. Other keys are equal only
/// if they are written alike.
fn has_other_spelling(key: &[u8]) -> bool {
    let mut rest = key;
    while let Some(at) = memchr(b'\\', rest) {
        if matches!(rest.get(at + 1), Some(b'u' | b'/')) {
            return true;
        }
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    false
}

fn are_different(keys: &mut [&[u8]]) -> bool {
    if keys.len() <= MOST_PAIRED {
        return keys.iter().enumerate().all(|(place, key)| !keys[..place].contains(key));
    }
    keys.sort_unstable();
    keys.windows(2).all(|pair| pair[0] != pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::single_keys::SingleKeys;

    #[test]
    fn objects_with_different_keys_are_known() {
        let many = |last: usize| {
            let keys: Vec<String> = (0..40).chain([last]).map(|key| format!("\"k{key}\":{{}}")).collect();
            format!("{{{}}}", keys.join(","))
        };
        for (text, want) in [
            ("{}", false),
            ("5", false),
            (r#"{"a":1,"b":{"a":1},"c":[{"a":1},{"a":2}],"aa":"a"}"#, false),
            (r#"{"a":"\"","b":"\\"}"#, false),
            ("{\"a\" \n:1,\"b\":\"a\",\"c\":[\"a\",\"a\"]}", false),
            ("{\"a\" \n:1,\"b\":2,\"a\":3}", true),
            (r#"{"b":[{"a":{"a":1},"a":2}]}"#, true),
            (r#"{"":1,"":2}"#, true),
            // As in the fields of managers.
            (r#"{"k:{\"a\"}":1,"k:{\"b\"}":2,"\\u0061":3}"#, false),
            (r#"{"k:{\"a\"}":1,"k:{\"a\"}":2}"#, true),
            // They may be the same.
            (r#"{"a":1,"\u0062":2}"#, true),
            (r#"{"a":1,"\/":2}"#, true),
            (&many(40), false),
            (&many(17), true),
            (&format!("{}{}", "{\"a\":".repeat(200), "}".repeat(200)), true),
        ] {
            assert_eq!(may_repeat(text), want, "{text}");
        }
    }

    /// A fixed pseudo-random sequence of values.
    #[test]
    fn no_repeated_key_is_missed() {
        let mut seed = 1_u32;
        let mut random = |below: u32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 16) % below
        };
        let (mut repeated, mut different) = (0, 0);
        for _ in 0..20_000 {
            let mut text = String::new();
            value(&mut text, 0, &mut random);
            let finds = SingleKeys::search(&text).is_some();
            assert!(may_repeat(&text) || !finds, "{text}");
            *if finds { &mut repeated } else { &mut different } += usize::from(finds == may_repeat(&text));
        }
        assert!(repeated > 1000 && different > 1000, "{repeated} {different}");
    }

    fn value(text: &mut String, depth: usize, random: &mut impl FnMut(u32) -> u32) {
        const STRINGS: [&str; 10] = [
            "\"a\"",
            "\"b\"",
            "\"\"",
            "\"a:\"",
            "\"\\\"\"",
            "\"\\\\\"",
            "\"{\"",
            "\"\\u0061\"",
            "\"\\\"a\"",
            "\"\\/\"",
        ];
        let string = |random: &mut dyn FnMut(u32) -> u32| STRINGS[random(10) as usize];
        match if depth > 3 { 9 } else { random(10) } {
            kind @ 0..=6 => {
                let is_object = kind < 5;
                text.push(if is_object { '{' } else { '[' });
                let most = if random(10) == 0 { 40 } else { 5 };
                for place in 0..random(most) {
                    text.push_str(if place > 0 { ", " } else { "" });
                    if is_object {
                        let key = format!("\"k{}\"", random(2000));
                        text.push_str(if random(2) == 0 { &key } else { string(random) });
                        text.push_str([":", " : ", ":\n"][random(3) as usize]);
                    }
                    value(text, depth + 1, random);
                }
                text.push(if is_object { '}' } else { ']' });
            }
            7 => text.push_str("12"),
            _ => text.push_str(string(random)),
        }
    }
}
