//! Kubernetes' own schemas in the document, read from `openapi/kubernetes.json`.
//!
//! `cargo xtask openapi` writes that file from the types of `k8s-openapi`. The program reads the result, so that building
//! it does not compile the schemas of every Kubernetes type.

use std::{borrow::Cow, collections::BTreeMap, sync::LazyLock};

use serde_json::{Value, json};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        ObjectBuilder, RefOr,
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
                DEFINITIONS.get($name).map_or_else(|| any(None), convert)
            }
        }

        impl ToSchema for $schema {
            fn name() -> Cow<'static, str> {
                Cow::Borrowed($name)
            }

            fn schemas(out: &mut Vec<(String, RefOr<Schema>)>) {
                with_references($name, out);
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

/// A reference to the schema of `T`, as JSON.
pub(super) fn reference<T: ToSchema>() -> Value {
    json!({ "$ref": format!("{PREFIX}{}", T::name()) })
}

/// Adds the definition of `name` and every definition that it refers to.
fn with_references(name: &str, out: &mut Vec<(String, RefOr<Schema>)>) {
    let mut seen = BTreeMap::new();
    let mut next = vec![name.to_owned()];
    while let Some(name) = next.pop() {
        if let Some(definition) = DEFINITIONS.get(&name).filter(|_| !seen.contains_key(&name)) {
            references(definition, &mut next);
            seen.insert(name, convert(definition));
        }
    }
    out.extend(seen);
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

/// `Quantity` has no type, being text or a number; all others are taken as they are.
fn convert(definition: &Value) -> RefOr<Schema> {
    serde_json::from_value(definition.clone())
        .unwrap_or_else(|_| any(definition.get("description").and_then(Value::as_str).map(str::to_owned)))
}

fn any(description: Option<String>) -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(SchemaType::AnyValue).description(description).build().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_definition_without_a_type_is_changed() {
        let changed: Vec<_> = DEFINITIONS
            .iter()
            .filter(|(_, definition)| serde_json::to_value(convert(definition)).unwrap() != **definition)
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(changed, [] as [&str; 0]);
        assert!(DEFINITIONS.len() > 100, "{}", DEFINITIONS.len());
    }
}
