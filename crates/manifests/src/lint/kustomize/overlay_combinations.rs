//! Combinations of overlays of several bases, so that each two overlays of different bases are in one of them.

/// Most combinations: all objects are compared once for each. Two bases with 16 overlays each need 17².
pub(super) const MAX_COMBINATIONS: usize = 300;

/// Combinations of one overlay of each base, by the numbers of overlays of the bases.
///
/// All combinations would be too many: ten bases with three overlays each have 59 049. Rows of orthogonal arrays have
/// each pair of overlays, and for these ten bases there are 17.
pub(super) fn combinations(sizes: &[usize]) -> Vec<Vec<usize>> {
    if let [one] = sizes {
        return (0..*one).map(|place| vec![place]).collect();
    }
    let prime = prime(sizes);
    let mut all: Vec<Vec<usize>> = Vec::new();
    // The numbers of two bases differ in one digit: for that digit, they have different columns.
    for unit in units(prime + 1, sizes.len()) {
        for (a, b) in (0..prime).flat_map(|a| (0..prime).map(move |b| (a, b))) {
            let place = |(base, size): (usize, &usize)| cell(a, b, base / unit % (prime + 1), prime) % size;
            all.push(sizes.iter().enumerate().map(place).collect());
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// An upper bound of the number of combinations.
pub(super) fn count(sizes: &[usize]) -> usize {
    match sizes {
        [one] => *one,
        _ => prime(sizes).pow(2) * units(prime(sizes) + 1, sizes.len()).count(),
    }
}

/// The cell of a column in the row `(a, b)`: with a prime number, two columns have each pair of values in one row.
fn cell(a: usize, b: usize, column: usize, prime: usize) -> usize {
    if column == prime { b } else { (a + b * column) % prime }
}

/// The values of the digits of all numbers below `end`.
fn units(radix: usize, end: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(1), move |unit| Some(unit * radix)).take_while(move |unit| *unit < end)
}

/// The least prime number that is not less than any of the sizes.
fn prime(sizes: &[usize]) -> usize {
    let least = sizes.iter().copied().max().unwrap_or_default().max(2);
    // There is one below the double of any number.
    (least..2 * least).find(|number| (2..*number).all(|divisor| number % divisor != 0)).unwrap_or(least)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_two_overlays_are_in_one_combination() {
        for (sizes, want) in [
            (vec![3], 3),
            (vec![2, 2], 4),
            (vec![3, 2], 6),
            (vec![3; 10], 17),
            (vec![2, 3, 4, 5, 6], 47),
            (vec![16, 16], 256),
            (vec![3; 200], 33),
        ] {
            let all = combinations(&sizes);
            assert_eq!(all.len(), want, "{sizes:?}");
            assert!(count(&sizes) >= want, "{sizes:?}");
            for (one, other) in (0..sizes.len()).flat_map(|other| (0..other).map(move |one| (one, other))) {
                let pairs: BTreeSet<_> = all.iter().map(|places| (places[one], places[other])).collect();
                assert_eq!(pairs.len(), sizes[one] * sizes[other], "{sizes:?} {one} {other}");
            }
        }
    }
}
