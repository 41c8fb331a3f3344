//! Checks a value against a schema, and reports every violation with its field.
//!
//! The checker implements the part of `OpenAPI` that `schema.rs` uses: types, required and known fields, enums, limits,
//! lists that are maps or sets, and one pattern. API servers evaluate the expressions (CEL); here Rust code does the same.

use std::collections::BTreeSet;

use roster_engine::model::{Cidr, json::pointer::escape, spelling::nearest};
use serde_json::{Map, Value};

use super::{schema::NAME, version::PolicyVersion};

/// A field that violates the schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SchemaViolation {
    /// JSON pointer to the field.
    pub(super) pointer: String,
    pub(super) message: String,
    /// Whether the object can be used nevertheless.
    pub(super) harmless: bool,
}

/// All violations in `value`, in its order. Metadata is not checked: the API server does that.
pub(super) fn check(schema: &Value, value: &Value, version: PolicyVersion) -> Vec<SchemaViolation> {
    let mut violations = SchemaViolations { list: Vec::new() };
    violations.value(schema, value, "");
    match version {
        PolicyVersion::V1 => violations.ranges(value, "/spec/addresses/allow", "/spec/addresses/deny"),
        PolicyVersion::V1alpha1 => violations.ranges(value, "/spec/allowedCIDRs", "/spec/deniedCIDRs"),
    }
    violations.list
}

struct SchemaViolations {
    list: Vec<SchemaViolation>,
}

impl SchemaViolations {
    fn add(&mut self, pointer: &str, message: String) {
        self.list.push(SchemaViolation { pointer: pointer.to_owned(), message, harmless: false });
    }

    /// `at` is the JSON pointer to it.
    fn value(&mut self, schema: &Value, value: &Value, at: &str) {
        match (schema["type"].as_str().unwrap_or_default(), value) {
            // `null` counts as missing.
            (_, Value::Null) => {}
            ("object", Value::Object(fields)) => self.object(schema, fields, at),
            ("array", Value::Array(items)) => self.list(schema, items, at),
            ("string", Value::String(text)) => self.text(schema, text, at),
            ("integer", Value::Number(n)) if n.is_i64() || n.is_u64() => {}
            ("string", Value::Bool(_)) if is_mode(schema) => {
                self.add(
                    at,
                    "is a boolean; write \"off\" in quotes, because YAML may read off as a boolean".to_owned(),
                );
            }
            (wanted, _) => self.add(at, format!("is {}, not {}", kind(value), article(wanted))),
        }
    }

    fn object(&mut self, schema: &Value, fields: &Map<String, Value>, at: &str) {
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if fields.get(name).is_none_or(Value::is_null) {
                self.add(&join(at, name), "is missing".to_owned());
            }
        }
        if let Some(operator) = fields.get("operator").and_then(Value::as_str) {
            let some = fields.get("values").and_then(Value::as_array).is_some_and(|v| !v.is_empty());
            if matches!(operator, "In" | "NotIn") != some {
                self.add(at, "In and NotIn need values, Exists and DoesNotExist have none".to_owned());
            }
        }
        let known = schema["properties"].as_object();
        for (name, value) in fields {
            match (known.and_then(|k| k.get(name)), schema.get("additionalProperties")) {
                (Some(schema), _) | (None, Some(schema)) => self.value(schema, value, &join(at, name)),
                // The schema does not list fields.
                (None, None) if known.is_none() => {}
                (None, None) => self.list.push(SchemaViolation {
                    pointer: join(at, &short(name)),
                    message: format!("is not a known field{}; it is ignored", hint(known, name)),
                    harmless: true,
                }),
            }
        }
    }

    fn list(&mut self, schema: &Value, items: &[Value], at: &str) {
        if let Some(most) = schema["maxItems"].as_u64().filter(|most| items.len() as u64 > *most) {
            self.add(at, format!("has {} entries, and {most} are allowed", items.len()));
            return;
        }
        let keys = schema["x-kubernetes-list-map-keys"].as_array();
        let set = schema["x-kubernetes-list-type"] == "set";
        let mut seen = BTreeSet::new();
        for (i, item) in items.iter().enumerate() {
            let at = format!("{at}/{i}");
            self.value(&schema["items"], item, &at);
            let key = match keys {
                Some(keys) => keys.iter().filter_map(Value::as_str).filter_map(|k| item.get(k)?.as_str()).collect(),
                None if set => item.as_str().unwrap_or_default().to_owned(),
                None => String::new(),
            };
            if !key.is_empty() && !seen.insert(key.clone()) {
                self.add(&at, format!("{:?} is listed twice", short(&key)));
            }
        }
    }

    fn text(&mut self, schema: &Value, text: &str, at: &str) {
        let choices: Vec<&str> = schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let length = text.chars().count() as u64;
        if !choices.is_empty() && !choices.contains(&text) {
            let is_long = choices.len() > 6;
            let choices = if is_long { Vec::from_iter(nearest(text, choices, |c| *c)) } else { choices };
            let hint = if choices.is_empty() { String::new() } else { format!("; try {}", choices.join(", ")) };
            self.add(at, format!("is {:?}, which is not a known value{hint}", short(text)));
        } else if schema["minLength"].as_u64().is_some_and(|least| length < least) {
            self.add(at, "is too short".to_owned());
        } else if schema["maxLength"].as_u64().is_some_and(|most| length > most) {
            self.add(at, format!("has {length} characters, and {} are allowed", schema["maxLength"]));
        } else if schema["pattern"] == NAME && !text.bytes().all(is_of_name) {
            self.add(at, format!("is {:?}, which is not a valid name", short(text)));
        }
    }

    /// Reports ranges that cannot be parsed, and ranges that are both allowed and denied.
    fn ranges(&mut self, value: &Value, allow: &str, deny: &str) {
        let list = |pointer| value.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let allowed: BTreeSet<&str> = list(allow).iter().filter_map(Value::as_str).collect();
        for pointer in [allow, deny] {
            for (i, text) in list(pointer).iter().enumerate().filter_map(|(i, v)| Some((i, v.as_str()?))) {
                if let Err(error) = text.parse::<Cidr>() {
                    self.add(&format!("{pointer}/{i}"), error.to_string());
                } else if pointer == deny && allowed.contains(text) {
                    self.add(&format!("{pointer}/{i}"), format!("{text} is also allowed"));
                }
            }
        }
    }
}

/// Whether the pattern [`NAME`] contains a character.
fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.*".contains(&byte)
}

fn is_mode(schema: &Value) -> bool {
    schema["enum"].as_array().is_some_and(|e| e.iter().any(|v| v == "off"))
}

fn join(at: &str, name: &str) -> String {
    format!("{at}/{}", escape(name))
}

fn short(text: &str) -> String {
    text.chars().take(80).collect()
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn article(wanted: &str) -> &'static str {
    match wanted {
        "object" => "an object",
        "array" => "a list",
        "integer" => "a whole number",
        _ => "a string",
    }
}

/// A hint about a known field with a similar name.
fn hint(known: Option<&Map<String, Value>>, name: &str) -> String {
    let names = known.into_iter().flat_map(|known| known.keys());
    nearest(name, names, |name| name).map(|n| format!(" (did you mean {n}?)")).unwrap_or_default()
}
