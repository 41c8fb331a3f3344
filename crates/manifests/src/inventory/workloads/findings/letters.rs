//! How many letters differ between two texts.

use smallvec::SmallVec;

/// The longest text that is compared letter by letter.
pub(super) const LONGEST: usize = 320;

/// How many letters to insert, remove or replace to make one text of the other. Texts that are longer than labels are
/// not compared.
pub(super) fn letters(a: &str, b: &str) -> usize {
    letters_below(a, b, usize::MAX).unwrap_or(LONGEST)
}

/// Below how many letters two texts may differ of which one is the other, mistyped.
const MISTYPED: usize = 3;

/// Whether two texts of these lengths may be one, mistyped.
pub(super) fn are_alike(a: usize, b: usize) -> bool {
    a.abs_diff(b) < MISTYPED && a.max(b) <= LONGEST
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
    match letters_below(a, b, MISTYPED) {
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
