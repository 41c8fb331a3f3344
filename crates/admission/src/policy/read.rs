//! Parses an `EndpointPolicy`, and reports what is wrong with it.

use std::sync::LazyLock;

use roster_engine::{
    model::{
        ObjectKey, ObjectMeta, Text,
        installed::POLICY_KIND,
        json::pointer::{escape, field_path},
    },
    reason::{Finding, Reason},
};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{
    check,
    conversion::{self, convert},
    schema,
    spec::EndpointPolicy,
    version::PolicyVersion,
};

/// Most findings about one policy.
const MAX_PROBLEMS: usize = 20;

/// Parses a policy of either version. Unknown fields are reported and ignored. Any other mistake makes the policy
/// unusable; all mistakes are reported.
pub fn read(raw: &RawValue) -> (Option<EndpointPolicy>, Vec<Finding>) {
    static SCHEMAS: LazyLock<[Value; 2]> = LazyLock::new(|| PolicyVersion::ALL.map(schema::object));
    let value: Value = match serde_json::from_str(raw.get()) {
        Ok(value) => value,
        Err(error) => return (None, vec![problem(&Value::Null, "", &error.to_string(), false)]),
    };
    let version = value["apiVersion"].as_str().unwrap_or_default().parse();
    let version: PolicyVersion = match version {
        Ok(version) if value["kind"] == POLICY_KIND => version,
        Ok(_) => return (None, vec![problem(&value, "/kind", "is not EndpointPolicy", false)]),
        Err(why) => return (None, vec![problem(&value, "/apiVersion", &why, false)]),
    };
    let violations = check::check(&SCHEMAS[version as usize], &value, version);
    let usable = violations.iter().all(|m| m.harmless);
    let mut problems: Vec<Finding> =
        violations.into_iter().map(|m| problem(&value, &m.pointer, &m.message, m.harmless)).collect();
    // Errors come first; the order is otherwise the same.
    problems.sort_by_key(|p| std::cmp::Reverse(p.severity));
    problems.truncate(MAX_PROBLEMS);
    if !usable {
        return (None, problems);
    }
    match as_v1(raw, version, &SCHEMAS[PolicyVersion::V1 as usize]) {
        Ok(policy) => (Some(policy), problems),
        Err(wrong) => {
            let wrong = wrong.into_iter().map(|(at, message)| problem(&value, at, &message, false));
            (None, wrong.chain(problems).take(MAX_PROBLEMS).collect())
        }
    }
}

/// JSON pointer to the annotation with the fields of v1 in a policy of v1alpha1.
static V1_ONLY: LazyLock<String> = LazyLock::new(|| format!("/metadata/annotations/{}", escape(conversion::V1_ONLY)));

/// A valid policy as v1; or its mistakes, each with the JSON pointer to its field.
///
/// The converted policy is checked again, and not only its text: an annotation adds fields, and the parser would accept a
/// list as an object with its fields in order.
fn as_v1(
    raw: &RawValue,
    version: PolicyVersion,
    schema: &Value,
) -> Result<EndpointPolicy, Vec<(&'static str, String)>> {
    let one = |at: &'static str, why: String| vec![(at, why)];
    let v1 = convert(raw, PolicyVersion::V1).map_err(|why| one("/metadata", why.to_string()))?;
    let value: Value = serde_json::from_str(v1.get()).map_err(|e| one(&V1_ONLY, e.to_string()))?;
    if version != PolicyVersion::V1 {
        let violations = check::check(schema, &value, PolicyVersion::V1).into_iter().filter(|m| !m.harmless);
        let wrong = violations.map(|m| format!("does not fit: {} {}", field_path(&m.pointer), m.message));
        let wrong: Vec<_> = wrong.map(|message| (V1_ONLY.as_str(), message)).collect();
        if !wrong.is_empty() {
            return Err(wrong);
        }
    }
    serde_json::from_str(v1.get()).map_err(|e| {
        // The type of metadata is stricter than the schema. Otherwise, a field is repeated.
        let metadata = Option::<ObjectMeta>::deserialize(&value["metadata"]);
        metadata.err().map_or_else(|| one("", e.to_string()), |why| one("/metadata", why.to_string()))
    })
}

/// `at` is the JSON pointer to the field.
fn problem(value: &Value, at: &str, message: &str, harmless: bool) -> Finding {
    let name = value.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let name: Text = name.chars().take(253).collect::<String>().into();
    let code = if harmless { Reason::InvalidSetting } else { Reason::InvalidObject };
    let message: String = format!("{} {message}", field_path(at)).trim_start().chars().take(400).collect();
    let pointer = Some(at.to_owned()).filter(|p| !p.is_empty());
    Finding { pointer, ..Finding::new(code, ObjectKey::new(POLICY_KIND, &Text::default(), &name), message) }
}
