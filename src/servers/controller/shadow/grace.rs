//! How long a difference may last: as the controllers are seen to take, with room.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

/// The shortest grace: kube-controller-manager takes some tens of milliseconds, and both programs see events at other times.
const SHORTEST: Duration = Duration::from_millis(800);
/// The longest grace: a controller that takes longer is slow.
const LONGEST: Duration = Duration::from_secs(30);
/// The room, as a multiple of what 99 of 100 differences take.
const ROOM: u32 = 3;
/// How many differences count, the latest ones, and how long.
const COUNTED: usize = 512;
const COUNTS_FOR: Duration = Duration::from_mins(10);
/// From so many differences on it is seen whether the controllers are slow as a rule.
const RULE: usize = 100;

/// How long the latest differences have lasted.
///
/// Those that took longer than the grace were reported, and prolong it only if they are more than a tenth: after one stall of the
/// controllers, the next one is to be reported just as soon. They count as their grace, so that it grows in steps.
#[derive(Debug, Default)]
pub(super) struct Latencies(VecDeque<Latency>);

#[derive(Clone, Copy, Debug)]
struct Latency {
    took: Duration,
    /// The grace that it has exceeded.
    exceeded: Option<Duration>,
    ended: Instant,
}

impl Latencies {
    /// The controllers have put a difference right, after they exceeded this grace or in time.
    pub(super) fn add(&mut self, took: Duration, exceeded: Option<Duration>, ended: Instant) {
        if self.0.len() == COUNTED {
            self.0.pop_front();
        }
        self.0.push_back(Latency { took, exceeded, ended });
    }

    /// Forgets what was long ago.
    pub(super) fn sweep(&mut self, now: Instant) {
        while self.0.front().is_some_and(|oldest| now.duration_since(oldest.ended) >= COUNTS_FOR) {
            self.0.pop_front();
        }
    }

    /// What this part of a hundred differences takes at most; `None` if there were none.
    pub(super) fn percentile(&self, percent: usize) -> Option<Duration> {
        percentile(self.0.iter().map(|latency| latency.took), percent)
    }

    /// How long a difference may last.
    pub(super) fn grace(&self) -> Duration {
        let in_time = self.0.iter().filter(|latency| latency.exceeded.is_none()).map(|latency| latency.took);
        let as_a_rule = self.0.iter().map(|latency| latency.exceeded.unwrap_or(latency.took));
        let as_a_rule = percentile(as_a_rule, 90).filter(|_| self.0.len() >= RULE);
        let usual = percentile(in_time, 99).max(as_a_rule).unwrap_or_default();
        usual.saturating_mul(ROOM).clamp(SHORTEST, LONGEST)
    }
}

fn percentile(latencies: impl Iterator<Item = Duration>, percent: usize) -> Option<Duration> {
    let mut sorted: Vec<Duration> = latencies.collect();
    sorted.sort_unstable();
    sorted.get((sorted.len() * percent / 100).min(sorted.len().saturating_sub(1))).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The grace after these latencies, in ms, each judged by the grace before it.
    fn grace_after(latencies: &[u64]) -> u128 {
        let (mut observed, now) = (Latencies::default(), Instant::now());
        for took in latencies {
            let (took, grace) = (Duration::from_millis(*took), observed.grace());
            observed.add(took, (took > grace).then_some(grace), now);
        }
        observed.grace().as_millis()
    }

    #[test]
    fn the_grace_follows_what_is_observed() {
        for (latencies, want) in [
            (vec![], 800),
            (vec![20; 100], 800),
            (vec![300], 900),
            ([vec![20; 999], vec![5000]].concat(), 800),
            ([vec![20; 400], vec![500; 100]].concat(), 1500),
            ([vec![60_000; 600], vec![20; 512]].concat(), 800),
        ] {
            assert_eq!(grace_after(&latencies), want, "{latencies:?}");
        }
    }

    #[test]
    fn a_stall_does_not_prolong_it_and_a_slow_controller_does() {
        for (latencies, want) in [
            (vec![10_000], 800),
            (vec![10_000; 99], 800),
            ([vec![20; 94], vec![10_000; 6]].concat(), 800),
            ([vec![20; 500], vec![10_000; 50]].concat(), 800),
            (vec![2000; 100], 2400),
            (vec![2000; 300], 6000),
            (vec![60_000; 600], 30_000),
        ] {
            assert_eq!(grace_after(&latencies), want, "{latencies:?}");
        }
    }

    #[test]
    fn what_was_long_ago_does_not_count() {
        let (mut observed, start) = (Latencies::default(), Instant::now());
        observed.add(Duration::from_millis(700), None, start);
        for (after, want) in [(599, 2100), (600, 800)] {
            observed.sweep(start + Duration::from_secs(after));
            assert_eq!(observed.grace().as_millis(), want);
        }
    }
}
