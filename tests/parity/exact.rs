//! Equality where the order of the reference is chosen: two answers are the same if they write the same objects.
//!
//! Nothing is left to chance there, so the form keeps all that the canonical form of recorded answers lets go of: which
//! endpoint lies in which slice, which one carries which hint, the order of lists, names, and texts. It leaves out
//! what the API server gives to a new object, and the order in which slices are updated and deleted, which
//! a plan does not have.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// What an API server gives to an object that is created.
const GIVEN: [&str; 5] = ["name", "uid", "generation", "creationTimestamp", "resourceVersion"];

/// The form of an answer to `case` that has to be the same.
pub(crate) fn exact(case: &Value, answer: &Value) -> Value {
    let mut created = Vec::new();
    let mut changed: BTreeMap<String, Value> = BTreeMap::new();
    for action in answer["actions"].as_array().into_iter().flatten() {
        let object = object_form(case, &action["object"]);
        if action["verb"] == "create" {
            created.push(without(object, &GIVEN));
        } else {
            changed.insert(format!("{} {}", action["verb"], action["name"]), object);
        }
    }
    json!({ "error": answer["error"].as_str().unwrap_or_default(), "events": answer["events"], "create": created, "change": changed })
}

fn object_form(case: &Value, object: &Value) -> Value {
    let mut object = clean(object);
    if let Some(map) = object.as_object_mut() {
        // Objects in a controller's memory have no type.
        map.remove("apiVersion");
        map.remove("kind");
    }
    if case["controller"] == "endpoints" {
        // New Endpoints have no namespace in memory; and truncation may leave a subset empty, which an API server refuses.
        object = without(object, &["namespace"]);
        if let Some(subsets) = object.get_mut("subsets").and_then(Value::as_array_mut) {
            subsets.retain(|s| s.get("addresses").is_some() || s.get("notReadyAddresses").is_some());
        }
    }
    object
}

/// The object without some fields of its metadata.
fn without(mut object: Value, fields: &[&str]) -> Value {
    if let Some(meta) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        meta.retain(|key, _| !fields.contains(&key.as_str()));
    }
    object
}

/// Without nulls, empty lists and empty maps, which the API's serialisation does not tell from absence.
fn clean(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.iter().map(|(k, v)| (k.clone(), clean(v))).filter(|(_, v)| !is_empty(v));
            Value::Object(kept.collect::<Map<_, _>>())
        }
        Value::Array(list) => list.iter().map(clean).collect(),
        other => other.clone(),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}
