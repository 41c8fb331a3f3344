//! Kubernetes objects of any kind, and lists of them.

use std::borrow::Cow;

use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        ObjectBuilder, RefOr,
        schema::{AdditionalProperties, Schema, Type},
    },
};

use super::k8s::{ObjectMetaSchema, reference};

/// An object of any kind: the fields that all have, and others.
pub(crate) struct KubernetesObject;

impl PartialSchema for KubernetesObject {
    fn schema() -> RefOr<Schema> {
        let text = |description: &'static str, example: &'static str| {
            ObjectBuilder::new().schema_type(Type::String).description(Some(description)).examples([example])
        };
        ObjectBuilder::new()
            .schema_type(Type::Object)
            .description(Some("A Kubernetes object of any kind, with all its fields."))
            .property("apiVersion", text("The group and the version.", "v1"))
            .property("kind", text("The kind.", "Service"))
            .property("metadata", reference::<ObjectMetaSchema>())
            .required("apiVersion")
            .required("kind")
            .additional_properties(Some(AdditionalProperties::FreeForm(true)))
            .into()
    }
}

impl ToSchema for KubernetesObject {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("KubernetesObject")
    }

    fn schemas(out: &mut Vec<(String, RefOr<Schema>)>) {
        out.push((ObjectMetaSchema::name().into_owned(), ObjectMetaSchema::schema()));
    }
}

/// Objects of any kinds, as kubectl prints them.
#[derive(ToSchema)]
#[schema(as = KubernetesList, rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct KubernetesList {
    /// `v1`.
    #[schema(example = "v1")]
    api_version: String,
    /// `List`.
    #[schema(example = "List")]
    kind: String,
    items: Vec<KubernetesObject>,
}
