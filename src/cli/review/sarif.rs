//! SARIF 2.1.0: the part that code scanning reads.
//!
//! Every result has a line of a file or of standard input, as GitHub requires. Text from the input is escaped: a page that
//! shows a result would otherwise draw what a name tells it to.

use md5::{Digest, Md5};
use roster_admission::{Mode, Rule};
use roster_engine::reason::Severity;
use roster_lint::{FileFinding, FindingCode, LintRule, Suppression};
use roster_manifests::lint::SourcePlace;
use serde_json::{Value, json};

use crate::cli::printable::printable;

/// The log of one run. `complete`: all of the input was read.
pub(super) fn log<'a>(findings: impl Iterator<Item = &'a FileFinding<'a>>, complete: bool) -> Value {
    log_with_suppressed(findings.map(|f| (f, None)), complete)
}

/// The log of one run, with findings that are accepted.
pub(super) fn log_with_suppressed<'a>(
    findings: impl Iterator<Item = (&'a FileFinding<'a>, Option<&'a Suppression>)>,
    complete: bool,
) -> Value {
    // Lists all rules, so that a tool knows what was checked, and the reasons that occur.
    let of_webhook = Rule::ALL.iter().copied().map(FindingCode::Rule);
    let mut codes: Vec<FindingCode> = of_webhook.chain(LintRule::ALL.iter().copied().map(FindingCode::Lint)).collect();
    let mut results = Vec::new();
    for (finding, suppression) in findings {
        let index = codes.iter().position(|c| *c == finding.code).unwrap_or_else(|| {
            codes.push(finding.code);
            codes.len() - 1
        });
        let mut result = result(finding, index);
        if let Some(suppression) = suppression {
            let kind = if suppression.is_in_source() { "inSource" } else { "external" };
            result["suppressions"] = json!([{ "kind": kind, "justification": printable(suppression.reason()) }]);
        }
        results.push(result);
    }
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "Roster",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": codes.into_iter().map(rule).collect::<Vec<_>>(),
            } },
            "invocations": [{ "executionSuccessful": complete }],
            "columnKind": "utf16CodeUnits",
            "results": results,
        }],
    })
}

fn rule(code: FindingCode) -> Value {
    let meaning = code.meaning();
    let (short, _) = meaning.split_once(". ").unwrap_or((meaning, ""));
    let level = match code {
        FindingCode::Rule(rule) => match rule.default_mode() {
            Mode::Enforce => "error",
            Mode::Warn => "warning",
            Mode::Audit | Mode::Off => "note",
        },
        FindingCode::Reason(reason) => level(reason.severity()),
        FindingCode::Lint(rule) => level(rule.severity),
    };
    json!({
        "id": code.as_str(),
        "shortDescription": { "text": format!("{}.", short.trim_end_matches('.')) },
        "fullDescription": { "text": meaning },
        "help": {
            "text": format!("{meaning}\n\n{}", code.fix()),
            "markdown": format!("{meaning}\n\n**What to do:** {}", code.fix()),
        },
        "defaultConfiguration": { "level": level },
    })
}

fn result(finding: &FileFinding<'_>, rule: usize) -> Value {
    let SourcePlace { file, line, column } = finding.shown_place();
    let mut result = json!({
        "ruleId": finding.code.as_str(),
        "ruleIndex": rule,
        "level": level(finding.severity),
        "message": { "text": printable(&finding.described()) },
        "locations": [{
            "physicalLocation": {
                "artifactLocation": { "uri": uri(file) },
                "region": { "startLine": line.unwrap_or(1) },
            },
        }],
        "partialFingerprints": { "roster/v1": fingerprint(finding) },
    });
    let object = finding.object_text();
    if !object.is_empty() {
        result["locations"][0]["logicalLocations"] =
            json!([{ "fullyQualifiedName": printable(&object), "kind": "resource" }]);
    }
    if let Some(column) = column {
        result["locations"][0]["physicalLocation"]["region"]["startColumn"] = json!(column);
    }
    if let Some(policy) = &finding.policy {
        result["properties"] = json!({ "policy": printable(policy) });
    }
    result
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

/// A hash of what stays the same when lines move: code, object, field, message.
fn fingerprint(finding: &FileFinding<'_>) -> String {
    let mut hash = Md5::new();
    for part in [finding.code.as_str(), &finding.object_text(), &finding.field, &finding.message] {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    format!("{:032x}", u128::from_be_bytes(hash.finalize().into()))
}

/// A file as a URI. A relative path stays relative, usually to the root of the repository.
fn uri(file: &str) -> String {
    if file == "<stdin>" {
        return "stdin".to_owned();
    }
    let file = file.trim_start_matches("./");
    let plain = |b: &u8| b.is_ascii_alphanumeric() || b"-._~/".contains(b);
    let path: String =
        file.bytes().map(|b| if plain(&b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect();
    if path.starts_with('/') { format!("file://{path}") } else { path }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use roster_admission::Rule;
    use roster_engine::model::ObjectKey;
    use roster_lint::FindingEffect;

    use super::*;
    use crate::cli::printable::{assert_shown, tricky};

    proptest! {
        #[test]
        fn text_of_the_input_is_escaped(text in tricky()) {
            let finding = FileFinding {
                file: &text,
                line: 1,
                column: None,
                source: None,
                object: ObjectKey::new(&text, &text.as_str().into(), &text.as_str().into()),
                severity: Severity::Error,
                effect: FindingEffect::Denied,
                code: FindingCode::Rule(Rule::ExternalIp),
                policy: Some(text.as_str().into()),
                field: text.clone(),
                message: text.clone(),
            };
            let log = log(std::iter::once(&finding), true);
            strings(&log["runs"][0]["results"]);
        }
    }

    fn strings(value: &Value) {
        match value {
            Value::String(text) => {
                assert_shown(text);
                assert!(!text.contains('\n'), "{text:?}");
            }
            Value::Array(all) => all.iter().for_each(strings),
            Value::Object(all) => all.values().for_each(strings),
            _ => {}
        }
    }

    #[test]
    fn files_become_uris() {
        for (file, want) in [
            ("./a/b.yaml", "a/b.yaml"),
            ("/srv/ä b.yaml", "file:///srv/%C3%A4%20b.yaml"),
            ("a:b.yaml", "a%3Ab.yaml"),
            ("<stdin>", "stdin"),
        ] {
            assert_eq!(uri(file), want);
        }
    }
}
