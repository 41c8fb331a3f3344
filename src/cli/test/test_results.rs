//! The results of test files, and their counts.

use roster_manifests::cases::TestResult;
use serde::Serialize;

/// The results of a file.
#[derive(Serialize)]
pub(super) struct FileResults {
    pub(super) file: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) name: String,
    pub(super) tests: Vec<TestResult>,
}

/// The results of all files.
#[derive(Serialize)]
pub(super) struct TestDocument<'a> {
    pub(super) items: &'a [FileResults],
    pub(super) summary: TestSummary,
}

/// How many tests passed and failed.
#[derive(Clone, Copy, Serialize)]
pub(super) struct TestSummary {
    pub(super) tests: usize,
    pub(super) passed: usize,
    pub(super) failed: usize,
}

impl TestSummary {
    pub(super) fn of(files: &[FileResults]) -> Self {
        let all = || files.iter().flat_map(|f| &f.tests);
        let (tests, passed) = (all().count(), all().filter(|t| t.passed).count());
        Self { tests, passed, failed: tests - passed }
    }
}
