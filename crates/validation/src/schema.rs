//! The names and types of the fields of Kubernetes' objects, as its OpenAPI description publishes them.
//!
//! `fields.json.gz` is generated from the types of `k8s-openapi`, which are generated from that description:
//! `cargo xtask openapi` writes it, and a test compares it.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Read,
    sync::LazyLock,
};

use flate2::read::GzDecoder;
use roster_engine::model::spelling::mistyped;
use serde::Deserialize;

/// The schemas of all kinds that are checked.
#[derive(Debug, Default)]
pub struct Schemas {
    /// The place of the type of each kind, by apiVersion and kind.
    kinds: BTreeMap<String, usize>,
    types: Vec<ObjectType>,
}

/// Fields that the schemas require, and an API server does not: it takes a missing value for 0 or for an empty one.
const NOT_REQUIRED: [(&str, &str); 8] = [
    ("batch.v1.PodFailurePolicy", "rules"),
    ("core.v1.HTTPHeader", "value"),
    ("core.v1.ISCSIVolumeSource", "lun"),
    ("core.v1.PreferredSchedulingTerm", "preference"),
    ("core.v1.ScaleIOVolumeSource", "secretRef"),
    ("core.v1.SleepAction", "seconds"),
    ("core.v1.Sysctl", "value"),
    ("discovery.v1.ForZone", "name"),
];

/// The place of a type among all types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeId(usize);

/// The fields of a type of objects.
#[derive(Debug, Default)]
pub(super) struct ObjectType {
    /// The fields, sorted by name.
    pub(super) fields: Vec<SchemaField>,
}

/// A field of a type.
#[derive(Debug)]
pub(super) struct SchemaField {
    pub(super) name: String,
    pub(super) required: bool,
    pub(super) value: ValueType,
}

/// The type of a value.
#[derive(Debug)]
pub(super) enum ValueType {
    Text,
    Boolean,
    Int32,
    Int64,
    Number,
    /// A string or a number: `500m`, `1`.
    Quantity,
    /// `IntOrString`.
    NumberOrText,
    Anything,
    List(Box<ValueType>),
    Map(Box<ValueType>),
    Object(TypeId),
}

/// The generated file: types by name, with the type of each field as text.
#[derive(Deserialize)]
struct SchemaFile {
    kinds: BTreeMap<String, String>,
    types: BTreeMap<String, BTreeMap<String, String>>,
}

impl Schemas {
    /// The schemas that are part of the program.
    pub fn published() -> &'static Self {
        static PUBLISHED: LazyLock<Schemas> = LazyLock::new(|| {
            let mut text = String::new();
            let read = GzDecoder::new(&include_bytes!("fields.json.gz")[..]).read_to_string(&mut text);
            // A test reads the file: this does not fail.
            read.ok().and_then(|_| Schemas::read(&text)).unwrap_or_default()
        });
        &PUBLISHED
    }

    /// Reads the generated file; `None` if a type that it mentions is missing.
    fn read(text: &str) -> Option<Self> {
        let file: SchemaFile = serde_json::from_str(text).ok()?;
        let places: BTreeMap<&str, usize> = file.types.keys().map(String::as_str).zip(0..).collect();
        let field = |object: &str, name: &str, value: &str| {
            let (name, required) = name.strip_suffix('!').map_or((name, false), |name| (name, true));
            let required = required && !NOT_REQUIRED.contains(&(object, name));
            Some(SchemaField { name: name.to_owned(), required, value: ValueType::read(value, &places)? })
        };
        let object = |(name, fields): (&String, &BTreeMap<String, String>)| {
            let mut fields =
                fields.iter().map(|(f, value)| field(name, f, value)).collect::<Option<Vec<SchemaField>>>()?;
            fields.sort_unstable_by(|a, b| a.name.cmp(&b.name));
            Some(ObjectType { fields })
        };
        let types = file.types.iter().map(object).collect::<Option<_>>()?;
        let kind = |(kind, name): (&String, &String)| Some((kind.clone(), *places.get(name.as_str())?));
        let kinds = file.kinds.iter().map(kind).collect::<Option<_>>()?;
        Some(Self { kinds, types })
    }

    /// The type of a kind; `None` if it is not checked.
    pub fn of_kind(&self, api_version: &str, kind: &str) -> Option<TypeId> {
        self.kinds.get(&format!("{api_version} {kind}")).copied().map(TypeId)
    }

    pub(super) fn object(&self, id: TypeId) -> &ObjectType {
        &self.types[id.0]
    }

    /// The paths from a type to the nearest fields of this name below it, of those with the fewest steps:
    /// `template.spec.containers`.
    pub(super) fn paths_to(&self, from: TypeId, name: &str) -> Vec<String> {
        let mut seen = BTreeSet::from([from.0]);
        let mut level = vec![(from, String::new())];
        while !level.is_empty() {
            let (mut found, mut below) = (Vec::new(), Vec::new());
            for (id, path) in level {
                let prefix = if path.is_empty() { path } else { format!("{path}.") };
                for field in &self.object(id).fields {
                    if field.name == name && !prefix.is_empty() {
                        found.push(format!("{prefix}{name}"));
                    }
                    if let Some((object, suffix)) = field.value.object()
                        && seen.insert(object.0)
                    {
                        below.push((object, format!("{prefix}{}{suffix}", field.name)));
                    }
                }
            }
            if !found.is_empty() {
                return found;
            }
            level = below;
        }
        Vec::new()
    }
}

impl ObjectType {
    pub(super) fn field(&self, name: &str) -> Option<(usize, &SchemaField)> {
        let at = self.fields.binary_search_by(|f| f.name.as_str().cmp(name)).ok()?;
        Some((at, &self.fields[at]))
    }

    /// The field that was probably meant: it differs in case only, or in a letter or two.
    pub(super) fn nearest(&self, name: &str) -> Option<&str> {
        mistyped(name, &self.fields, |field| &field.name).map(|field| field.name.as_str())
    }
}

impl ValueType {
    /// The type of the objects that this is or lists, and what the path of such an object adds to that of the field.
    fn object(&self) -> Option<(TypeId, &'static str)> {
        match self {
            Self::Object(object) => Some((*object, "")),
            Self::List(item) => match **item {
                Self::Object(object) => Some((object, "[]")),
                _ => None,
            },
            _ => None,
        }
    }

    fn read(text: &str, places: &BTreeMap<&str, usize>) -> Option<Self> {
        Some(match text {
            "string" => Self::Text,
            "boolean" => Self::Boolean,
            "int32" => Self::Int32,
            "int64" => Self::Int64,
            "number" => Self::Number,
            "quantity" => Self::Quantity,
            "int-or-string" => Self::NumberOrText,
            "any" => Self::Anything,
            _ => {
                if let Some(item) = text.strip_prefix("[]") {
                    Self::List(Box::new(Self::read(item, places)?))
                } else if let Some(value) = text.strip_prefix("{}") {
                    Self::Map(Box::new(Self::read(value, places)?))
                } else {
                    Self::Object(TypeId(*places.get(text)?))
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_schemas_are_read() {
        let schemas = Schemas::published();
        assert!(schemas.types.len() > 150, "{} types", schemas.types.len());
        let kinds: Vec<&str> = schemas.kinds.keys().map(String::as_str).collect();
        assert_eq!(
            kinds,
            [
                "apps/v1 DaemonSet",
                "apps/v1 Deployment",
                "apps/v1 ReplicaSet",
                "apps/v1 StatefulSet",
                "autoscaling/v1 HorizontalPodAutoscaler",
                "autoscaling/v2 HorizontalPodAutoscaler",
                "batch/v1 CronJob",
                "batch/v1 Job",
                "discovery.k8s.io/v1 EndpointSlice",
                "networking.k8s.io/v1 Ingress",
                "policy/v1 PodDisruptionBudget",
                "v1 Endpoints",
                "v1 Namespace",
                "v1 Node",
                "v1 Pod",
                "v1 ReplicationController",
                "v1 Service",
            ]
        );
        let deployment = schemas.of_kind("apps/v1", "Deployment").unwrap();
        let (_, spec) = schemas.object(deployment).field("spec").unwrap();
        let ValueType::Object(spec) = spec.value else { panic!() };
        let probe = |name| format!("template.spec.containers[].{name}.initialDelaySeconds");
        for (name, want) in [
            ("containers", vec!["template.spec.containers".to_owned()]),
            ("initialDelaySeconds", vec![probe("livenessProbe")]),
            ("unheardOf", vec![]),
        ] {
            assert_eq!(schemas.paths_to(spec, name), want, "{name}");
        }
        let spec = schemas.object(spec);
        let required: Vec<&str> = spec.fields.iter().filter(|f| f.required).map(|f| f.name.as_str()).collect();
        assert_eq!(required, ["selector", "template"]);
        for (name, want) in [("Replicas", Some("replicas")), ("stratgy", Some("strategy")), ("containers", None)] {
            assert_eq!(spec.nearest(name), want, "{name}");
        }
    }
}
