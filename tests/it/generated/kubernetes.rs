//! `openapi/kubernetes.json`: the schemas of the objects that requests and answers hold, from the types of `k8s-openapi`.

use std::{borrow::Cow, collections::BTreeMap};

use k8s_openapi::api::{core::v1, discovery::v1 as discovery};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Value, json};

/// The file: definitions by name, indented, with a line feed at the end.
pub(super) fn definitions() -> String {
    let mut all = BTreeMap::new();
    add::<v1::Service>(&mut all);
    add::<v1::Pod>(&mut all);
    add::<v1::Node>(&mut all);
    add::<v1::Endpoints>(&mut all);
    add::<discovery::EndpointSlice>(&mut all);
    serde_json::to_string_pretty(&all).unwrap() + "\n"
}

fn add<T: JsonSchema>(all: &mut BTreeMap<String, Value>) {
    let mut generator = SchemaSettings::draft2020_12()
        .with(|s| {
            s.definitions_path = Cow::Borrowed("/components/schemas");
            s.meta_schema = None;
        })
        .into_generator();
    generator.subschema_for::<T>();
    for (name, mut definition) in generator.take_definitions(true) {
        bound_integers(&mut definition);
        all.insert(name, int_or_string(definition));
    }
}

/// `IntOrString` has an extension instead of a type.
fn int_or_string(definition: Value) -> Value {
    if definition.get("x-kubernetes-int-or-string").is_none() {
        return definition;
    }
    json!({
        "oneOf": [{ "type": "integer", "minimum": i32::MIN, "maximum": i32::MAX }, { "type": "string" }],
        "description": definition["description"],
        "x-kubernetes-int-or-string": true,
    })
}

/// Adds `minimum` and `maximum`, which every validator checks; `format: int32` is a comment to most.
fn bound_integers(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            let bounds = match map.get("format").and_then(Value::as_str) {
                Some("int32") => Some((i64::from(i32::MIN), i64::from(i32::MAX))),
                Some("int64") => Some((i64::MIN, i64::MAX)),
                _ => None,
            };
            if let Some((min, max)) = bounds {
                map.entry("minimum").or_insert(min.into());
                map.entry("maximum").or_insert(max.into());
            }
            map.values_mut().for_each(bound_integers);
        }
        Value::Array(list) => list.iter_mut().for_each(bound_integers),
        _ => {}
    }
}
