//! The document as `OpenAPI` 3.0, for generators that read nothing newer.
//!
//! It has the same paths, names and types. `null` becomes `nullable`, texts beside a reference are left out, and a body has
//! one media type: JSON.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// The version that these generators read.
const VERSION: &str = "3.0.3";

/// Rewrites the document.
pub(super) fn of(mut document: Value) -> Value {
    document["openapi"] = json!(VERSION);
    // Identifiers of SPDX came with 3.1.
    document["info"]["license"] = json!({ "name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0" });
    for operation in operations(&mut document) {
        for parameter in operation.get_mut("parameters").and_then(Value::as_array_mut).into_iter().flatten() {
            schema_of(parameter);
        }
        if let Some(body) = operation.get_mut("requestBody") {
            json_only(body);
            contents(body);
        }
        for response in members(operation, "responses") {
            members(response, "headers").for_each(schema_of);
            contents(response);
        }
    }
    let types = types(&document["components"]["schemas"]);
    if let Some(components) = document.get_mut("components") {
        for of in members(components, "schemas") {
            schema(of);
            name_types(of, &types);
        }
    }
    document
}

/// The type of each named schema that has one.
fn types(schemas: &Value) -> BTreeMap<String, Value> {
    let named = schemas.as_object().into_iter().flatten();
    named.filter_map(|(name, schema)| Some((name.clone(), schema.get("type")?.clone()))).collect()
}

/// Gives each reference that may be null the type of its schema: in 3.0, `nullable` counts only beside a type.
fn name_types(node: &mut Value, types: &BTreeMap<String, Value>) {
    let referred = node["allOf"][0]["$ref"].as_str().and_then(|of| of.strip_prefix("#/components/schemas/"));
    if let Some(of) = referred.filter(|_| node["nullable"] == true).and_then(|name| types.get(name)) {
        node["type"] = of.clone();
    }
    match node {
        Value::Object(members) => members.values_mut().for_each(|member| name_types(member, types)),
        Value::Array(items) => items.iter_mut().for_each(|item| name_types(item, types)),
        _ => {}
    }
}

fn operations(document: &mut Value) -> impl Iterator<Item = &mut Value> {
    members(document, "paths").filter_map(Value::as_object_mut).flat_map(Map::values_mut)
}

/// The values of a map in a field.
fn members<'a>(node: &'a mut Value, field: &str) -> impl Iterator<Item = &'a mut Value> {
    node.get_mut(field).and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut)
}

fn contents(node: &mut Value) {
    members(node, "content").for_each(schema_of);
}

fn schema_of(node: &mut Value) {
    node.get_mut("schema").into_iter().for_each(schema);
}

fn json_only(body: &mut Value) {
    if let Some(content) = body.get_mut("content").and_then(Value::as_object_mut) {
        content.retain(|media_type, _| media_type == "application/json");
    }
}

/// Rewrites a schema, and those in it.
fn schema(node: &mut Value) {
    let Some(map) = node.as_object_mut() else { return };
    if map.contains_key("$ref") {
        map.retain(|field, _| field == "$ref");
        return;
    }
    nullable(map);
    map.remove("propertyNames");
    // To some generators, `true` is the same as nothing, and other fields get lost.
    if let Some(others) = map.get_mut("additionalProperties").filter(|others| **others == json!(true)) {
        *others = json!({});
    }
    if let Some(Value::Array(examples)) = map.remove("examples")
        && let Some(first) = examples.into_iter().next()
    {
        map.insert("example".to_owned(), first);
    }
    for (field, value) in map {
        match field.as_str() {
            "properties" => value.as_object_mut().into_iter().flat_map(Map::values_mut).for_each(schema),
            "allOf" | "anyOf" | "oneOf" => value.as_array_mut().into_iter().flatten().for_each(schema),
            "items" | "additionalProperties" | "not" => schema(value),
            _ => {}
        }
    }
}

/// `null` is not a type of 3.0, but a property of others.
fn nullable(map: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = map.get_mut("type") {
        types.retain(|t| t != "null");
        if let [one] = types.as_mut_slice() {
            let one = one.take();
            map.insert("type".to_owned(), one);
            map.insert("nullable".to_owned(), json!(true));
        }
    }
    if let Some(Value::Array(options)) = map.get_mut("oneOf") {
        let before = options.len();
        options.retain(|option| option["type"] != "null");
        if let (true, [one]) = (options.len() < before, options.as_mut_slice()) {
            let one = one.take();
            map.remove("oneOf");
            // A type is needed beside it. `name_types` writes that of the schema.
            map.insert("type".to_owned(), json!("object"));
            map.insert("allOf".to_owned(), json!([one]));
            map.insert("nullable".to_owned(), json!(true));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_of_3_1_becomes_one_of_3_0() {
        for (new, old) in [
            (json!({ "type": ["string", "null"] }), json!({ "type": "string", "nullable": true })),
            (
                json!({ "oneOf": [{ "$ref": "#/x", "description": "X" }, { "type": "null" }] }),
                json!({ "type": "object", "allOf": [{ "$ref": "#/x" }], "nullable": true }),
            ),
            (
                json!({ "oneOf": [{ "type": "integer" }, { "type": "string" }] }),
                json!({ "oneOf": [{ "type": "integer" }, { "type": "string" }] }),
            ),
            (
                json!({ "type": "object", "properties": { "examples": { "type": "array", "items": { "examples": [1, 2] } } } }),
                json!({ "type": "object", "properties": { "examples": { "type": "array", "items": { "example": 1 } } } }),
            ),
            (
                json!({ "type": "object", "additionalProperties": true }),
                json!({ "type": "object", "additionalProperties": {} }),
            ),
        ] {
            let mut got = new;
            schema(&mut got);
            assert_eq!(got, old);
        }
    }

    #[test]
    fn a_reference_that_may_be_null_has_the_type_of_its_schema() {
        let property = json!({ "oneOf": [{ "$ref": "#/components/schemas/Word" }, { "type": "null" }] });
        let word = json!({ "type": "string", "enum": ["a"] });
        let schemas = json!({ "Word": word, "Of": { "type": "object", "properties": { "word": property } } });
        let old = of(json!({ "info": {}, "components": { "schemas": schemas } }));
        assert_eq!(
            old["components"]["schemas"]["Of"]["properties"]["word"],
            json!({ "type": "string", "allOf": [{ "$ref": "#/components/schemas/Word" }], "nullable": true })
        );
    }

    #[test]
    fn a_body_has_one_media_type() {
        let content = json!({ "application/json": { "schema": { "examples": [1] } }, "application/yaml": {} });
        let license = |field: &str, text: &str| json!({ "license": { "name": "Apache-2.0", field: text } });
        let document = json!({
            "openapi": "3.1.0", "info": license("identifier", "Apache-2.0"),
            "paths": { "/v1/plan": { "post": { "requestBody": { "content": content } } } },
        });
        let body = json!({ "content": { "application/json": { "schema": { "example": 1 } } } });
        let want = json!({
            "openapi": "3.0.3", "info": license("url", "https://www.apache.org/licenses/LICENSE-2.0"),
            "paths": { "/v1/plan": { "post": { "requestBody": body } } },
        });
        assert_eq!(of(document), want);
    }
}
