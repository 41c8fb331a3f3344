//! From the text of an `EndpointPolicy` to what it says, or to what is wrong with it.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{
    EndpointPolicy, check, schema,
    version::{KIND, Version},
};
use crate::{
    convert,
    engine::reason::{Finding, Reason},
    model::{ObjectKey, ObjectMeta, Text},
};

/// Most problems that are told of one policy.
const MAX_PROBLEMS: usize = 20;

/// Reads a policy of either version. Fields that are not known are told and ignored; any other mistake means that
/// there is no policy, and all of them are told.
pub fn read(raw: &RawValue) -> (Option<EndpointPolicy>, Vec<Finding>) {
    static SCHEMAS: LazyLock<[Value; 2]> = LazyLock::new(|| Version::ALL.map(schema::object));
    let value: Value = match serde_json::from_str(raw.get()) {
        Ok(value) => value,
        Err(error) => return (None, vec![problem(&Value::Null, "", &error.to_string(), false)]),
    };
    let version = value["apiVersion"].as_str().unwrap_or_default().parse();
    let version: Version = match version {
        Ok(version) if value["kind"] == KIND => version,
        Ok(_) => return (None, vec![problem(&value, "/kind", "is not EndpointPolicy", false)]),
        Err(why) => return (None, vec![problem(&value, "/apiVersion", &why, false)]),
    };
    let mistakes = check::check(&SCHEMAS[version as usize], &value, version);
    let usable = mistakes.iter().all(|m| m.harmless);
    let mut problems: Vec<Finding> =
        mistakes.into_iter().map(|m| problem(&value, &m.pointer, &m.message, m.harmless)).collect();
    // What stops the policy comes first; the order is kept otherwise.
    problems.sort_by_key(|p| std::cmp::Reverse(p.severity));
    problems.truncate(MAX_PROBLEMS);
    if !usable {
        return (None, problems);
    }
    match as_v1(raw, version, &SCHEMAS[Version::V1 as usize]) {
        Ok(policy) => (Some(policy), problems),
        Err(wrong) => {
            let wrong = wrong.into_iter().map(|(at, message)| problem(&value, at, &message, false));
            (None, wrong.chain(problems).take(MAX_PROBLEMS).collect())
        }
    }
}

/// JSON pointer to what waits for v1 in a policy of v1alpha1.
static WAITING: LazyLock<String> =
    LazyLock::new(|| format!("/metadata/annotations/{}", convert::V1_ONLY.replace('/', "~1")));

/// What a policy without mistakes says; or what is wrong nevertheless, each with the JSON pointer to its field.
///
/// What is read is held to the schema, and not only what was written: an annotation adds to it, and the parser takes a
/// list for an object with its fields in order.
fn as_v1(raw: &RawValue, version: Version, schema: &Value) -> Result<EndpointPolicy, Vec<(&'static str, String)>> {
    let one = |at: &'static str, why: String| vec![(at, why)];
    let v1 = convert::policy_as_v1(raw).map_err(|why| one("/metadata", why))?;
    let value: Value = serde_json::from_str(v1.get()).map_err(|e| one(&WAITING, e.to_string()))?;
    if version != Version::V1 {
        let mistakes = check::check(schema, &value, Version::V1).into_iter().filter(|m| !m.harmless);
        let wrong = mistakes.map(|m| format!("does not fit: {} {}", check::field(&m.pointer), m.message));
        let wrong: Vec<_> = wrong.map(|message| (WAITING.as_str(), message)).collect();
        if !wrong.is_empty() {
            return Err(wrong);
        }
    }
    serde_json::from_str(v1.get()).map_err(|e| {
        // The schema says less of metadata than its type does. Else, a field is there twice.
        let metadata = Option::<ObjectMeta>::deserialize(&value["metadata"]);
        metadata.err().map_or_else(|| one("", e.to_string()), |why| one("/metadata", why.to_string()))
    })
}

/// `at` is the JSON pointer to the field.
fn problem(value: &Value, at: &str, message: &str, harmless: bool) -> Finding {
    let name = value.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let name: Text = name.chars().take(253).collect::<String>().into();
    let code = if harmless { Reason::InvalidSetting } else { Reason::InvalidObject };
    let message: String = format!("{} {message}", check::field(at)).trim_start().chars().take(400).collect();
    let pointer = Some(at.to_owned()).filter(|p| !p.is_empty());
    Finding { pointer, ..Finding::new(code, ObjectKey::new(KIND, &Text::default(), &name), message) }
}
