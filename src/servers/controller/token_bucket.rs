//! A token bucket that limits requests: a value that knows no clock.

use std::time::Duration;

use tokio::time::Instant;

/// The rate of the writes of a controller (`--kube-api-qps` and `--kube-api-burst` of kube-controller-manager).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WriteRate {
    /// How many a second, over time. More than zero.
    pub per_second: f64,
    /// How many at once, after a pause.
    pub burst: u32,
}

/// The bucket. A request that takes a token that is not there yet has it when it will be, and waits until then: those who come later
/// wait for later ones, so that all go on in turn.
#[derive(Debug)]
pub(super) struct TokenBucket {
    rate: WriteRate,
    /// The tokens at that time. Less than none: they are promised.
    tokens: f64,
    at: Option<Instant>,
}

impl TokenBucket {
    pub(super) fn new(rate: WriteRate) -> Self {
        Self { rate, tokens: rate.burst.into(), at: None }
    }

    /// Takes a token, and returns how long to wait for it.
    pub(super) fn take(&mut self, now: Instant) -> Duration {
        let WriteRate { per_second, burst } = self.rate;
        let passed = self.at.map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
        self.at = Some(self.at.map_or(now, |at| at.max(now)));
        self.tokens = (self.tokens + passed.as_secs_f64() * per_second).min(burst.into()) - 1.0;
        Duration::try_from_secs_f64(-self.tokens / per_second).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_free_and_then_the_rate_counts() {
        let mut bucket = TokenBucket::new(WriteRate { per_second: 10.0, burst: 3 });
        let start = Instant::now();
        for (now, want) in [
            // The burst, and those after it in turn.
            (0, 0),
            (0, 0),
            (0, 0),
            (0, 100),
            (0, 200),
            // Half a token has come since.
            (50, 250),
            // All that was promised is there, and one more.
            (400, 0),
            (400, 100),
            // A long pause fills the bucket, and no more than that.
            (100_000, 0),
            (100_000, 0),
            (100_000, 0),
            (100_000, 100),
            // A clock that was read too early gives none.
            (99_000, 200),
            (100_100, 200),
        ] {
            let wait = bucket.take(start + Duration::from_millis(now));
            assert_eq!((wait + Duration::from_micros(500)).as_millis(), want, "after {now} ms");
        }
    }

    #[test]
    fn a_rate_below_one_waits_for_seconds() {
        let mut bucket = TokenBucket::new(WriteRate { per_second: 0.5, burst: 1 });
        let start = Instant::now();
        let waits = [0, 0, 4].map(|second| bucket.take(start + Duration::from_secs(second)).as_secs());
        assert_eq!(waits, [0, 2, 0]);
    }
}
