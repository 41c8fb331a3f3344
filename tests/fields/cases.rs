//! Cases of single fields: objects, and whether an API server takes them. `tests/data/fields` has them as YAML.
//!
//! A file says `at` which kinds its cases are for, and at which pointer of each. A case sets the values at pointers below
//! it. With `refused`, an API server refuses the object, and `roster lint` reports that field; without, both accept it.
//! `server` is the field that the API server names, where it is another one; after a `*`, it is below the pointer, too.
//! With `allocated`, it refuses the object only when it is stored. `kinds` limits a case to some of the kinds. A text such as `x*70000` is repeated so many times.

use std::{collections::BTreeMap, fs, path::Path};

use roster_engine::model::json::pointer::{field_path, steps};
use serde_json::{Map, Value, json};

/// An object, and what is expected of it.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// The file and the text of the case.
    pub(crate) name: String,
    pub(crate) object: Value,
    /// The field that `roster lint` reports; `None` for an object that is accepted.
    pub(crate) refused: Option<String>,
    /// The field that the API server names.
    pub(crate) server: Option<String>,
    /// Whether the API server refuses it when it allocates, which a dry run does not do.
    pub(crate) allocated: bool,
}

/// All cases.
pub(crate) fn all() -> Vec<Case> {
    let bases = read("bases.yaml");
    let mut names: Vec<String> =
        fs::read_dir(folder()).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
        .iter()
        .filter(|name| !matches!(name.as_str(), "bases.yaml" | "rich.yaml"))
        .flat_map(|name| of_file(name, &bases))
        .collect()
}

/// Objects with many fields, one after another.
pub(crate) fn rich() -> Vec<Value> {
    serde_json::from_value(read("rich.yaml")).unwrap()
}

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/fields")
}

fn read(name: &str) -> Value {
    serde_saphyr::from_str(&fs::read_to_string(folder().join(name)).unwrap()).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn of_file(name: &str, bases: &Value) -> Vec<Case> {
    let file = read(name);
    let places: BTreeMap<String, String> = serde_json::from_value(file["at"].clone()).unwrap();
    let mut all = Vec::new();
    for case in file["cases"].as_array().unwrap() {
        for (kind, at) in &places {
            let only = case["kinds"].as_array();
            if only.is_none_or(|kinds| kinds.iter().any(|k| k == kind)) {
                all.push(read_case(&format!("{name}: {kind}: {case}"), &bases[kind], at, case.as_object().unwrap()));
            }
        }
    }
    all
}

fn read_case(name: &str, base: &Value, at: &str, case: &Map<String, Value>) -> Case {
    assert!(base.is_object(), "{name}: there is no such base");
    let mut object = base.clone();
    for (pointer, value) in case.iter().filter(|(key, _)| key.starts_with('/')) {
        set(&mut object, &format!("{at}{pointer}"), repeated(value));
    }
    let text = |key: &str| case.get(key).map(|value| value.as_str().unwrap().to_owned());
    let refused = text("refused").map(|field| below(at, &field));
    let server = text("server").map(|field| field.strip_prefix('*').map_or(field.clone(), |field| below(at, field)));
    let allocated = case.get("allocated").is_some();
    Case { name: name.to_owned(), object, server: server.or_else(|| refused.clone()), refused, allocated }
}

/// A field below a pointer, as a field path.
fn below(at: &str, field: &str) -> String {
    let at = field_path(at);
    let dot = if at.is_empty() || field.starts_with('[') { "" } else { "." };
    format!("{at}{dot}{field}")
}

/// `x*3` is `xxx`, anywhere in a value.
fn repeated(value: &Value) -> Value {
    match value {
        Value::String(text) => {
            let times = text.split_once('*').and_then(|(text, times)| Some((text, times.parse().ok()?)));
            times.map_or_else(|| value.clone(), |(text, times): (&str, usize)| text.repeat(times).into())
        }
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), repeated(value))).collect(),
        other => other.clone(),
    }
}

/// Sets the value at a pointer, and makes the objects and elements on the way.
pub(crate) fn set(object: &mut Value, pointer: &str, value: Value) {
    let mut at = object;
    for step in steps(pointer) {
        at = if let Ok(index) = step.parse::<usize>() {
            if !at.is_array() {
                *at = json!([]);
            }
            let list = at.as_array_mut().unwrap();
            while list.len() <= index {
                list.push(json!({}));
            }
            &mut list[index]
        } else {
            if !at.is_object() {
                *at = json!({});
            }
            &mut at[&*step]
        };
    }
    *at = value;
}
