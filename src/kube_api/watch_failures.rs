//! When a watch has failed for so long that what was read is old, and the metric that says so.

use std::time::Duration;

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{family::Family, gauge::Gauge},
    registry::Registry,
};
use tokio::time::Instant;

/// Errors for longer than this make the objects old.
const TOLERANCE: Duration = Duration::from_mins(1);

/// Errors further apart than this are unrelated. kube's watcher resumes a watch without an event, and where it fails, it
/// tries again after at most a minute (30 s and as much jitter), each time for at most 10 s.
const APART: Duration = Duration::from_mins(2);

/// The errors of a watch since its last event.
#[derive(Debug, Default)]
pub(super) struct WatchFailures(Option<Run>);

#[derive(Debug)]
struct Run {
    began: Instant,
    last: Instant,
    is_stale: bool,
}

impl WatchFailures {
    /// Counts an error. Returns whether the objects are old from now on: `true` once in a run of errors.
    pub(super) fn error(&mut self, now: Instant) -> bool {
        // What is stale stays so until the next event, however rare the errors are.
        let run = self.0.take().filter(|r| r.is_stale || now.duration_since(r.last) <= APART);
        let mut run = run.unwrap_or(Run { began: now, last: now, is_stale: false });
        let becomes_stale = !run.is_stale && now.duration_since(run.began) > TOLERANCE;
        run.last = now;
        run.is_stale |= becomes_stale;
        self.0 = Some(run);
        becomes_stale
    }

    /// Ends the run of errors: there was an event.
    pub(super) fn end(&mut self) {
        self.0 = None;
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WatchLabels {
    kind: &'static str,
}

/// Metrics of the watches of a cluster. A clone counts into the same metrics.
#[derive(Clone, Debug, Default)]
pub struct WatchMetrics {
    stale: Family<WatchLabels, Gauge>,
}

impl WatchMetrics {
    /// Registers all of them.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "roster_cache_stale",
            "1 where the watched objects of a resource are stale: the watch has failed for a minute or more, or policies cannot be converted",
            self.stale.clone(),
        );
    }

    /// Whether the watched objects of a resource are stale.
    pub fn is_stale(&self, kind: &'static str) -> bool {
        self.stale.get(&WatchLabels { kind }).is_some_and(|stale| stale.get() != 0)
    }

    /// Sets whether the watched objects of a resource are stale. `kind` is the plural, as in `kubectl get`.
    pub fn stale(&self, kind: &'static str, yes: bool) {
        self.stale.get_or_create(&WatchLabels { kind }).set(yes.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    enum Step {
        Error,
        Event,
    }
    use Step::{Error, Event};

    #[test]
    fn objects_are_old_once_after_a_minute_of_errors() {
        /// Steps at seconds, and the seconds at which the objects become old.
        type Row = (&'static str, &'static [(u64, Step)], &'static [u64]);
        let table: &[Row] = &[
            ("one error", &[(0, Error)], &[]),
            ("a minute, and not more", &[(0, Error), (30, Error), (60, Error)], &[]),
            ("more than a minute", &[(0, Error), (30, Error), (61, Error)], &[61]),
            ("reported once", &[(0, Error), (61, Error), (90, Error), (150, Error), (400, Error)], &[61]),
            ("ended in between", &[(0, Error), (50, Error), (55, Event), (70, Error), (100, Error)], &[]),
            ("again after its end", &[(0, Error), (61, Error), (70, Event), (80, Error), (141, Error)], &[61, 141]),
            ("resumed without an event", &[(0, Error), (121, Error), (150, Error)], &[]),
            ("the longest pause between tries", &[(0, Error), (120, Error)], &[120]),
        ];
        let start = Instant::now();
        for (name, steps, wanted) in table {
            let mut failures = WatchFailures::default();
            let mut stale = Vec::new();
            for (second, step) in *steps {
                match step {
                    Event => failures.end(),
                    Error if failures.error(start + Duration::from_secs(*second)) => stale.push(*second),
                    Error => {}
                }
            }
            assert_eq!(stale, *wanted, "{name}");
        }
    }
}
