//! The deadline of a review.
//!
//! An API server sends in `?timeout=` how long it still waits, rounded up to whole seconds. It discards later answers,
//! and a slow webhook delays every write: an unchecked answer in time is better.

use std::time::Duration;

use tokio::time::Instant;

/// The time reserved for reading and writing, and for the scheduler of a busy machine.
const RESERVE: Duration = Duration::from_millis(30);
/// The bytes per millisecond that a slow core decides at least.
const PACE: u32 = 30_000;

/// The time by which a review must be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Deadline(pub(super) Instant);

impl Deadline {
    /// `limit` from now, or the time-out of the query if it is shorter.
    pub(super) fn of(query: Option<&str>, now: Instant, limit: Duration) -> Self {
        let requested = query.and_then(timeout).unwrap_or(limit);
        Self(now + requested.min(limit))
    }

    /// The time at which half of the time is left: nothing that a review waits for may take longer.
    pub(super) fn halfway(self, now: Instant) -> Instant {
        now + self.0.saturating_duration_since(now) / 2
    }

    /// The latest time to begin a review of `bytes`.
    pub(super) fn latest_begin(self, bytes: usize) -> Instant {
        let millis = u32::try_from(bytes).unwrap_or(u32::MAX) / PACE;
        let work = RESERVE + Duration::from_millis(millis.into());
        self.0.checked_sub(work).unwrap_or(self.0)
    }
}

/// The `timeout` of a query such as `timeout=10s`; `None` if it is missing or invalid.
fn timeout(query: &str) -> Option<Duration> {
    let value = query.split('&').find_map(|pair| pair.strip_prefix("timeout="))?;
    duration(value)
}

/// A duration as Go writes it: `10s`, `1m30s`, `1.5s`, `250ms`.
fn duration(text: &str) -> Option<Duration> {
    let (mut rest, mut sum) = (text, Duration::ZERO);
    loop {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        let unit = rest[digits..].find(|c: char| c.is_ascii_digit()).map_or(rest.len(), |n| digits + n);
        let seconds = match &rest[digits..unit] {
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        sum = sum.checked_add(Duration::try_from_secs_f64(number * seconds).ok()?)?;
        rest = &rest[unit..];
        if rest.is_empty() {
            return Some(sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_are_go_durations() {
        for (query, want) in [
            ("timeout=10s", Some(10_000)),
            ("a=b&timeout=1m30s", Some(90_000)),
            ("timeout=1.5s", Some(1_500)),
            ("timeout=250ms", Some(250)),
            ("timeout=0s", Some(0)),
            ("timeout=", None),
            ("timeout=10", None),
            ("timeout=-1s", None),
            ("timeout=s", None),
            ("timeout=1e9h", None),
            ("timeout=999999999999999999999h", None),
            ("untimeout=1s", None),
            ("", None),
        ] {
            assert_eq!(timeout(query), want.map(Duration::from_millis), "{query}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_large_review_must_begin_earlier() {
        let now = Instant::now();
        let deadline = Deadline::of(Some("timeout=1s"), now, Duration::from_secs(30));
        let left = |bytes| deadline.latest_begin(bytes).saturating_duration_since(now).as_millis();
        assert_eq!((left(1_200), left(3_000_000), left(7 << 20)), (970, 870, 726));
        assert_eq!(Deadline::of(Some("timeout=1h"), now, Duration::from_secs(30)).0 - now, Duration::from_secs(30));
    }
}
