//! When a watch has failed for so long that what it keeps is old.

use std::time::Duration;

use tokio::time::Instant;

/// Errors for longer than this make the copy old.
const PATIENCE: Duration = Duration::from_mins(1);

/// Errors further apart than this have nothing to do with each other. kube's watcher resumes a watch without a word,
/// and where it fails it tries again after at most a minute (30 s and as much jitter), each time for at most 10 s.
const APART: Duration = Duration::from_mins(2);

/// The errors of a watch since it last told something.
#[derive(Debug, Default)]
pub(super) struct Streak(Option<Run>);

#[derive(Debug)]
struct Run {
    began: Instant,
    last: Instant,
    lost: bool,
}

impl Streak {
    /// Notes an error; whether the copy is old from now on. That is said once in a streak.
    pub(super) fn error(&mut self, now: Instant) -> bool {
        // What is lost stays so until the watch tells something, however rare the errors are.
        let run = self.0.take().filter(|r| r.lost || now.duration_since(r.last) <= APART);
        let mut run = run.unwrap_or(Run { began: now, last: now, lost: false });
        let lost = !run.lost && now.duration_since(run.began) > PATIENCE;
        run.last = now;
        run.lost |= lost;
        self.0 = Some(run);
        lost
    }

    /// The watch has told something.
    pub(super) fn end(&mut self) {
        self.0 = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    enum Step {
        Error,
        Good,
    }
    use Step::{Error, Good};

    #[test]
    fn a_copy_is_old_once_after_a_minute_of_errors() {
        /// Steps at seconds, and the seconds at which the copy becomes old.
        type Row = (&'static str, &'static [(u64, Step)], &'static [u64]);
        let table: &[Row] = &[
            ("one error", &[(0, Error)], &[]),
            ("a minute, and not more", &[(0, Error), (30, Error), (60, Error)], &[]),
            ("more than a minute", &[(0, Error), (30, Error), (61, Error)], &[61]),
            ("said once", &[(0, Error), (61, Error), (90, Error), (150, Error), (400, Error)], &[61]),
            ("ended in between", &[(0, Error), (50, Error), (55, Good), (70, Error), (100, Error)], &[]),
            ("again after its end", &[(0, Error), (61, Error), (70, Good), (80, Error), (141, Error)], &[61, 141]),
            ("resumed without a word", &[(0, Error), (121, Error), (150, Error)], &[]),
            ("the longest pause between tries", &[(0, Error), (120, Error)], &[120]),
        ];
        let start = Instant::now();
        for (name, steps, wanted) in table {
            let mut streak = Streak::default();
            let mut lost = Vec::new();
            for (second, step) in *steps {
                match step {
                    Good => streak.end(),
                    Error if streak.error(start + Duration::from_secs(*second)) => lost.push(*second),
                    Error => {}
                }
            }
            assert_eq!(lost, *wanted, "{name}");
        }
    }
}
