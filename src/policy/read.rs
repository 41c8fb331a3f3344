//! From the text of an `EndpointPolicy` to what it says, or to what is wrong with it.

use std::sync::LazyLock;

use serde_json::{Value, value::RawValue};

use super::{
    EndpointPolicy, check, schema,
    version::{KIND, Version},
};
use crate::{
    convert,
    model::{ObjectKey, Text},
    reason::{Problem, Reason},
};

/// Most problems that are told of one policy.
const MAX_PROBLEMS: usize = 20;

/// Reads a policy of either version. Fields that are not known are told and ignored; any other mistake means that
/// there is no policy, and all of them are told.
pub fn read(raw: &RawValue) -> (Option<EndpointPolicy>, Vec<Problem>) {
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
    let mut problems: Vec<Problem> =
        mistakes.into_iter().map(|m| problem(&value, &m.pointer, &m.message, m.harmless)).collect();
    // What stops the policy comes first; the order is kept otherwise.
    problems.sort_by_key(|p| std::cmp::Reverse(p.severity));
    problems.truncate(MAX_PROBLEMS);
    if !usable {
        return (None, problems);
    }
    let policy = convert::policy_as_v1(raw).and_then(|v1| serde_json::from_str(v1.get()).map_err(|e| e.to_string()));
    match policy {
        Ok(policy) => (Some(policy), problems),
        // The schema says less of metadata than its type does.
        Err(why) => (None, vec![problem(&value, "/metadata", &why, false)]),
    }
}

/// `at` is the JSON pointer to the field.
fn problem(value: &Value, at: &str, message: &str, harmless: bool) -> Problem {
    let name = value.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let name: Text = name.chars().take(253).collect::<String>().into();
    let code = if harmless { Reason::InvalidSetting } else { Reason::InvalidObject };
    let message: String = format!("{} {message}", check::field(at)).trim_start().chars().take(400).collect();
    let pointer = Some(at.to_owned()).filter(|p| !p.is_empty());
    Problem { pointer, ..Problem::new(code, ObjectKey::new(KIND, &Text::default(), &name), message) }
}
