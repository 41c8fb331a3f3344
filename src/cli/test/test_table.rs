//! The text of `roster test`: what fails, with the differences.

use std::io::{self, Write};

use roster_engine::phrase::counted;
use roster_manifests::cases::{Difference, TestResult};

use super::test_run::{FileResults, TestSummary};
use crate::cli::{
    output::Output,
    printable::printable,
    style::{BOLD, DIM, GREEN, RED},
};

/// Prints the tests that fail, with `wide` all of them, and the counts.
pub(super) fn print(files: &[FileResults], summary: TestSummary, wide: bool, out: &mut Output) -> io::Result<()> {
    for file in files {
        let shown: Vec<&TestResult> = file.tests.iter().filter(|t| wide || !t.passed).collect();
        if shown.is_empty() {
            continue;
        }
        writeln!(out, "{BOLD}{}{BOLD:#}", printable(&file.file))?;
        for test in shown {
            print_test(test, out)?;
        }
        writeln!(out)?;
    }
    let TestSummary { tests, passed, failed } = summary;
    let style = if failed > 0 { BOLD } else { GREEN };
    writeln!(out, "{style}{}: {passed} passed, {failed} failed{style:#}", counted(tests, "test"))
}

fn print_test(test: &TestResult, out: &mut Output) -> io::Result<()> {
    let (style, word) = if test.passed { (GREEN, "pass") } else { (RED, "FAIL") };
    writeln!(out, "  {style}{word}{style:#}  {}", printable(&test.name))?;
    if let Some(error) = &test.error {
        writeln!(out, "        {}", printable(error))?;
    }
    for Difference { field, expected, found, why } in &test.differences {
        writeln!(out, "        {field}:")?;
        let (missing, added) = Difference::apart(expected, found);
        for text in missing {
            writeln!(out, "        {RED}- {}{RED:#}", printable(text))?;
        }
        for text in added {
            writeln!(out, "        {GREEN}+ {}{GREEN:#}", printable(text))?;
        }
        for text in why {
            writeln!(out, "          {DIM}{}{DIM:#}", printable(text))?;
        }
    }
    Ok(())
}
