//! The exponent of a case: how its instructions grow with the bytes of its input.

/// One input: its size, and what it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Measured {
    /// The bytes of the input and of its answer.
    pub bytes: u64,
    pub instructions: u64,
}

/// The least that an input takes more than the one of half its size, for an exponent to say something: threads and allocations
/// take some thousand instructions more or less each time.
const LEAST: u64 = 50_000;

/// The bytes that twice an input has more, as a factor, above which it is itself a product: 2 if it is none, and 4 if it is.
const PRODUCT: f64 = 2.3;

/// The exponent between the first step (n to 2n) and the second (2n to 4n): 1 where twice the input takes twice as much, 2
/// where it takes four times as much. What every input takes, whatever its size, is in no step. An input that is a product of
/// both dimensions, or has an answer that is, may take as much. `None` if the steps are too small to tell.
pub(super) fn exponent(inputs: [Measured; 3]) -> Option<f64> {
    let step = |of: fn(&Measured) -> u64, i: usize| of(&inputs[i + 1]).saturating_sub(of(&inputs[i]));
    let [first, second] = [0, 1].map(|i| step(|input| input.instructions, i));
    let [first_bytes, second_bytes] = [0, 1].map(|i| step(|input| input.bytes, i));
    if second < LEAST {
        return None;
    }
    let growth = (second as f64 / first.max(LEAST / 2) as f64).log2();
    let is_product = second_bytes as f64 > PRODUCT * first_bytes as f64;
    Some(if is_product { growth / 2.0 } else { growth })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exponent_is_that_of_the_work() {
        let case = |work: fn(u64) -> u64, bytes: fn(u64) -> u64| {
            exponent([100, 200, 400].map(|n| Measured { bytes: bytes(n), instructions: work(n) }))
        };
        let linear = |n| 100 * n;
        for (work, bytes, want) in [
            ((|n| 5_000 * n) as fn(u64) -> u64, linear as fn(u64) -> u64, Some(1.0)),
            // What is done once does not count.
            (|n| 9_000_000 + 5_000 * n, linear, Some(1.0)),
            (|n| 50 * n * n, linear, Some(2.0)),
            (|n| 7_000_000 + 50 * n * n, linear, Some(2.0)),
            // An input that is itself a product.
            (|n| 50 * n * n, |n| n * n, Some(1.0)),
            (|n| n * n * n, |n| n * n, Some(1.5)),
            // Half of it is a product.
            (|n| 5_000 * n + 20 * n * n, linear, Some(1.628)),
            // Hardly anything.
            (|n| 1_000_000 + n, linear, None),
            (|_| 1_000_000, linear, None),
            // A product in an input that does not grow.
            (|n| 50 * n * n, |_| 100, Some(2.0)),
        ] {
            assert_eq!(case(work, bytes).map(|e| (e * 1000.0).round() / 1000.0), want);
        }
    }
}
