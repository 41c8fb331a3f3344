//! How many letters differ between two texts.

use smallvec::SmallVec;

/// The longest text that is compared letter by letter.
const LONGEST: usize = 320;

/// How many letters to insert, remove or replace to make one text of the other. Texts that are longer than labels are
/// not compared.
pub(super) fn letters(a: &str, b: &str) -> usize {
    letters_below(a, b, usize::MAX).unwrap_or(LONGEST)
}

/// The same, if it is below a limit.
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
