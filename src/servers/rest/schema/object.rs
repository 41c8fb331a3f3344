//! Kubernetes objects of any kind, and lists of them.

use std::borrow::Cow;

use serde_json::{Value, json};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{RefOr, schema::Schema},
};

use super::k8s::{ObjectMetaSchema, reference};

/// An object of any kind: the fields that all have, and others.
pub(crate) struct KubernetesObject;

impl KubernetesObject {
    fn json() -> Value {
        let text = |description: &str, example: &str| json!({ "type": "string", "description": description, "example": example });
        json!({
            "type": "object",
            "description": "A Kubernetes object of any kind, with all its fields.",
            "required": ["apiVersion", "kind"],
            "properties": {
                "apiVersion": text("The group and the version.", "v1"),
                "kind": text("The kind.", "Service"),
                "metadata": reference::<ObjectMetaSchema>(),
            },
            "additionalProperties": true,
        })
    }
}

impl PartialSchema for KubernetesObject {
    fn schema() -> RefOr<Schema> {
        // A test compares: utoipa leaves out what it does not know.
        serde_json::from_value(Self::json()).unwrap_or_else(|_| RefOr::T(Schema::default()))
    }
}

impl ToSchema for KubernetesObject {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("KubernetesObject")
    }

    fn schemas(out: &mut Vec<(String, RefOr<Schema>)>) {
        out.push((ObjectMetaSchema::name().into_owned(), ObjectMetaSchema::schema()));
        ObjectMetaSchema::schemas(out);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utoipa_leaves_nothing_out() {
        assert_eq!(serde_json::to_value(KubernetesObject::schema()).unwrap(), KubernetesObject::json());
    }
}
