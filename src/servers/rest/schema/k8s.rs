//! Kubernetes' own schemas in the document, read from `openapi/kubernetes.json`.
//!
//! `cargo xtask openapi` writes that file from the types of `k8s-openapi`. The program reads the result, so that building
//! it does not compile the schemas of every Kubernetes type.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use roster_engine::model::json::raw::{JsonMembers, JsonNode};
use serde_json::{Value, value::to_raw_value};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        ObjectBuilder, Ref, RefOr,
        schema::{Schema, SchemaType},
    },
};

/// The definitions of the file, by their names in Kubernetes' own document.
static DEFINITIONS: LazyLock<BTreeMap<String, Value>> = LazyLock::new(|| {
    // A test compares the file with its source: it is valid.
    serde_json::from_str(include_str!("../../../../openapi/kubernetes.json")).unwrap_or_default()
});

macro_rules! kubernetes_schemas {
    ($($schema:ident: $name:literal),+ $(,)?) => {$(
        #[doc = concat!("The schema of `", $name, "`.")]
        pub(crate) struct $schema;

        impl PartialSchema for $schema {
            fn schema() -> RefOr<Schema> {
                placeholder()
            }
        }

        impl ToSchema for $schema {
            fn name() -> Cow<'static, str> {
                Cow::Borrowed($name)
            }
        }
    )+};
}

kubernetes_schemas! {
    ServiceSchema: "io.k8s.api.core.v1.Service",
    PodSchema: "io.k8s.api.core.v1.Pod",
    NodeSchema: "io.k8s.api.core.v1.Node",
    EndpointsSchema: "io.k8s.api.core.v1.Endpoints",
    EndpointSliceSchema: "io.k8s.api.discovery.v1.EndpointSlice",
    ObjectMetaSchema: "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
}

/// Where references point to.
const PREFIX: &str = "#/components/schemas/";

/// A reference to the schema of `T`.
pub(super) fn reference<T: ToSchema>() -> Ref {
    Ref::from_schema_name(T::name())
}

/// What stands for a definition until [`with_definitions`] puts it in. utoipa would have to parse it, and write it again.
fn placeholder() -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(SchemaType::AnyValue).build().into()
}

/// The document with the definitions of the Kubernetes types that it names, and of those that they refer to.
pub(in super::super) fn with_definitions(document: &str) -> serde_json::Result<String> {
    let mut document = JsonMembers::parse(document)?;
    let mut components = document.get("components").and_then(JsonNode::open).unwrap_or_default();
    let own = components.get("schemas").and_then(JsonNode::open).unwrap_or_default();
    let mut next: Vec<String> = own.names().map(str::to_owned).collect();
    let is_kept = |(name, _): &(Cow<'_, str>, _)| !DEFINITIONS.contains_key(name.as_ref());
    let mut schemas: Vec<(Cow<'_, str>, JsonNode<'_>)> = own.into_iter().filter(is_kept).collect();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    while let Some(name) = next.pop() {
        let definition = DEFINITIONS.get_key_value(&name);
        if let Some((name, definition)) = definition.filter(|(name, _)| seen.insert(name)) {
            references(definition, &mut next);
            schemas.push((Cow::Borrowed(name), JsonNode::Owned(to_raw_value(definition)?)));
        }
    }
    schemas.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    let mut sorted = JsonMembers::default();
    for (name, schema) in schemas {
        sorted.push(name, schema);
    }
    components.set("schemas", JsonNode::Object(sorted));
    document.set("components", JsonNode::Object(components));
    serde_json::to_string(&document)
}

fn references(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            let target = map.get("$ref").and_then(Value::as_str).and_then(|r| r.strip_prefix(PREFIX));
            out.extend(target.map(str::to_owned));
            map.values().for_each(|v| references(v, out));
        }
        Value::Array(list) => list.iter().for_each(|v| references(v, out)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn definitions_come_with_those_that_they_refer_to() {
        let port = "io.k8s.api.core.v1.EndpointPort";
        let text = json!({
            "components": { "schemas": { "Own": { "items": { "$ref": format!("{PREFIX}{port}") } }, port: {} } },
            "tags": [],
        });
        let read =
            |text: &str| with_definitions(text).map(|text| serde_json::from_str::<Value>(&text).unwrap()).unwrap();
        let document = read(&text.to_string());
        assert_eq!(document["components"]["schemas"][port], DEFINITIONS[port]);
        assert_eq!(document["components"]["schemas"]["Own"], text["components"]["schemas"]["Own"]);
        let pod = read(&json!({ "components": { "schemas": { "io.k8s.api.core.v1.Pod": {} } } }).to_string());
        let mut missing = Vec::new();
        references(&pod, &mut missing);
        missing.retain(|target| pod["components"]["schemas"].get(target).is_none());
        assert_eq!(missing, [] as [&str; 0]);
        assert!(DEFINITIONS.len() > 100, "{}", DEFINITIONS.len());
    }
}
