//! Users' own test cases: what is expected of their manifests, and whether it holds.
//!
//! ```text
//! roster-test.yaml ─► TestFile ─┬─ inputs ─► TestInput ─► plan · explain · deviations · review ─┐
//!                               └─ tests ───────────────────────────────────────────────────────┴─► TestResult
//! ```
//!
//! Nothing is decided here: every check reads the answer of a function that a command prints.

mod check_findings;
mod check_plan;
mod check_pod;
mod check_review;
mod check_serves;
mod check_upgrade;
mod test_file;
mod test_file_fault;
mod test_input;
mod test_result;

pub use test_file::{TestCase, TestFile, TestOptions};
pub use test_file_fault::TestFileFault;
pub use test_input::{TestInput, placed};
pub use test_result::{Difference, TestResult};

use test_file::Check;

/// Whether one case holds.
pub fn evaluate(case: &TestCase, input: &TestInput<'_>) -> TestResult {
    let differences = match case.check() {
        Err(fault) => Err(fault),
        Ok(Check::Serves(check)) => check_serves::check(check, input),
        Ok(Check::Pod(check)) => check_pod::check(check, input),
        Ok(Check::Plan(check)) => check_plan::check(check, input),
        Ok(Check::Upgrade(check)) => check_upgrade::check(check, input),
        Ok(Check::Review(check)) => check_review::check(check, input),
        Ok(Check::Findings(check)) => check_findings::check(check, input),
    };
    TestResult::new(&case.name, differences)
}
