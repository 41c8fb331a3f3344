//! How a run of the program ended, and its exit code.

use std::process::ExitCode;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Nothing to report.
    Success,
    /// There is something to change or to look at.
    Findings,
    /// Part of the input could not be read; the rest was answered.
    BadInput,
}

impl Outcome {
    /// The outcome of an answer: whether all of the input was read, and whether there is something to look at.
    pub(super) fn of(complete: bool, findings: bool) -> Self {
        match (complete, findings) {
            (false, _) => Self::BadInput,
            (true, true) => Self::Findings,
            (true, false) => Self::Success,
        }
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(match outcome {
            Outcome::Success => 0,
            Outcome::Findings => 1,
            Outcome::BadInput => 2,
        })
    }
}
