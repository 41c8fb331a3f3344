//! Conversions: what is posted, and what comes back.

use std::borrow::Cow;

use roster_admission::convert::ConversionTarget;
use serde_json::{Value, json};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        ObjectBuilder, RefOr,
        schema::{Schema, Type},
    },
};

use super::{answer::ObjectKeySchema, object::KubernetesObject};

/// The target of a conversion.
pub(crate) struct TargetName;

impl PartialSchema for TargetName {
    fn schema() -> RefOr<Schema> {
        let names = ConversionTarget::ALL.map(ConversionTarget::as_str);
        ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names)).into()
    }
}

impl ToSchema for TargetName {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("ConvertTarget")
    }
}

/// An Endpoints object to convert.
pub(crate) fn example() -> Value {
    json!({
        "apiVersion": "v1", "kind": "List",
        "items": [{
            "apiVersion": "v1", "kind": "Endpoints", "metadata": { "name": "web", "namespace": "shop" },
            "subsets": [{ "addresses": [{ "ip": "192.0.2.7" }], "ports": [{ "name": "http", "port": 8080 }] }],
        }],
    })
}

/// The result of a conversion.
#[derive(ToSchema)]
#[schema(as = Converted)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct ConvertedAnswer {
    /// The objects, in the order of the input; Endpoints that were made from slices come last.
    items: Vec<KubernetesObject>,
    /// The fields that they lost.
    lost: Vec<LostFieldSchema>,
    /// Objects that could not be converted; `items` does not contain them.
    failed: Vec<FailedObject>,
}

/// A field that the result does not have.
#[derive(ToSchema)]
#[schema(as = Lost)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct LostFieldSchema {
    object: ObjectKeySchema,
    /// The field.
    #[schema(example = "endpoints[0].zone")]
    field: String,
    /// Why.
    why: String,
    /// How many more fields of the object were lost for the same reason.
    #[schema(required = false, nullable = false)]
    more: Option<u64>,
}

/// An object that could not be converted.
#[derive(ToSchema)]
#[schema(as = FailedConversion)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct FailedObject {
    /// Its position in the input, from 0.
    index: u64,
    object: ObjectKeySchema,
    /// Why.
    why: String,
}
