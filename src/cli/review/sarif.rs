//! SARIF 2.1.0, in the part of it that code scanning reads.
//!
//! Every result has a place, as GitHub asks: a line of a file, or of standard input.

use md5::{Digest, Md5};
use serde_json::{Value, json};

use super::remark::{Code, Remark};
use crate::{
    admission::{Mode, Rule},
    engine::reason::Severity,
};

/// The log of one run. `complete`: all of the input could be read.
pub(super) fn log<'a>(remarks: impl Iterator<Item = &'a Remark<'a>>, complete: bool) -> Value {
    // All rules, so that a tool can tell what was looked for; of the reasons those that are told.
    let mut codes: Vec<Code> = Rule::ALL.iter().copied().map(Code::Rule).collect();
    let mut results = Vec::new();
    for remark in remarks {
        let index = codes.iter().position(|c| *c == remark.code).unwrap_or_else(|| {
            codes.push(remark.code);
            codes.len() - 1
        });
        results.push(result(remark, index));
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

fn rule(code: Code) -> Value {
    let meaning = code.meaning();
    let (short, _) = meaning.split_once(". ").unwrap_or((meaning, ""));
    let level = match code {
        Code::Rule(rule) => match rule.default_mode() {
            Mode::Enforce => "error",
            Mode::Warn => "warning",
            Mode::Audit | Mode::Off => "note",
        },
        Code::Reason(reason) => level(reason.severity()),
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

fn result(remark: &Remark<'_>, rule: usize) -> Value {
    let mut result = json!({
        "ruleId": remark.code.as_str(),
        "ruleIndex": rule,
        "level": level(remark.severity),
        "message": { "text": format!("{}: {}", remark.object, remark.said()) },
        "locations": [{
            "physicalLocation": {
                "artifactLocation": { "uri": uri(remark.file) },
                "region": { "startLine": remark.line },
            },
            "logicalLocations": [{ "fullyQualifiedName": remark.object.to_string(), "kind": "resource" }],
        }],
        "partialFingerprints": { "roster/v1": fingerprint(remark) },
    });
    if let Some(policy) = &remark.policy {
        result["properties"] = json!({ "policy": policy });
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

/// What stays the same when lines move: code, object, field.
fn fingerprint(remark: &Remark<'_>) -> String {
    let mut hash = Md5::new();
    for part in [remark.code.as_str(), &remark.object.to_string(), &remark.field, &remark.message] {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    format!("{:032x}", u128::from_be_bytes(hash.finalize().into()))
}

/// A file as a URI: relative ones stay relative, to the root of the repository as a rule.
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
    use super::*;

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
