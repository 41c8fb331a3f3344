//! The pauses between attempts that fail.

use std::{
    hash::{BuildHasher, RandomState},
    time::Duration,
};

/// The pauses after consecutive failures: each is twice as long as the one before, up to the longest.
#[derive(Clone, Debug)]
pub(crate) struct BackOff {
    first: Duration,
    longest: Duration,
    next: Duration,
    has_jitter: bool,
}

impl BackOff {
    /// Pauses from `first` to `longest`.
    pub(crate) fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, next: first, has_jitter: false }
    }

    /// Takes a random part, up to half, from each pause. Replicas fail together when an API server goes away, and would
    /// return to it together.
    pub(crate) fn with_jitter(self) -> Self {
        Self { has_jitter: true, ..self }
    }

    /// The pause after one more failure.
    pub(crate) fn next(&mut self) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(self.longest);
        if self.has_jitter { pause.mul_f64(1.0 - random() / 2.0) } else { pause }
    }

    /// Begins anew after a success.
    pub(crate) fn reset(&mut self) {
        self.next = self.first;
    }
}

/// A number from 0 to 1. The keys of hash maps are random, which is enough here.
fn random() -> f64 {
    let bits = u32::try_from(RandomState::new().hash_one(()) >> 32).unwrap_or_default();
    f64::from(bits) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pauses(back_off: &mut BackOff, count: usize) -> Vec<f64> {
        (0..count).map(|_| back_off.next().as_secs_f64()).collect()
    }

    #[test]
    fn pauses_double_up_to_the_longest_until_a_success() {
        let mut back_off = BackOff::new(Duration::from_secs(2), Duration::from_mins(1));
        for _ in 0..2 {
            assert_eq!(pauses(&mut back_off, 7), [2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]);
            back_off.reset();
        }
    }

    #[test]
    fn jitter_takes_up_to_half_of_a_pause() {
        let back_off = BackOff::new(Duration::from_secs(2), Duration::from_secs(8)).with_jitter();
        let replicas: Vec<_> = (0..100).map(|_| pauses(&mut back_off.clone(), 4)).collect();
        for (n, longest) in [2.0, 4.0, 8.0, 8.0].into_iter().enumerate() {
            let of_n = || replicas.iter().map(|pauses| pauses[n]);
            assert!(of_n().all(|pause| (longest / 2.0..=longest).contains(&pause)), "{replicas:?}");
            // The chance that none of a hundred is in the least, or the greatest, fifth of the range is 1 in 10^9.
            let (least, most) = of_n().fold((f64::MAX, 0.0_f64), |(least, most), p| (least.min(p), most.max(p)));
            assert!(least < 0.6 * longest && most > 0.9 * longest, "{replicas:?}");
        }
    }
}
