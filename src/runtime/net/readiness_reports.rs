//! The results of readiness checks, for a listener on another thread.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    runtime::Handle,
    sync::watch,
    time::{Instant, timeout},
};

use super::readiness::{CheckResult, Readiness};

/// How long a probe waits for the checks. A kubelet waits for a second by default.
const PATIENCE: Duration = Duration::from_millis(500);

/// How old the results may be that are reported where the checks take longer.
const LONGEST: Duration = Duration::from_secs(30);

/// Runs readiness checks where the server runs, and keeps their last results. However many probes ask, one run is going on.
pub(super) struct ReadinessReports {
    readiness: Readiness,
    server: Handle,
    is_running: AtomicBool,
    last: watch::Sender<Option<ReadinessReport>>,
}

#[derive(Clone, Debug)]
struct ReadinessReport {
    at: Instant,
    checks: Vec<CheckResult>,
}

impl ReadinessReports {
    /// Reports of checks that run on the runtime of the caller.
    pub(super) fn new(readiness: Readiness) -> Arc<Self> {
        let (is_running, last) = (AtomicBool::new(false), watch::Sender::new(None));
        Arc::new(Self { readiness, server: Handle::current(), is_running, last })
    }

    /// The results of the checks: those of now, or the last ones if the checks take too long.
    pub(super) async fn check(self: &Arc<Self>) -> Vec<CheckResult> {
        let mut reports = self.last.subscribe();
        self.start();
        let is_late = timeout(PATIENCE, reports.changed()).await.is_err();
        let last = reports.borrow().clone();
        let age = last.as_ref().map(|report| report.at.elapsed());
        match (last, age) {
            (Some(report), Some(age)) if !is_late || age <= LONGEST => report.checks,
            (_, age) => {
                let since = age.map_or_else(|| "yet".to_owned(), |age| format!("for {} s", age.as_secs()));
                vec![CheckResult { name: "checks", result: Err(format!("have not ended {since}")) }]
            }
        }
    }

    /// Starts the checks, unless they run.
    fn start(self: &Arc<Self>) {
        if self.is_running.swap(true, Ordering::AcqRel) {
            return;
        }
        let run = RunningChecks(self.clone());
        self.server.spawn(async move {
            let reports = run.0.clone();
            let checks = reports.readiness.check().await;
            // Those who ask from here on start another run, even if they see this report.
            drop(run);
            reports.last.send_replace(Some(ReadinessReport { at: Instant::now(), checks }));
        });
    }
}

/// A run of the checks, until it is dropped.
struct RunningChecks(Arc<ReadinessReports>);

impl Drop for RunningChecks {
    fn drop(&mut self) {
        self.0.is_running.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{advance, sleep};

    use super::*;

    /// The answers to probes, this many seconds after one another.
    #[tokio::test(start_paused = true)]
    async fn a_probe_gets_results_in_time() {
        let takes = Arc::new(std::sync::Mutex::new(Duration::ZERO));
        let mut readiness = Readiness::default();
        let of_check = takes.clone();
        readiness.add_async("slow", move || {
            let takes = *of_check.lock().unwrap();
            async move {
                sleep(takes).await;
                Ok(())
            }
        });
        let reports = ReadinessReports::new(readiness);
        let ok = CheckResult { name: "slow", result: Ok(()) };
        let late = |since: &str| CheckResult { name: "checks", result: Err(format!("have not ended {since}")) };
        // How long the checks take, what happens before the probe, and its answer.
        for (seconds, pause, want) in [
            (3600, 0, late("yet")),
            (0, 3600, ok.clone()),
            (3600, 10, ok.clone()),
            (3600, 10, ok.clone()),
            (3600, 10, late("for 31 s")),
        ] {
            *takes.lock().unwrap() = Duration::from_secs(seconds);
            advance(Duration::from_secs(pause)).await;
            // A run that was going on has ended by now, or not.
            tokio::task::yield_now().await;
            let began = Instant::now();
            assert_eq!(reports.check().await, [want], "{seconds} {pause}");
            assert!(began.elapsed() <= PATIENCE + Duration::from_millis(1));
        }
    }
}
