//! Users' own test cases: what is expected of their manifests, and whether it holds.
//!
//! ```text
//! roster-test.yaml ─► TestFile ─┬─ inputs ─► TestInput ─► plan · explain · deviations · review ─┐
//!                               └─ tests ───────────────────────────────────────────────────────┴─► TestResult
//! ```
//!
//! Nothing is decided here: every check reads the answer of a function that a command prints.

mod check_changes;
mod check_findings;
mod check_pod;
mod check_review;
mod check_serves;
mod test_answer;
mod test_file;
mod test_file_fault;
mod test_input;
mod test_result;

pub use test_file::{TestCase, TestFile, TestOptions};
pub use test_file_fault::TestFileFault;
pub use test_input::TestInput;
pub use test_result::{Difference, TestResult};

use test_file::Check;

/// Whether one case holds.
pub fn evaluate(case: &TestCase, input: &TestInput<'_>) -> TestResult {
    let differences = case.check().and_then(|check| {
        // What is wrong with the inputs may be what is expected.
        if !matches!(check, Check::Findings(_)) {
            input.has_separators()?;
        }
        match check {
            Check::Serves(check) => check_serves::check(check, input),
            Check::Pod(check) => check_pod::check(check, input),
            Check::Plan(check) => check_changes::check_plan(check, input),
            Check::Upgrade(check) => check_changes::check_upgrade(check, input),
            Check::Review(check) => check_review::check(check, input),
            Check::Findings(check) => check_findings::check(check, input),
        }
    });
    TestResult::new(&case.name, differences)
}
