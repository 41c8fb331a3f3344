//! `core/v1.Endpoints`.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::SerializeStruct};

use super::{
    ObjectKey, ObjectMeta, ObjectRef, Resource, Text,
    wire::{kind_of, nullable},
};

/// An Endpoints object, stored or desired.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "EndpointsFields")]
pub struct Endpoints {
    /// Metadata.
    pub meta: ObjectMeta,
    /// Addresses that share ports.
    pub subsets: Vec<EndpointSubset>,
}

impl Endpoints {
    /// Kind, namespace and name.
    pub fn key(&self) -> ObjectKey {
        ObjectKey::new("Endpoints", &self.meta.namespace, &self.meta.name)
    }
}

/// The fields that are decoded. `apiVersion` and `kind` are only encoded, and never count as a difference.
#[derive(Deserialize)]
struct EndpointsFields {
    #[serde(rename = "kind", default, deserialize_with = "endpoints_kind")]
    _kind: (),
    #[serde(default, deserialize_with = "nullable")]
    metadata: ObjectMeta,
    #[serde(default, deserialize_with = "nullable")]
    subsets: Vec<EndpointSubset>,
}

fn endpoints_kind<'de, D: Deserializer<'de>>(d: D) -> Result<(), D::Error> {
    kind_of(d, Resource::Endpoints)
}

impl From<EndpointsFields> for Endpoints {
    fn from(read: EndpointsFields) -> Self {
        Self { meta: read.metadata, subsets: read.subsets }
    }
}

impl Serialize for Endpoints {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut out = s.serialize_struct("Endpoints", 4)?;
        out.serialize_field("apiVersion", "v1")?;
        out.serialize_field("kind", "Endpoints")?;
        out.serialize_field("metadata", &self.meta)?;
        if !self.subsets.is_empty() {
            out.serialize_field("subsets", &self.subsets)?;
        }
        out.end()
    }
}

/// Addresses, ready and not, that serve the same ports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "the fields are Kubernetes' own")]
pub struct EndpointSubset {
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<EndpointAddress>,
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub not_ready_addresses: Vec<EndpointAddress>,
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<EndpointPort>,
}

/// One address of an Endpoints object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "the fields are Kubernetes' own")]
pub struct EndpointAddress {
    #[serde(deserialize_with = "nullable")]
    pub ip: Text,
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Text::is_empty")]
    pub hostname: Text,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_name: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_ref: Option<Arc<ObjectRef>>,
}

/// One port of an Endpoints object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "the fields are Kubernetes' own")]
pub struct EndpointPort {
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Text::is_empty")]
    pub name: Text,
    #[serde(deserialize_with = "nullable")]
    pub port: i32,
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Text::is_empty")]
    pub protocol: Text,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app_protocol: Option<Text>,
}
