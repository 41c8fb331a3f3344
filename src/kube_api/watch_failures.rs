//! Why a watch fails, when it has failed for so long that what was read is old, and the metric that says so.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{family::Family, gauge::Gauge},
    registry::Registry,
};
use roster_engine::model::Resource;
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

    /// Ends the run of errors: there was an event. Returns whether there was one.
    pub(super) fn end(&mut self) -> bool {
        self.0.take().is_some()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WatchLabels {
    kind: &'static str,
}

/// Metrics of the watches of a cluster, and why they fail. A clone is the same one.
#[derive(Clone, Debug, Default)]
pub struct WatchMetrics {
    stale: Family<WatchLabels, Gauge>,
    /// The last error of each watch that has had no event since.
    failures: Arc<Mutex<BTreeMap<&'static str, String>>>,
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

    /// An error that names the resources that are not listed yet, and why their watches fail, if they do.
    pub(crate) fn check_listed(&self, unlisted: &[Resource]) -> Result<(), String> {
        let mut failing: Vec<(String, Vec<&str>)> = Vec::new();
        let mut waiting = Vec::new();
        for name in unlisted.iter().map(|resource| resource.plural()) {
            let Some(text) = self.failures().get(name).cloned() else {
                waiting.push(name);
                continue;
            };
            // An API server that cannot be reached is one cause for all of them.
            match failing.iter_mut().find(|(known, _)| *known == text) {
                Some((_, names)) => names.push(name),
                None => failing.push((text, vec![name])),
            }
        }
        let mut parts: Vec<String> =
            failing.into_iter().map(|(text, names)| format!("{}: {text}", names.join(", "))).collect();
        if !waiting.is_empty() {
            parts.push(format!("{}: not listed yet", waiting.join(", ")));
        }
        if parts.is_empty() { Ok(()) } else { Err(parts.join("; ")) }
    }

    /// Keeps why the watch of a resource fails.
    pub(super) fn fails(&self, kind: &'static str, text: &str) {
        self.failures().insert(kind, text.to_owned());
    }

    /// The watch of a resource works.
    pub(super) fn works(&self, kind: &'static str) {
        self.failures().remove(kind);
    }

    fn failures(&self) -> MutexGuard<'_, BTreeMap<&'static str, String>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
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
                    Event => drop(failures.end()),
                    Error if failures.error(start + Duration::from_secs(*second)) => stale.push(*second),
                    Error => {}
                }
            }
            assert_eq!(stale, *wanted, "{name}");
        }
    }

    #[test]
    fn what_is_not_listed_is_named_with_its_failure() {
        let all = [Resource::Service, Resource::Pod, Resource::Node, Resource::Endpoints];
        let away = "the API server https://a: Connection refused";
        for (name, failures, unlisted, want) in [
            ("listed", &[("pods", away)][..], &[][..], Ok(())),
            ("at the start", &[], &all[..2], Err("services, pods: not listed yet")),
            (
                "one is forbidden",
                &[("pods", "403 Forbidden: pods is forbidden")],
                &all[1..],
                Err("pods: 403 Forbidden: pods is forbidden; nodes, endpoints: not listed yet"),
            ),
            (
                "away",
                &[("services", away), ("pods", away), ("nodes", "no response in time")],
                &all[..3],
                Err("services, pods: the API server https://a: Connection refused; nodes: no response in time"),
            ),
        ] {
            let metrics = WatchMetrics::default();
            for (kind, text) in failures {
                metrics.fails(kind, text);
            }
            assert_eq!(metrics.check_listed(unlisted), want.map_err(str::to_owned), "{name}");
        }
        let metrics = WatchMetrics::default();
        metrics.fails("pods", away);
        metrics.works("pods");
        assert_eq!(metrics.check_listed(&[Resource::Pod]), Err("pods: not listed yet".to_owned()));
    }
}
