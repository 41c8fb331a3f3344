//! Patterns of names, with `*` for any text.

/// Whether a pattern matches; `*` stands for any text, even an empty one.
pub fn matches(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut left) = text.strip_prefix(first) else { return false };
    // What has to be last is compared first: that is cheaper than a search.
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    let Some(before) = left.strip_suffix(last) else { return false };
    left = before;
    // The first match of each part is the best one: it leaves the longest rest.
    for part in middle.split('*') {
        let Some(at) = left.find(part) else { return false };
        left = &left[at + part.len()..];
    }
    true
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
            ("a*b*c", "abcbc", true),
            ("a*bc*c", "abc", false),
            ("*b**c*", "abbc", true),
            ("*b**c*", "acb", false),
            ("a*a", "a", false),
            ("**", "x", true),
            ("", "x", false),
        ] {
            assert_eq!(matches(pattern, text), want, "{pattern} {text}");
        }
    }
}
