//! `crates/validation/src/fields.json.gz`: the names and types of the fields of the objects that Roster reads, from the types of
//! `k8s-openapi`, which are generated from Kubernetes' published OpenAPI description.
//!
//! Descriptions are left out, and so is everything in `status`, which nobody writes by hand.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use k8s_openapi::{
    Resource,
    api::{
        apps::v1 as apps, autoscaling, batch::v1 as batch, core::v1 as core, discovery::v1 as discovery,
        networking::v1 as networking, policy::v1 as policy,
    },
};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Value, json};

/// The file: kinds and types, on one line each.
pub(super) fn schemas() -> String {
    let mut schemas = FieldSchemas::default();
    schemas.add::<core::Service>();
    schemas.add::<core::Pod>();
    schemas.add::<core::Node>();
    schemas.add::<core::Namespace>();
    schemas.add::<core::Endpoints>();
    schemas.add::<core::ReplicationController>();
    schemas.add::<discovery::EndpointSlice>();
    schemas.add::<apps::Deployment>();
    schemas.add::<apps::ReplicaSet>();
    schemas.add::<apps::StatefulSet>();
    schemas.add::<apps::DaemonSet>();
    schemas.add::<batch::Job>();
    schemas.add::<batch::CronJob>();
    schemas.add::<autoscaling::v1::HorizontalPodAutoscaler>();
    schemas.add::<autoscaling::v2::HorizontalPodAutoscaler>();
    schemas.add::<networking::Ingress>();
    schemas.add::<policy::PodDisruptionBudget>();
    schemas.text()
}

#[derive(Default)]
struct FieldSchemas {
    kinds: BTreeMap<String, String>,
    definitions: BTreeMap<String, Value>,
}

impl FieldSchemas {
    fn add<T: JsonSchema + Resource>(&mut self) {
        let mut generator = SchemaSettings::draft2020_12()
            .with(|s| {
                s.definitions_path = Cow::Borrowed("/types");
                s.meta_schema = None;
            })
            .into_generator();
        generator.subschema_for::<T>();
        let definitions = generator.take_definitions(true);
        self.definitions.extend(definitions);
        self.kinds.insert(format!("{} {}", T::API_VERSION, T::KIND), T::schema_name().into_owned());
    }

    /// The types that the kinds need, and nothing else.
    fn text(&self) -> String {
        let mut types = BTreeMap::new();
        let mut open: Vec<String> = self.kinds.values().cloned().collect();
        let mut seen: BTreeSet<String> = open.iter().cloned().collect();
        while let Some(name) = open.pop() {
            let fields = self.fields(&name, &mut |needed| {
                if seen.insert(needed.to_owned()) {
                    open.push(needed.to_owned());
                }
            });
            types.insert(short(&name), fields);
        }
        let kinds: BTreeMap<&str, String> =
            self.kinds.iter().map(|(kind, name)| (kind.as_str(), short(name))).collect();
        let types: Vec<String> = types.iter().map(|(name, fields)| format!("{:?}:{}", name, json!(fields))).collect();
        format!("{{\"kinds\":{},\n\"types\":{{\n{}\n}}}}\n", json!(kinds), types.join(",\n"))
    }

    /// The fields of a type; required ones end with `!`.
    fn fields(&self, name: &str, need: &mut impl FnMut(&str)) -> BTreeMap<String, String> {
        let definition = &self.definitions[name];
        let required: Vec<&str> =
            definition["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let properties = definition["properties"].as_object().unwrap_or_else(|| panic!("{name} has no fields"));
        let field = |(field, schema): (&String, &Value)| {
            let required = required.contains(&field.as_str()) && is_required(field, schema);
            let value = if field == "status" && self.kinds.values().any(|n| n == name) || field == "managedFields" {
                "any".to_owned()
            } else {
                self.value(schema, need)
            };
            (format!("{field}{}", if required { "!" } else { "" }), value)
        };
        properties.iter().map(field).collect()
    }

    /// The type of a value, as text.
    fn value(&self, schema: &Value, need: &mut impl FnMut(&str)) -> String {
        if let Some(name) = schema["$ref"].as_str().and_then(|r| r.rsplit_once('/')).map(|(_, name)| name) {
            let definition = &self.definitions[name];
            if definition.get("properties").is_some() {
                need(name);
                return short(name);
            }
            return match short(name).as_str() {
                "api.resource.Quantity" => "quantity",
                "util.intstr.IntOrString" => "int-or-string",
                "meta.v1.Time" | "meta.v1.MicroTime" => "string",
                // An object that may have any fields, or none yet.
                _ if definition["type"] == "object" => "any",
                other => panic!("{other} has no fields"),
            }
            .to_owned();
        }
        match (schema["type"].as_str(), schema["format"].as_str()) {
            (Some("string"), _) => "string".to_owned(),
            (Some("boolean"), _) => "boolean".to_owned(),
            (Some("integer"), Some("int32")) => "int32".to_owned(),
            (Some("integer"), Some("int64")) => "int64".to_owned(),
            (Some("number"), _) => "number".to_owned(),
            (Some("array"), _) => format!("[]{}", self.value(&schema["items"], need)),
            (Some("object"), _) => format!("{{}}{}", self.value(&schema["additionalProperties"], need)),
            _ => panic!("{schema} has a type that the program does not know"),
        }
    }
}

/// `k8s-openapi` marks two more fields as required than the description does: the metadata of objects, and names that
/// may be empty for compatibility.
fn is_required(field: &str, schema: &Value) -> bool {
    let may_be_empty = || schema["description"].as_str().is_some_and(|d| d.contains("allowed to be empty"));
    field != "metadata" && !may_be_empty()
}

/// The name of a type without what all have in common.
fn short(name: &str) -> String {
    let name = name.strip_prefix("io.k8s.").unwrap_or(name);
    let name = name.strip_prefix("apimachinery.pkg.").unwrap_or(name);
    if name.starts_with("api.resource.") {
        return name.to_owned();
    }
    name.strip_prefix("apis.").or_else(|| name.strip_prefix("api.")).unwrap_or(name).to_owned()
}
