//! Kubernetes' own schemas in the document: from the `schemars` impls of `k8s-openapi`.

use std::{borrow::Cow, marker::PhantomData};

use k8s_openapi::api::{core::v1, discovery::v1 as discovery};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value, json};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        ObjectBuilder, OneOfBuilder, RefOr,
        extensions::ExtensionsBuilder,
        schema::{Schema, SchemaType, Type},
    },
};

/// Stands for a Kubernetes type in the document. Always named by an alias: in `K8s<Service>` utoipa's
/// macro would ask for `Service: ToSchema`.
pub(crate) struct K8s<T>(PhantomData<T>);

pub(crate) type ServiceSchema = K8s<v1::Service>;
pub(crate) type PodSchema = K8s<v1::Pod>;
pub(crate) type NodeSchema = K8s<v1::Node>;
pub(crate) type EndpointsSchema = K8s<v1::Endpoints>;
pub(crate) type EndpointSliceSchema = K8s<discovery::EndpointSlice>;

impl<T: JsonSchema> PartialSchema for K8s<T> {
    fn schema() -> RefOr<Schema> {
        convert(definitions::<T>().remove(&*T::schema_name()).unwrap_or_default())
    }
}

impl<T: JsonSchema> ToSchema for K8s<T> {
    fn name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schemas(out: &mut Vec<(String, RefOr<Schema>)>) {
        out.extend(definitions::<T>().into_iter().map(|(name, schema)| (name, convert(schema))));
    }
}

/// A reference to the schema of `T`, as JSON.
pub(super) fn reference<T: ToSchema>() -> Value {
    json!({ "$ref": format!("#/components/schemas/{}", T::name()) })
}

fn definitions<T: JsonSchema>() -> Map<String, Value> {
    let mut generator = SchemaSettings::draft2020_12()
        .with(|s| {
            s.definitions_path = Cow::Borrowed("/components/schemas");
            s.meta_schema = None;
        })
        .into_generator();
    generator.subschema_for::<T>();
    generator.take_definitions(true)
}

/// All but the two definitions without a type (`IntOrString`, `Quantity`) are taken as they are.
fn convert(mut schema: Value) -> RefOr<Schema> {
    bound_integers(&mut schema);
    let description = schema.get("description").and_then(Value::as_str).map(str::to_owned);
    let int_or_string = schema.get("x-kubernetes-int-or-string").is_some();
    if let Ok(schema) = serde_json::from_value(schema) {
        return schema;
    }
    if int_or_string {
        let int = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(i32::MIN)).maximum(Some(i32::MAX));
        let marker = ExtensionsBuilder::new().add("x-kubernetes-int-or-string", true).build();
        return Schema::OneOf(
            OneOfBuilder::new()
                .description(description)
                .item(int)
                .item(ObjectBuilder::new().schema_type(Type::String))
                .extensions(Some(marker))
                .build(),
        )
        .into();
    }
    // A quantity is text or a number.
    ObjectBuilder::new().schema_type(SchemaType::AnyValue).description(description).build().into()
}

/// `format: int32` is a remark; `minimum` and `maximum` are rules that every validator knows.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_schemas_without_a_type_are_changed() {
        let mut all = definitions::<v1::Service>();
        all.extend(definitions::<v1::Pod>());
        all.extend(definitions::<v1::Node>());
        all.extend(definitions::<v1::Endpoints>());
        all.extend(definitions::<discovery::EndpointSlice>());
        let changed: Vec<_> = all
            .into_iter()
            .filter(|(_, given)| {
                let mut given = given.clone();
                bound_integers(&mut given);
                serde_json::to_value(convert(given.clone())).unwrap() != given
            })
            .map(|(name, _)| name)
            .collect();
        assert_eq!(
            changed,
            ["io.k8s.apimachinery.pkg.api.resource.Quantity", "io.k8s.apimachinery.pkg.util.intstr.IntOrString"]
        );
    }
}
