//! `JUnit` XML, which CI systems show as the results of tests: a suite for each file, a case for each document.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use roster_engine::{reason::Severity, shown_text::xml_escaped};
use roster_lint::{FileFinding, Report, ReviewedObject};

/// Prints the report. A case fails if its document has a finding of severity `least` or more; other findings are output.
/// The rest of a file that cannot be read is a case, too.
pub(super) fn print(
    input: &Report<'_>,
    unreadable: &[FileFinding<'_>],
    least: Severity,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut files: BTreeMap<&str, Suite<'_, '_>> = BTreeMap::new();
    for object in &input.objects {
        files.entry(object.file).or_default().objects.push(object);
    }
    for finding in unreadable {
        files.entry(finding.file).or_default().unreadable.push(finding);
    }
    let (tests, failed) = files.values().map(|suite| suite.counts(least)).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
    writeln!(out, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    writeln!(out, r#"<testsuites name="roster lint" tests="{tests}" failures="{failed}">"#)?;
    for (file, suite) in files {
        let ((tests, failed), name) = (suite.counts(least), xml_escaped(file));
        writeln!(out, r#"  <testsuite name="{name}" tests="{tests}" failures="{failed}">"#)?;
        for object in suite.objects {
            let name = format!("{} (line {})", object.key, object.document.line);
            case(file, &name, object.document.line, &findings(object).collect::<Vec<_>>(), least, out)?;
        }
        for finding in suite.unreadable {
            case(file, &format!("line {}", finding.line), finding.line, &[finding], least, out)?;
        }
        writeln!(out, "  </testsuite>")?;
    }
    writeln!(out, "</testsuites>")
}

/// The documents of a file, and where it cannot be read.
#[derive(Default)]
struct Suite<'r, 'a> {
    objects: Vec<&'r ReviewedObject<'a>>,
    unreadable: Vec<&'r FileFinding<'a>>,
}

impl Suite<'_, '_> {
    /// The numbers of cases and of those that fail.
    fn counts(&self, least: Severity) -> (usize, usize) {
        let failed = self.objects.iter().filter(|o| fails(o, least)).count();
        (self.objects.len() + self.unreadable.len(), failed + self.unreadable.len())
    }
}

fn findings<'o, 'a>(object: &'o ReviewedObject<'a>) -> impl Iterator<Item = &'o FileFinding<'a>> {
    object.input_findings.iter().chain(&object.rule_findings).filter(|f| f.severity > Severity::Info)
}

fn fails(object: &ReviewedObject<'_>, least: Severity) -> bool {
    findings(object).any(|f| f.severity >= least)
}

fn case(
    file: &str,
    name: &str,
    line: usize,
    found: &[&FileFinding<'_>],
    least: Severity,
    out: &mut impl Write,
) -> io::Result<()> {
    let (file, name) = (xml_escaped(file), xml_escaped(name));
    let head = format!(r#"    <testcase classname="{file}" name="{name}" file="{file}" line="{line}""#);
    if found.is_empty() {
        return writeln!(out, "{head}/>");
    }
    writeln!(out, "{head}>")?;
    let text = |f: &FileFinding<'_>| xml_escaped(&format!("{}: {}", f.place(), f.text()));
    let (failures, others): (Vec<&FileFinding<'_>>, Vec<_>) = found.iter().partition(|f| f.severity >= least);
    for finding in failures {
        let (code, text) = (finding.code.as_str(), text(finding));
        writeln!(out, r#"      <failure type="{code}" message="{text}"/>"#)?;
    }
    if !others.is_empty() {
        let lines: Vec<String> = others.into_iter().map(|f| format!("{}: {}", f.code.as_str(), text(f))).collect();
        writeln!(out, "      <system-out>{}</system-out>", lines.join("\n"))?;
    }
    writeln!(out, "    </testcase>")
}
