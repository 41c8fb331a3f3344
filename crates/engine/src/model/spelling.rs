//! Spelling: how many letters differ between two texts, whether one is the other, mistyped, and which name was meant.

use smallvec::SmallVec;

use crate::phrase::any_of;

/// The longest text that is compared letter by letter, in bytes.
pub const LONGEST: usize = 320;

/// Below how many letters two texts may differ of which one is the other, mistyped.
const MISTYPED: usize = 3;

/// The shortest text in which two other letters make no other word.
const LONG: usize = 8;

/// The fewest letters that mean something as the beginning of a word.
const PART: usize = 4;

/// Whether two texts of these lengths may be one, mistyped.
pub fn are_alike(a: usize, b: usize) -> bool {
    a.abs_diff(b) < MISTYPED && a.max(b) <= LONGEST
}

/// How many letters differ, apart from their case, if one text is probably the other one, mistyped: a letter, or two that have
/// changed places or are those of a long text. `hosts` and `ports` are two words, and so are `web` and `db`.
pub fn typo(a: &str, b: &str) -> Option<usize> {
    if !are_alike(a.len(), b.len()) {
        return None;
    }
    let [a, b] = [a, b].map(lower);
    let longest = a.len().max(b.len());
    let sorted = |bytes: &[u8]| {
        let mut bytes: SmallVec<[u8; 32]> = bytes.into();
        bytes.sort_unstable();
        bytes
    };
    let letters = bytes_below(&a, &b, MISTYPED)?;
    let is_typo = match letters {
        0 => true,
        1 => longest > 1,
        _ => longest >= LONG || sorted(&a) == sorted(&b),
    };
    is_typo.then_some(letters)
}

/// A byte for each letter, in lower case. Letters that are not ASCII are none of a name.
fn lower(text: &str) -> SmallVec<[u8; 32]> {
    text.chars().map(|c| if c.is_ascii() { c.to_ascii_lowercase() as u8 } else { u8::MAX }).collect()
}

/// The name that was most likely meant, if one is like what was typed: it is a [`typo`], a fourth of the letters differ, or one
/// contains the other. Of equally likely names, this is the first. `name` gives the text of a candidate.
pub fn nearest<T>(typed: &str, candidates: impl IntoIterator<Item = T>, name: impl Fn(&T) -> &str) -> Option<T> {
    closest(candidates, |candidate| likeness(typed, name(candidate)))
}

/// The name of which what was typed is a [`typo`]. Of equally likely names, this is the first.
pub fn mistyped<T>(typed: &str, candidates: impl IntoIterator<Item = T>, name: impl Fn(&T) -> &str) -> Option<T> {
    closest(candidates, |candidate| typo(name(candidate), typed))
}

/// The first of the candidates with the fewest letters, among those that have a number.
fn closest<T>(candidates: impl IntoIterator<Item = T>, letters: impl Fn(&T) -> Option<usize>) -> Option<T> {
    let counted = candidates.into_iter().filter_map(|candidate| Some((letters(&candidate)?, candidate)));
    counted.min_by_key(|(letters, _)| *letters).map(|(_, candidate)| candidate)
}

/// How many letters differ between what was typed and a name that may be meant.
fn likeness(typed: &str, name: &str) -> Option<usize> {
    if typed.is_empty() || name.is_empty() {
        return None;
    }
    if has_word(name, typed) || has_word(typed, name) {
        return Some(typed.len().abs_diff(name.len()));
    }
    let few = typed.chars().count() / 4;
    typo(typed, name).or_else(|| letters_below(typed, name, typed.len().min(few + 1)))
}

/// Whether a text contains a word, apart from the case: all of it, or a beginning that is long enough to mean something. A word
/// begins with a capital letter, or after a character that is not alphanumeric.
pub fn has_word(text: &str, word: &str) -> bool {
    let begins = |at: usize| {
        let first = text[at..].chars().next();
        let before = text[..at].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric()) || first.is_some_and(char::is_uppercase)
    };
    let ends = |at: usize| text[at..].chars().next().is_none_or(|c| !c.is_alphanumeric());
    let (lower_text, lower_word) = (text.to_ascii_lowercase(), word.to_ascii_lowercase());
    let mut found = lower_text.match_indices(&lower_word).map(|(at, _)| at);
    found.any(|at| begins(at) && (word.len() >= PART || ends(at + word.len())))
}

/// `; did you mean a or b?`: the end of a message; empty if nothing is meant.
pub fn did_you_mean(names: &[impl AsRef<str>]) -> String {
    if names.is_empty() { String::new() } else { format!("; did you mean {}?", any_of(names)) }
}

/// How many letters to insert, remove or replace to make one text of the other. Texts that are longer than [`LONGEST`] are
/// not compared.
pub fn letters(a: &str, b: &str) -> usize {
    letters_below(a, b, usize::MAX).unwrap_or(LONGEST)
}

/// [`letters`], if they are below a limit.
pub fn letters_below(a: &str, b: &str, limit: usize) -> Option<usize> {
    bytes_below(a.as_bytes(), b.as_bytes(), limit)
}

fn bytes_below(a: &[u8], b: &[u8], limit: usize) -> Option<usize> {
    if a.len().max(b.len()) > LONGEST {
        return (LONGEST < limit).then_some(LONGEST);
    }
    if a.len().abs_diff(b.len()) >= limit {
        return None;
    }
    let (a, b) = without_common_ends(a, b);
    // No two texts of this length differ in more.
    let limit = limit.min(LONGEST + 1);
    // Only what is closer to the diagonal than the limit is computed: all else has no less than the limit.
    let mut row: SmallVec<[usize; 32]> = (0..=b.len()).map(|column| column.min(limit)).collect();
    // A vector that may be inline or not asks where its elements are at each index.
    let row = row.as_mut_slice();
    for (i, x) in a.iter().enumerate() {
        let (from, to) = ((i + 1).saturating_sub(limit), (i + limit).min(b.len()));
        let mut diagonal = std::mem::replace(&mut row[from], (i + 1).min(limit));
        let mut least = row[from];
        for (j, y) in b.iter().enumerate().take(to).skip(from) {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
            least = least.min(row[j + 1]);
        }
        // No later row has less than the least of this one.
        if least >= limit {
            return None;
        }
    }
    Some(row[b.len()]).filter(|letters| *letters < limit)
}

/// Two texts without what both begin and end with: it does not add to their distance.
fn without_common_ends<'t>(a: &'t [u8], b: &'t [u8]) -> (&'t [u8], &'t [u8]) {
    let begin = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[begin..], &b[begin..]);
    let end = a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count();
    (&a[..a.len() - end], &b[..b.len() - end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_text_is_almost_the_right_one() {
        for (a, b, want) in [
            ("wbe", "web", Some(2)),
            ("web", "we", Some(1)),
            ("web", "webs", Some(1)),
            ("web", "db", None),
            ("api", "app", Some(1)),
            ("api", "web", None),
            ("cache", "chace", Some(2)),
            ("frontend", "frontent", Some(1)),
            ("frontend", "backend", None),
            ("a", "b", None),
            ("", "ab", None),
            ("Replicas", "replicas", Some(0)),
            ("imgae", "image", Some(2)),
            ("port", "ports", Some(1)),
            ("hosts", "ports", None),
            ("paths", "ports", None),
            ("containrs", "containers", Some(1)),
            ("contianerz", "containers", None),
            ("initialDelaySecs", "initialDelaySeconds", None),
            ("selectrs", "selector", Some(2)),
            ("n\u{430}me", "name", Some(1)),
        ] {
            assert_eq!((typo(a, b), typo(b, a)), (want, want), "{a} {b}");
        }
    }

    #[test]
    fn the_nearest_name_is_meant() {
        let names = ["web", "web-canary", "cart", "payment", "namespaceSelector", "api", "y", ""];
        for (typed, want) in [
            ("web", Some("web")),
            ("we", Some("web")),
            ("wbe", Some("web")),
            ("canary", Some("web-canary")),
            ("web-canaary", Some("web-canary")),
            ("paymnet", Some("payment")),
            ("payments", Some("payment")),
            ("selector", Some("namespaceSelector")),
            ("search", None),
            // A few letters within another word mean nothing.
            ("capital", None),
            ("pace", None),
            ("ayme", None),
            ("caps", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed, names, |name| name), want, "{typed}");
        }
    }

    /// Whatever the limit leaves out, what is below it is right.
    #[test]
    fn a_limit_changes_no_distance_below_it() {
        let long = |text: &str| text.repeat(40);
        let texts: Vec<String> =
            ["", "a", "b", "ab", "ba", "web", "wbe", "backend", "frontend", "xfrontendx", "dnetnorf"]
                .into_iter()
                .map(str::to_owned)
                .chain([long("abcdefgh"), long("bcdefgha"), long("abcdxfgh"), long("a"), "z".repeat(LONGEST + 1)])
                .collect();
        for (a, b) in texts.iter().flat_map(|a| texts.iter().map(move |b| (a, b))) {
            let all = slow(a.as_bytes(), b.as_bytes());
            assert_eq!(letters(a, b), all, "{a} {b}");
            for limit in [0, 1, 2, 3, 4, 7, 8, 9, 40, 80, 81, 319, 320, 321, 1000] {
                assert_eq!(letters_below(a, b, limit), Some(all).filter(|all| *all < limit), "{a} {b} {limit}");
            }
        }
    }

    /// The distance by its definition.
    fn slow(a: &[u8], b: &[u8]) -> usize {
        if a.len().max(b.len()) > LONGEST {
            return LONGEST;
        }
        let mut above: Vec<usize> = (0..=b.len()).collect();
        for (i, x) in a.iter().enumerate() {
            let mut row = vec![i + 1];
            for (j, y) in b.iter().enumerate() {
                row.push((above[j] + usize::from(x != y)).min(above[j + 1] + 1).min(row[j] + 1));
            }
            above = row;
        }
        above[b.len()]
    }
}
