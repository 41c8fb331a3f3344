//! How many letters differ between two texts.

use smallvec::SmallVec;

/// The longest text that is compared letter by letter.
pub(super) const LONGEST: usize = 320;

/// How many letters to insert, remove or replace to make one text of the other. Texts that are longer than labels are
/// not compared.
pub(super) fn letters(a: &str, b: &str) -> usize {
    letters_below(a, b, usize::MAX).unwrap_or(LONGEST)
}

/// Whether one text is probably the other one, mistyped: a letter or two differ, or, in a short text, one, or two have changed
/// places. `web` and `db` are two words.
pub(super) fn may_be_mistyped(a: &str, b: &str) -> bool {
    /// The longest text in which two other letters make another word.
    const SHORT: usize = 4;
    let longest = a.len().max(b.len());
    let sorted = |text: &str| {
        let mut bytes: SmallVec<[u8; 32]> = text.bytes().collect();
        bytes.sort_unstable();
        bytes
    };
    match letters_below(a, b, 3) {
        Some(0 | 1) => longest > 1,
        Some(_) => longest > SHORT || sorted(a) == sorted(b),
        None => false,
    }
}

/// [`letters`], if they are below a limit.
pub(super) fn letters_below(a: &str, b: &str, limit: usize) -> Option<usize> {
    if a.len().max(b.len()) > LONGEST {
        return (LONGEST < limit).then_some(LONGEST);
    }
    if a.len().abs_diff(b.len()) >= limit {
        return None;
    }
    let (a, b) = without_common_ends(a.as_bytes(), b.as_bytes());
    let mut row: SmallVec<[usize; 32]> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        let mut least = row[0];
        for (j, y) in b.iter().enumerate() {
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
            ("wbe", "web", true),
            ("web", "we", true),
            ("web", "webs", true),
            ("web", "db", false),
            ("api", "app", true),
            ("api", "web", false),
            ("cache", "chace", true),
            ("frontend", "frontent", true),
            ("frontend", "backend", false),
            ("a", "b", false),
            ("", "ab", false),
        ] {
            assert_eq!((may_be_mistyped(a, b), may_be_mistyped(b, a)), (want, want), "{a} {b}");
        }
    }
}
