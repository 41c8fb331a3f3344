//! `JUnit` XML, which CI systems show as the results of tests: a suite for each file, a case for each document.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use crate::{
    cli::{
        review::{file_finding::FileFinding, reviewed_input::ReviewedInput, reviewed_object::ReviewedObject},
        xml_text::escaped,
    },
    engine::reason::Severity,
};

/// Prints the report. A case fails if its document has a finding of severity `least` or more; other findings are output.
pub(super) fn print(input: &ReviewedInput<'_>, least: Severity, out: &mut impl Write) -> io::Result<()> {
    let mut files: BTreeMap<&str, Vec<&ReviewedObject<'_>>> = BTreeMap::new();
    for object in &input.objects {
        files.entry(object.file).or_default().push(object);
    }
    let failures = |objects: &[&ReviewedObject<'_>]| objects.iter().filter(|o| fails(o, least)).count();
    let all: Vec<&ReviewedObject<'_>> = input.objects.iter().collect();
    writeln!(out, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    writeln!(out, r#"<testsuites name="roster lint" tests="{}" failures="{}">"#, all.len(), failures(&all))?;
    for (file, objects) in files {
        let (tests, failed, name) = (objects.len(), failures(&objects), escaped(file));
        writeln!(out, r#"  <testsuite name="{name}" tests="{tests}" failures="{failed}">"#)?;
        for object in objects {
            case(object, least, out)?;
        }
        writeln!(out, "  </testsuite>")?;
    }
    writeln!(out, "</testsuites>")
}

fn findings<'o, 'a>(object: &'o ReviewedObject<'a>) -> impl Iterator<Item = &'o FileFinding<'a>> {
    object.input_findings.iter().chain(&object.rule_findings).filter(|f| f.severity > Severity::Info)
}

fn fails(object: &ReviewedObject<'_>, least: Severity) -> bool {
    findings(object).any(|f| f.severity >= least)
}

fn case(object: &ReviewedObject<'_>, least: Severity, out: &mut impl Write) -> io::Result<()> {
    let (file, line) = (escaped(object.file), object.document.line);
    let name = escaped(&format!("{} (line {line})", object.key));
    let head = format!(r#"    <testcase classname="{file}" name="{name}" file="{file}" line="{line}""#);
    let mut found = findings(object).peekable();
    if found.peek().is_none() {
        return writeln!(out, "{head}/>");
    }
    writeln!(out, "{head}>")?;
    let text = |f: &FileFinding<'_>| escaped(&format!("{}: {}", f.place(), f.text()));
    let (failures, others): (Vec<_>, Vec<_>) = found.partition(|f| f.severity >= least);
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
