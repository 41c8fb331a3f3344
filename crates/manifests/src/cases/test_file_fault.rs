//! What is wrong with a file of test cases, and where.

use std::fmt;

use roster_engine::model::json::message::message;
use serde::Deserialize;
use serde_json::value::RawValue;

/// A fault of a file of test cases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestFileFault {
    /// The line, counted from 0 at the beginning of the file.
    pub line: usize,
    /// The test, the field, and what is wrong.
    pub why: String,
}

/// The cases as they are written.
#[derive(Deserialize)]
struct WrittenCases<'a> {
    #[serde(borrow, default)]
    tests: Vec<&'a RawValue>,
}

impl TestFileFault {
    /// The fault that the parser found.
    pub(super) fn of_json(json: &str, error: &serde_json::Error) -> Self {
        let at = offset(json, error.line(), error.column());
        let mut why = message(error);
        if why.ends_with("expected a string") && ["floating point", "integer"].iter().any(|number| why.contains(number))
        {
            why += "; put it in quotes, such as \"1.30\"";
        }
        // The message has the name of a field that is unknown or missing.
        let is_named = ["unknown field", "missing field"].iter().any(|start| why.starts_with(start));
        let field = if is_named { "" } else { field_before(&json[..at]) };
        let place = case_at(json, at).map_or_else(String::new, |(i, case)| place(i, case));
        let field = if field.is_empty() { String::new() } else { format!("{field}: ") };
        Self { line: error.line().saturating_sub(1), why: format!("{place}{field}{why}") }
    }

    /// A fault of the case at this place, in this field.
    pub(super) fn of_case(json: &str, index: usize, field: &str, why: &str) -> Self {
        let cases = written(json);
        let Some(case) = cases.get(index).copied() else { return Self { line: 0, why: why.to_owned() } };
        let start = begin(json, case);
        let of_field = case.get().find(&format!("\"{field}\"")).unwrap_or_default();
        let line = json[..start + of_field].bytes().filter(|b| *b == b'\n').count();
        Self { line, why: format!("{}{why}", place(index, case)) }
    }
}

impl fmt::Display for TestFileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

fn written(json: &str) -> Vec<&RawValue> {
    serde_json::from_str::<WrittenCases<'_>>(json).map(|file| file.tests).unwrap_or_default()
}

/// Where a part of `json` begins.
fn begin(json: &str, part: &RawValue) -> usize {
    part.get().as_ptr().addr().saturating_sub(json.as_ptr().addr()).min(json.len())
}

/// The case at an offset, with its index.
fn case_at(json: &str, at: usize) -> Option<(usize, &RawValue)> {
    let holds = |case: &&RawValue| (begin(json, case)..=begin(json, case) + case.get().len()).contains(&at);
    written(json).into_iter().enumerate().find(|(_, case)| holds(case))
}

/// `tests[0] (name): `
fn place(index: usize, case: &RawValue) -> String {
    #[derive(Deserialize)]
    struct Named {
        #[serde(default)]
        name: String,
    }
    let name = serde_json::from_str::<Named>(case.get()).map(|case| case.name).unwrap_or_default();
    let name = if name.is_empty() { name } else { format!(" ({name})") };
    format!("tests[{index}]{name}: ")
}

/// The offset of a line and a column, which count from 1.
fn offset(json: &str, line: usize, column: usize) -> usize {
    let before: usize = json.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let mut at = (before + column).min(json.len());
    while !json.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The name of the last field before the end of `text`.
fn field_before(text: &str) -> &str {
    let Some((before, _)) = text.rsplit_once("\":") else { return "" };
    before.rsplit_once('"').map_or("", |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use crate::cases::TestFile;

    #[test]
    fn a_fault_has_its_line_its_test_and_its_field() {
        for (head, tests, line, want) in [
            (
                "",
                r#"{"name": "a",
                "serves": {"service": "web"}}"#,
                3,
                "tests[0] (a): serves: expects nothing: add pods, atLeast or names",
            ),
            (
                "",
                r#"{"name": "a", "pod": {"service": "web", "name": "x"}}"#,
                2,
                "tests[0] (a): pod: expects nothing: add served or reason",
            ),
            (
                "",
                r#"{"name": "a", "review": {"object": "Service a",
                "denied": "external-ipp"}}"#,
                3,
                "tests[0] (a): denied: there is no code \"external-ipp\"; did you mean external-ip?",
            ),
            (
                "",
                r#"{"name": "a", "findings": {"codes": ["not-redy"]}}"#,
                2,
                "tests[0] (a): codes: there is no code \"not-redy\"; did you mean not-ready?",
            ),
            (
                "\"options\": {\n\"compat\": 1.3},",
                "",
                2,
                "compat: invalid type: floating point `1.3`, expected a string; put it in quotes, such as \"1.30\"",
            ),
            (
                "",
                "{\"name\": \"a\", \"serves\": {\"service\": \"web\",\n\"podz\": 1}}",
                3,
                "tests[0] (a): unknown field `podz`, expected one of",
            ),
            ("", r#"{"name": "a"}"#, 2, "tests[0] (a): has not exactly one of serves"),
        ] {
            let json = format!(
                "{{\"apiVersion\": \"roster.dev/v1alpha1\", \"kind\": \"Test\", \"inputs\": [],\n{head}\n\"tests\": [{tests}]}}"
            );
            let fault = TestFile::read(&json).unwrap_err();
            assert!(fault.why.starts_with(want), "{fault}");
            assert_eq!(fault.line, line, "{fault}");
        }
    }
}
