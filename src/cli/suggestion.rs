//! "Did you mean …?": the name that was most likely meant.

use roster_engine::enumeration::any_of;

/// The longest text that is compared letter by letter.
const MAX_COMPARED: usize = 512;

/// The candidate that is most like what was typed, if one is: a few letters differ, or one contains the other as a word. `name`
/// gives the text to compare.
pub(super) fn nearest<T>(typed: &str, candidates: impl IntoIterator<Item = T>, name: impl Fn(&T) -> &str) -> Option<T> {
    let letters = typed.chars().count();
    // A fourth of the letters, and always one.
    let few = 1 + letters / 4;
    let like = |candidate: &T| {
        let name = name(candidate);
        if typed.is_empty() || name.is_empty() {
            return None;
        }
        let longer = letters.abs_diff(name.chars().count());
        if has_word(name, typed) || has_word(typed, name) {
            return Some(longer);
        }
        // Each letter of one is compared with each of the other.
        let is_compared = longer <= few && letters <= MAX_COMPARED;
        let distance = is_compared.then(|| strsim::osa_distance(typed, name))?;
        (distance <= few && distance < letters).then_some(distance)
    };
    candidates
        .into_iter()
        .filter_map(|c| like(&c).map(|distance| (distance, c)))
        .min_by_key(|(d, _)| *d)
        .map(|(_, c)| c)
}

/// Whether a text contains another one as a word, or several.
fn has_word(text: &str, word: &str) -> bool {
    let ends = |rest: Option<char>| rest.is_none_or(|c| !c.is_alphanumeric());
    let is_word =
        |(at, _): (usize, &str)| ends(text[..at].chars().next_back()) && ends(text[at + word.len()..].chars().next());
    !word.is_empty() && text.match_indices(word).any(is_word)
}

/// `; did you mean a or b?`: the end of a message; empty if nothing is meant.
pub(super) fn did_you_mean(names: &[impl AsRef<str>]) -> String {
    if names.is_empty() { String::new() } else { format!("; did you mean {}?", any_of(names)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_suggested() {
        let names = ["web", "web-canary", "cart", "payment", "api", "y", ""];
        for (typed, want) in [
            ("web", Some("web")),
            ("we", Some("web")),
            ("wbe", Some("web")),
            ("canary", Some("web-canary")),
            ("web-canaary", Some("web-canary")),
            ("paymnet", Some("payment")),
            ("payments", Some("payment")),
            ("search", None),
            // Letters within another word mean nothing.
            ("capital", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed, names, |name| name), want, "{typed}");
        }
    }
}
