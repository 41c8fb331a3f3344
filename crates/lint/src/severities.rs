//! The severities that a user gives codes.

use std::{collections::BTreeMap, str::FromStr};

use roster_engine::{
    model::{
        json::pointer::Pointer,
        spelling::{did_you_mean, nearest},
    },
    reason::Severity,
};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    file_fault::{self, LintFileFault},
    file_finding::FileFinding,
    report::Report,
    suppressions::{all_codes, is_code},
};

/// The `kind` of the file.
const KIND: &str = "LintSeverities";

/// The severities that a user gives codes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Severities(BTreeMap<String, CodeSeverity>);

/// The severity of one code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum CodeSeverity {
    Error,
    Warning,
    Info,
    /// Its findings are not reported.
    Off,
}

/// A code with its severity, as `CODE=error|warning|info|off`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeverityOfCode(String, CodeSeverity);

impl FromStr for SeverityOfCode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (code, severity) = text.split_once('=').ok_or("write CODE=error, warning, info or off")?;
        Self::new(code, &severity.into())
    }
}

impl SeverityOfCode {
    /// In YAML, `off` without quotes is a boolean.
    fn new(code: &str, severity: &Value) -> Result<Self, String> {
        known(code)?;
        let severity = match severity {
            Value::Bool(false) => CodeSeverity::Off,
            severity => CodeSeverity::deserialize(severity)
                .map_err(|_| format!("{severity} is not error, warning, info or off"))?,
        };
        Ok(Self(code.to_owned(), severity))
    }
}

/// Refuses a code that no finding has.
fn known(code: &str) -> Result<(), String> {
    if is_code(code) {
        return Ok(());
    }
    let meant = nearest(code, all_codes(), |known| known);
    Err(format!("no finding has the code {code:?}{}", did_you_mean(meant.as_slice())))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SeverityFile {
    api_version: String,
    kind: String,
    severities: BTreeMap<String, Value>,
}

impl Severities {
    /// Reads a file, as JSON.
    ///
    /// # Errors
    ///
    /// A file of another type, and a code that no finding has.
    pub fn read(json: &str) -> Result<Self, LintFileFault> {
        let file = file_fault::read(json, KIND, |file: &SeverityFile| (file.api_version.as_str(), file.kind.as_str()))?;
        let read = |(code, severity): (&String, &Value)| {
            let at = || Pointer::Key(&Pointer::At("/severities"), code).to_string();
            let read = SeverityOfCode::new(code, severity).map_err(|why| LintFileFault::at(at(), why))?;
            Ok((read.0, read.1))
        };
        file.severities.iter().map(read).collect::<Result<_, _>>().map(Self)
    }

    /// Adds those of the command line, which win.
    pub fn extend(&mut self, others: &[SeverityOfCode]) {
        self.0.extend(others.iter().map(|SeverityOfCode(code, severity)| (code.clone(), *severity)));
    }

    /// Gives the findings about objects their severities, and removes those of codes that are off.
    pub(crate) fn apply(&self, report: &mut Report<'_>) {
        if self.0.is_empty() {
            return;
        }
        for object in &mut report.objects {
            for list in [&mut object.input_findings, &mut object.rule_findings] {
                list.retain_mut(|finding| self.keeps(finding));
            }
        }
    }

    fn keeps(&self, finding: &mut FileFinding<'_>) -> bool {
        finding.severity = match self.0.get(finding.code.as_str()) {
            None => return true,
            Some(CodeSeverity::Off) => return false,
            Some(CodeSeverity::Error) => Severity::Error,
            Some(CodeSeverity::Warning) => Severity::Warning,
            Some(CodeSeverity::Info) => Severity::Info,
        };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_has_a_severity() {
        for (text, want) in [
            ("external-ip=off", Ok(CodeSeverity::Off)),
            ("no-readiness-probe=error", Ok(CodeSeverity::Error)),
            ("backend-port-missing=info", Ok(CodeSeverity::Info)),
            ("external-ip", Err("write CODE=error, warning, info or off")),
            ("external-ip=high", Err("\"high\" is not error, warning, info or off")),
            ("external-ipp=off", Err("no finding has the code \"external-ipp\"; did you mean external-ip?")),
        ] {
            let got = text.parse().map(|SeverityOfCode(_, severity)| severity);
            assert_eq!(got, want.map_err(str::to_owned), "{text}");
        }
    }

    #[test]
    fn a_file_has_severities_and_flags_win() {
        let file = |severities: &str| {
            format!(r#"{{"apiVersion":"roster.dev/v1alpha1","kind":"LintSeverities","severities":{severities}}}"#)
        };
        let mut read = Severities::read(&file(r#"{"external-ip":false,"headless-label":"error"}"#)).unwrap();
        read.extend(&["external-ip=info".parse().unwrap()]);
        let all: Vec<(&str, CodeSeverity)> = read.0.iter().map(|(code, severity)| (code.as_str(), *severity)).collect();
        assert_eq!(all, [("external-ip", CodeSeverity::Info), ("headless-label", CodeSeverity::Error)]);
        for (severities, want) in [
            (r#"{"external-ip":false,"x":"off"}"#, "no finding has the code \"x\""),
            (r#"{"external-ip":"none"}"#, "\"none\" is not error"),
            (r#"{"external-ip":1}"#, "1 is not error"),
        ] {
            let fault = Severities::read(&file(severities)).unwrap_err();
            assert!(fault.message.starts_with(want), "{fault:?}");
        }
    }
}
