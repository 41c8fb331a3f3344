//! Steps of a task: each is printed and timed, and a failure does not stop the next one.

use std::fmt;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};

use crate::command::in_ci;

/// How a step ended.
pub(crate) enum Outcome {
    /// The check passed.
    Passed,
    /// It ran these tests.
    Tests(Tally),
    /// It was skipped, for this reason.
    Skipped(String),
}

impl Outcome {
    /// A tool is missing: an error in continuous integration, a skipped step elsewhere.
    pub(crate) fn missing(hint: &str) -> Result<Self> {
        ensure!(!in_ci(), "{hint}");
        Ok(Self::Skipped(hint.to_owned()))
    }
}

/// Numbers of tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub passed: u64,
    pub failed: u64,
    pub ignored: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
    }
}

/// The steps that have run.
pub(crate) struct Steps {
    began: Instant,
    done: Vec<FinishedStep>,
}

/// A step that has run.
struct FinishedStep {
    name: String,
    took: Duration,
    end: Result<Outcome>,
}

impl FinishedStep {
    /// A check counts as one test; a step that ran tests counts as these. A step that ended with an error counts as one
    /// failure.
    fn tally(&self) -> Tally {
        match &self.end {
            Ok(Outcome::Passed) => Tally { passed: 1, ..Tally::default() },
            Ok(Outcome::Tests(tally)) => *tally,
            Ok(Outcome::Skipped(_)) => Tally::default(),
            Err(_) => Tally { failed: 1, ..Tally::default() },
        }
    }

    fn failed(&self) -> bool {
        self.tally().failed > 0
    }
}

impl fmt::Display for FinishedStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match &self.end {
            Ok(Outcome::Skipped(_)) => "skipped",
            _ if self.failed() => "FAILED",
            _ => "ok",
        };
        write!(f, "{word:8} {:>7}  {}", Seconds(self.took), self.name)?;
        match &self.end {
            Ok(Outcome::Passed) => Ok(()),
            Ok(Outcome::Tests(t)) => write!(f, ": {} passed, {} failed, {} ignored", t.passed, t.failed, t.ignored),
            Ok(Outcome::Skipped(why)) => write!(f, ": {why}"),
            Err(error) => write!(f, ": {error:#}"),
        }
    }
}

struct Seconds(Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:.1} s", self.0.as_secs_f64()))
    }
}

impl Steps {
    pub(crate) fn new() -> Self {
        Self { began: Instant::now(), done: Vec::new() }
    }

    /// Runs one step, and prints its name before and its outcome after.
    pub(crate) fn run(&mut self, name: impl Into<String>, step: impl FnOnce() -> Result<Outcome>) {
        let name = name.into();
        println!("==> {name}");
        let began = Instant::now();
        let end = step();
        let done = FinishedStep { name, took: began.elapsed(), end };
        println!("<== {done}\n");
        self.done.push(done);
    }

    /// Whether a step has failed.
    pub(crate) fn failed(&self) -> bool {
        self.done.iter().any(FinishedStep::failed)
    }

    /// Runs one step, unless one before it failed: then it is skipped.
    pub(crate) fn run_unless_failed(&mut self, name: impl Into<String>, step: impl FnOnce() -> Result<Outcome>) {
        let failed = self.failed();
        let why = "a step before it failed";
        self.run(name, || if failed { Ok(Outcome::Skipped(why.to_owned())) } else { step() });
    }

    /// Runs one step on a thread of its own, and the steps of `others` meanwhile. It should print nothing before its end.
    pub(crate) fn run_beside(
        &mut self,
        name: impl Into<String>,
        step: impl FnOnce() -> Result<Outcome> + Send,
        others: impl FnOnce(&mut Self),
    ) {
        let name = name.into();
        println!("==> {name}; its output follows the next steps\n");
        let began = Instant::now();
        let (end, took) = thread::scope(|scope| {
            let running = scope.spawn(|| (step(), began.elapsed()));
            others(self);
            running.join().unwrap_or_else(|_| (Err(anyhow!("the thread of a step panicked")), began.elapsed()))
        });
        let done = FinishedStep { name, took, end };
        println!("<== {done}\n");
        self.done.push(done);
    }

    /// Prints the summary; its last line is `N passed, N failed`. Returns whether nothing failed.
    pub(crate) fn finish(self) -> bool {
        let mut sum = Tally::default();
        println!("summary, {} in all:", Seconds(self.began.elapsed()));
        for done in &self.done {
            println!("  {done}");
            sum += done.tally();
        }
        println!("{} passed, {} failed", sum.passed, sum.failed);
        sum.failed == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_needs_the_others_does_not_run_after_a_failure() {
        let tests = |failed| Ok(Outcome::Tests(Tally { passed: 1, failed, ignored: 0 }));
        let cases: [(&str, Result<Outcome>, bool); 5] = [
            ("passed", Ok(Outcome::Passed), true),
            ("skipped", Ok(Outcome::Skipped("no tool".to_owned())), true),
            ("tests passed", tests(0), true),
            ("a test failed", tests(1), false),
            ("error", Err(anyhow!("broken")), false),
        ];
        for (what, end, want) in cases {
            let (mut steps, mut ran) = (Steps::new(), false);
            steps.run("first", || end);
            steps.run("between", || Ok(Outcome::Passed));
            steps.run_unless_failed("push", || {
                ran = true;
                Ok(Outcome::Passed)
            });
            assert_eq!(ran, want, "{what}");
        }
    }
}
