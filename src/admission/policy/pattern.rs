//! Names with `*` in them.

use crate::model::Text;

/// Whether one of the patterns fits.
pub(super) fn any(patterns: &[Text], text: &str) -> bool {
    patterns.iter().any(|p| fits(p, text))
}

/// Whether a pattern fits: `*` stands for any text, also for none.
pub(super) fn fits(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut left) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    // The first place is the best one for each part: what follows only gets longer.
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
            assert_eq!(fits(pattern, text), want, "{pattern} {text}");
        }
    }
}
