//! How long a difference may last: as the controllers are seen to take, with room.

use std::{collections::VecDeque, time::Duration};

/// The shortest grace: kube-controller-manager takes some tens of milliseconds, and both programs see events at other times.
const SHORTEST: Duration = Duration::from_millis(800);
/// The longest grace: a controller that takes longer is slow.
const LONGEST: Duration = Duration::from_secs(30);
/// The room, as a multiple of what 99 of 100 differences take.
const ROOM: u32 = 3;
/// How many differences count, the latest ones.
const COUNTED: usize = 512;

/// How long the latest differences have lasted.
#[derive(Debug, Default)]
pub(super) struct Latencies(VecDeque<Duration>);

impl Latencies {
    /// The controllers have put a difference right.
    pub(super) fn add(&mut self, lasted: Duration) {
        if self.0.len() == COUNTED {
            self.0.pop_front();
        }
        self.0.push_back(lasted);
    }

    /// What this part of a hundred differences takes at most; `None` if there were none.
    pub(super) fn percentile(&self, percent: usize) -> Option<Duration> {
        let mut sorted: Vec<Duration> = self.0.iter().copied().collect();
        sorted.sort_unstable();
        sorted.get((sorted.len() * percent / 100).min(sorted.len().saturating_sub(1))).copied()
    }

    /// How long a difference may last.
    pub(super) fn grace(&self) -> Duration {
        self.percentile(99).unwrap_or_default().saturating_mul(ROOM).clamp(SHORTEST, LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grace_follows_what_is_observed() {
        let ms = Duration::from_millis;
        for (latencies, want) in [
            (vec![], ms(800)),
            (vec![20; 100], ms(800)),
            (vec![300], ms(900)),
            ([vec![20; 999], vec![5000]].concat(), ms(800)),
            ([vec![20; 400], vec![500; 100]].concat(), ms(1500)),
            (vec![60_000; 10], ms(30_000)),
            ([vec![60_000; 600], vec![20; 512]].concat(), ms(800)),
        ] {
            let mut observed = Latencies::default();
            for latency in latencies {
                observed.add(ms(latency));
            }
            assert_eq!(observed.grace(), want);
        }
    }
}
