//! Which failures of a task that tries again are logged.

use std::time::Duration;

use tokio::time::Instant;

/// How long a cause is not logged again.
const PAUSE: Duration = Duration::from_mins(1);

/// The most causes that are logged within that time: a text may hold something that changes each time.
const MOST: usize = 4;

/// The causes that were logged since the last success. Each is logged when it begins, and once a minute after that.
#[derive(Debug, Default)]
pub(crate) struct FailureLog(Vec<(String, Instant)>);

impl FailureLog {
    /// Whether a failure is to be logged.
    pub(crate) fn is_due(&mut self, cause: &str, now: Instant) -> bool {
        self.0.retain(|(_, at)| now.duration_since(*at) < PAUSE);
        let is_due = self.0.len() < MOST && self.0.iter().all(|(logged, _)| logged != cause);
        if is_due {
            self.0.push((cause.to_owned(), now));
        }
        is_due
    }

    /// A success: the next failure begins anew.
    pub(crate) fn end(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_logged_when_it_begins_and_once_a_minute() {
        let start = Instant::now();
        let mut log = FailureLog::default();
        // The second, the cause (none: a success), and whether it is logged.
        for (second, cause, want) in [
            (0, "refused", true),
            (2, "refused", false),
            (3, "403", true),
            (4, "refused", false),
            (59, "refused", false),
            (60, "refused", true),
            (61, "403", false),
            (62, "", false),
            (63, "403", true),
            (64, "1", true),
            (64, "2", true),
            (64, "3", true),
            (64, "4", false),
            (123, "4", true),
        ] {
            if cause.is_empty() {
                log.end();
                continue;
            }
            assert_eq!(log.is_due(cause, start + Duration::from_secs(second)), want, "{second} {cause}");
        }
    }
}
