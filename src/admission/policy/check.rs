//! Whether a value has the shape that a schema tells: every mistake is found, and named by its field.
//!
//! Of `OpenAPI` it knows what `schema.rs` uses: types, required and known fields, enums, limits, lists that are maps or
//! sets, and the one pattern. Expressions (CEL) are for API servers; here, what they say is said in Rust.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{schema::NAME, version::Version};
use crate::model::Cidr;

/// Something that is wrong with a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mistake {
    /// JSON pointer to the field.
    pub(super) pointer: String,
    pub(super) message: String,
    /// Whether the object can be used all the same.
    pub(super) harmless: bool,
}

/// All mistakes of `value`, in its order. Metadata is the API server's own and not looked at.
pub(super) fn check(schema: &Value, value: &Value, version: Version) -> Vec<Mistake> {
    let mut mistakes = Mistakes { list: Vec::new() };
    mistakes.value(schema, value, "");
    match version {
        Version::V1 => mistakes.ranges(value, "/spec/addresses/allow", "/spec/addresses/deny"),
        Version::V1alpha1 => mistakes.ranges(value, "/spec/allowedCIDRs", "/spec/deniedCIDRs"),
    }
    mistakes.list
}

struct Mistakes {
    list: Vec<Mistake>,
}

impl Mistakes {
    fn add(&mut self, pointer: &str, message: String) {
        self.list.push(Mistake { pointer: pointer.to_owned(), message, harmless: false });
    }

    /// `at` is the JSON pointer to it.
    fn value(&mut self, schema: &Value, value: &Value, at: &str) {
        match (schema["type"].as_str().unwrap_or_default(), value) {
            // What is not to be null counts as missing.
            (_, Value::Null) => {}
            ("object", Value::Object(fields)) => self.object(schema, fields, at),
            ("array", Value::Array(items)) => self.list(schema, items, at),
            ("string", Value::String(text)) => self.text(schema, text, at),
            ("integer", Value::Number(n)) if n.is_i64() || n.is_u64() => {}
            ("string", Value::Bool(_)) if is_mode(schema) => {
                self.add(at, "is a boolean: write \"off\" in quotes, which YAML may read as one".to_owned());
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
                // An object of any shape.
                (None, None) if known.is_none() => {}
                (None, None) => self.list.push(Mistake {
                    pointer: join(at, &short(name)),
                    message: format!("is not known{}; it is ignored", near(known, name)),
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
                self.add(&at, format!("{:?} is there twice", short(&key)));
            }
        }
    }

    fn text(&mut self, schema: &Value, text: &str, at: &str) {
        let choices: Vec<&str> = schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let length = text.chars().count() as u64;
        if !choices.is_empty() && !choices.contains(&text) {
            let choices = if choices.len() > 6 { nearest(&choices, text) } else { choices };
            let hint = if choices.is_empty() { String::new() } else { format!("; try {}", choices.join(", ")) };
            self.add(at, format!("is {:?}, which means nothing{hint}", short(text)));
        } else if schema["minLength"].as_u64().is_some_and(|least| length < least) {
            self.add(at, "is too short".to_owned());
        } else if schema["maxLength"].as_u64().is_some_and(|most| length > most) {
            self.add(at, format!("has {length} characters, and {} are allowed", schema["maxLength"]));
        } else if schema["pattern"] == NAME && !text.bytes().all(is_of_name) {
            self.add(at, format!("is {:?}, which no name can be", short(text)));
        }
    }

    /// Ranges that cannot be read, and such as are allowed and denied.
    fn ranges(&mut self, value: &Value, allow: &str, deny: &str) {
        let list = |pointer| value.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let allowed: BTreeSet<&str> = list(allow).iter().filter_map(Value::as_str).collect();
        for pointer in [allow, deny] {
            for (i, text) in list(pointer).iter().enumerate().filter_map(|(i, v)| Some((i, v.as_str()?))) {
                if let Err(error) = text.parse::<Cidr>() {
                    self.add(&format!("{pointer}/{i}"), error.to_string());
                } else if pointer == deny && allowed.contains(text) {
                    self.add(&format!("{pointer}/{i}"), format!("{text} is allowed as well"));
                }
            }
        }
    }
}

/// Whether a character may stand in what [`NAME`] describes.
fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.*".contains(&byte)
}

fn is_mode(schema: &Value) -> bool {
    schema["enum"].as_array().is_some_and(|e| e.iter().any(|v| v == "off"))
}

fn join(at: &str, name: &str) -> String {
    format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// A JSON pointer as Kubernetes writes paths: `spec.rules[2].mode`.
pub fn field(pointer: &str) -> String {
    let mut out = String::new();
    for token in pointer.split('/').skip(1) {
        let name = token.replace("~1", "/").replace("~0", "~");
        if name.bytes().all(|b| b.is_ascii_digit()) {
            out.extend(["[", &name, "]"]);
        } else if name.contains(['.', '/']) {
            out.extend(["[\"", &name, "\"]"]);
        } else {
            out.extend([if out.is_empty() { "" } else { "." }, &name]);
        }
    }
    out
}

fn short(text: &str) -> String {
    text.chars().take(80).collect()
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn article(wanted: &str) -> &'static str {
    match wanted {
        "object" => "an object",
        "array" => "a list",
        "integer" => "a whole number",
        _ => "text",
    }
}

/// A field that may have been meant.
fn near(known: Option<&Map<String, Value>>, name: &str) -> String {
    let names: Vec<&str> = known.into_iter().flat_map(|k| k.keys().map(String::as_str)).collect();
    let near = nearest(&names, name);
    near.first().map(|n| format!(" (did you mean {n}?)")).unwrap_or_default()
}

/// Those that differ by a letter or two, or that contain the text.
fn nearest<'t>(choices: &[&'t str], text: &str) -> Vec<&'t str> {
    let lower = text.to_ascii_lowercase();
    let close = |choice: &&&str| {
        let choice = choice.to_ascii_lowercase();
        let part = lower.len() >= 4 && (choice.contains(&lower) || lower.contains(&choice));
        part || common_ends(&choice, &lower) + 2 >= choice.len().max(lower.len())
    };
    choices.iter().filter(close).copied().take(3).collect()
}

/// How many bytes two texts share at their ends: all but those of one spelling mistake.
fn common_ends(a: &str, b: &str) -> usize {
    let front = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    let most = a.len().min(b.len()) - front;
    front + a.bytes().rev().zip(b.bytes().rev()).take(most).take_while(|(x, y)| x == y).count()
}
