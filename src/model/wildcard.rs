//! Patterns of names, with `*` for any text.

use super::Text;

/// Whether one of the patterns matches.
pub(crate) fn any(patterns: &[Text], text: &str) -> bool {
    patterns.iter().any(|p| matches(p, text))
}

/// Whether a pattern matches; `*` stands for any text, even an empty one.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut left) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    // The first match of each part is the best one: it leaves the longest rest.
    for part in parts {
        let Some(at) = left.find(part) else { return false };
        left = &left[at + part.len()..];
    }
    left.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, text, want) in [
            ("shop", "shop", true),
            ("shop", "shops", false),
            ("*", "", true),
            ("*", "shop", true),
            ("kube-*", "kube-system", true),
            ("kube-*", "kube", false),
            ("*-system", "kube-system", true),
            ("a*b*c", "aXbXbc", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
            ("**", "x", true),
            ("", "x", false),
        ] {
            assert_eq!(matches(pattern, text), want, "{pattern} {text}");
        }
    }
}
