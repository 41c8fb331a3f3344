//! Changes of one field of an object.

use serde_json::{Value, json};

use crate::parity::rng::Rng;

/// Texts that some fields allow and others do not.
const TEXTS: [&str; 22] = [
    "", "a", "A", "a b", "a.b", "a_b", "-a", "a-", "/a", "..", "../a", "a/b", "A/b", "a/b/c", "1", "-1", "5%", "None",
    " a", "10.0.0.1", "a:b", "ä",
];
const NUMBERS: [i64; 8] = [-1, 0, 1, 2, 63, 101, 600, 3601];
/// Numbers instead of those that are not small: of so many replicas, all pods would be made.
const LARGE: [i64; 2] = [70_000, 2_147_483_648];

/// The object with one field changed, and what was changed.
pub(super) fn mutate(object: &Value, rng: &mut Rng) -> (Value, String) {
    let mut all = Vec::new();
    for (name, value) in object.as_object().unwrap().iter().filter(|(name, _)| *name != "apiVersion" && *name != "kind")
    {
        collect(value, &format!("/{name}"), &mut all);
    }
    let at = all[rng.below(all.len())].clone();
    let mut changed = object.clone();
    let value = changed.pointer_mut(&at).unwrap();
    let is_element = at.rsplit('/').next().is_some_and(|last| last.parse::<usize>().is_ok());
    // An API server takes a null in a list for an element without fields; nobody writes that.
    let new = instead(value, rng);
    if rng.percent(12) || (is_element && new.is_null()) {
        remove(&mut changed, &at);
        return (changed, format!("{at} is removed"));
    }
    let what = format!("{at} is {new}");
    *value = new;
    (changed, what)
}

/// The pointers to all values below one.
fn collect(value: &Value, at: &str, all: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let at = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
                all.push(at.clone());
                collect(value, &at, all);
            }
        }
        Value::Array(list) => {
            for (i, value) in list.iter().enumerate() {
                all.push(format!("{at}/{i}"));
                collect(value, &format!("{at}/{i}"), all);
            }
        }
        _ => {}
    }
}

/// Another value, mostly of the same type.
fn instead(value: &Value, rng: &mut Rng) -> Value {
    match value {
        Value::Null => json!({}),
        Value::Bool(flag) => json!(!*flag),
        Value::Number(number) if rng.percent(20) && number.as_i64() > Some(50) => json!(LARGE[rng.below(LARGE.len())]),
        Value::Number(_) if rng.percent(90) => json!(NUMBERS[rng.below(NUMBERS.len())]),
        Value::Number(number) => json!(number.to_string()),
        Value::String(text) => text_instead(text, rng),
        Value::Array(list) => list_instead(list, rng),
        Value::Object(_) => [json!({}), Value::Null][rng.below(2)].clone(),
    }
}

fn text_instead(text: &str, rng: &mut Rng) -> Value {
    match rng.below(20) {
        0 => json!("x".repeat(64)),
        1 => json!("x".repeat(254)),
        2 => json!(text.to_uppercase()),
        3 => json!(text.to_lowercase()),
        4 => json!(format!("{text} ")),
        5 => Value::Null,
        _ => json!(TEXTS[rng.below(TEXTS.len())]),
    }
}

fn list_instead(list: &[Value], rng: &mut Rng) -> Value {
    match rng.below(4) {
        0 => json!([]),
        1 => Value::Null,
        2 => list.iter().rev().cloned().collect(),
        _ => list.iter().chain(list.first()).cloned().collect(),
    }
}

fn remove(object: &mut Value, at: &str) {
    let (parent, last) = at.rsplit_once('/').unwrap();
    match object.pointer_mut(parent).unwrap() {
        Value::Object(fields) => drop(fields.remove(&last.replace("~1", "/").replace("~0", "~"))),
        Value::Array(list) => drop(list.remove(last.parse().unwrap())),
        _ => {}
    }
}
