//! `JUnit` XML of `roster test`: a suite for each file.

use std::io::{self, Write};

use roster_engine::shown_text::xml_escaped;
use roster_manifests::cases::{Difference, TestResult};

use super::test_run::FileResults;

/// Prints the report.
pub(super) fn print(files: &[FileResults], out: &mut impl Write) -> io::Result<()> {
    let failed = |tests: &[TestResult]| tests.iter().filter(|t| !t.passed).count();
    let all: usize = files.iter().map(|f| f.tests.len()).sum();
    let all_failed: usize = files.iter().map(|f| failed(&f.tests)).sum();
    writeln!(out, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    writeln!(out, r#"<testsuites name="roster test" tests="{all}" failures="{all_failed}">"#)?;
    for FileResults { file, name, tests } in files {
        let suite = xml_escaped(if name.is_empty() { file } else { name });
        let (count, failures, file) = (tests.len(), failed(tests), xml_escaped(file));
        writeln!(out, r#"  <testsuite name="{suite}" file="{file}" tests="{count}" failures="{failures}">"#)?;
        for test in tests {
            let head = format!(r#"    <testcase classname="{file}" name="{}""#, xml_escaped(&test.name));
            if test.passed {
                writeln!(out, "{head}/>")?;
            } else {
                let text: Vec<String> = lines(test).iter().map(|line| xml_escaped(line)).collect();
                let message = text.first().map(String::as_str).unwrap_or_default();
                writeln!(out, "{head}>")?;
                writeln!(out, r#"      <failure message="{message}">{}</failure>"#, text.join("\n"))?;
                writeln!(out, "    </testcase>")?;
            }
        }
        writeln!(out, "  </testsuite>")?;
    }
    writeln!(out, "</testsuites>")
}

/// What a failing test says, the difference first.
fn lines(test: &TestResult) -> Vec<String> {
    let mut lines: Vec<String> = test.error.iter().cloned().collect();
    for Difference { field, expected, found, why } in &test.differences {
        lines.push(format!("{field}: expected {}; found {}", list(expected), list(found)));
        lines.extend(why.iter().cloned());
    }
    lines
}

fn list(texts: &[String]) -> String {
    if texts.is_empty() { "none".to_owned() } else { texts.join(", ") }
}
