//! `discovery.k8s.io/v1.EndpointSlice`.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::SerializeStruct};
use smallvec::SmallVec;

use super::{
    Family, Labels, ObjectKey, ObjectMeta, ObjectRef, Resource, Text,
    wire::{kind_of, nullable},
};

/// An EndpointSlice, stored or desired.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "SliceFields")]
pub struct EndpointSlice {
    /// Metadata. A slice to be created has a `generate_name` and no name.
    pub meta: ObjectMeta,
    /// `addressType`.
    pub address_type: AddressType,
    /// Endpoints.
    pub endpoints: Vec<Endpoint>,
    /// Ports; up to 1.35 the controllers tell a missing list from an empty one.
    pub ports: Option<Vec<SlicePort>>,
}

impl EndpointSlice {
    /// Kind, namespace and name.
    pub fn key(&self) -> ObjectKey {
        ObjectKey::new("EndpointSlice", &self.meta.namespace, &self.meta.name)
    }

    /// Name of the Service it belongs to, by label.
    pub fn service_name(&self) -> Option<&Text> {
        self.meta.labels.get(super::names::SERVICE_NAME)
    }

    /// The names of its ports; a port without a name has an empty one.
    pub fn port_names(&self) -> Vec<Text> {
        self.ports.iter().flatten().map(|p| p.name.clone().unwrap_or_default()).collect()
    }

    /// The controller that writes it, by label.
    pub fn managed_by(&self) -> Option<&Text> {
        self.meta.labels.get(super::names::SLICE_MANAGED_BY)
    }
}

/// Slices by name; of several with one name the last one counts.
pub(crate) fn by_name(mut slices: Vec<&EndpointSlice>) -> Vec<&EndpointSlice> {
    if !slices.is_sorted_by(|a, b| a.meta.name < b.meta.name) {
        slices.reverse();
        slices.sort_by(|a, b| a.meta.name.cmp(&b.meta.name));
        slices.dedup_by(|a, b| a.meta.name == b.meta.name);
    }
    slices
}

/// Slices that are looked up by name; of several with one name the last one counts.
pub(crate) struct StoredSlices<'s>(Vec<&'s EndpointSlice>);

impl<'s> StoredSlices<'s> {
    pub(crate) fn of(slices: &[&'s EndpointSlice]) -> Self {
        Self(by_name(slices.to_vec()))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&'s EndpointSlice> {
        let place = self.0.binary_search_by(|slice| slice.meta.name.as_str().cmp(name)).ok()?;
        Some(self.0[place])
    }
}

/// The fields that are decoded. `apiVersion` and `kind` are only encoded, and never count as a difference.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SliceFields {
    #[serde(rename = "kind", default, deserialize_with = "slice_kind")]
    _kind: (),
    #[serde(default, deserialize_with = "nullable")]
    metadata: ObjectMeta,
    #[serde(default, deserialize_with = "nullable")]
    address_type: AddressType,
    #[serde(default, deserialize_with = "nullable")]
    endpoints: Vec<Endpoint>,
    #[serde(default)]
    ports: Option<Vec<SlicePort>>,
}

fn slice_kind<'de, D: Deserializer<'de>>(d: D) -> Result<(), D::Error> {
    kind_of(d, Resource::EndpointSlice)
}

impl From<SliceFields> for EndpointSlice {
    fn from(read: SliceFields) -> Self {
        Self { meta: read.metadata, address_type: read.address_type, endpoints: read.endpoints, ports: read.ports }
    }
}

impl Serialize for EndpointSlice {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut out = s.serialize_struct("EndpointSlice", 6)?;
        out.serialize_field("apiVersion", "discovery.k8s.io/v1")?;
        out.serialize_field("kind", "EndpointSlice")?;
        out.serialize_field("metadata", &self.meta)?;
        out.serialize_field("addressType", &self.address_type)?;
        out.serialize_field("endpoints", &self.endpoints)?;
        out.serialize_field("ports", self.ports.as_deref().unwrap_or_default())?;
        out.end()
    }
}

/// `addressType`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(from = "Text")]
pub enum AddressType {
    /// IPv4 addresses.
    #[default]
    V4,
    /// IPv6 addresses.
    V6,
    /// `FQDN`, or anything else: never written by a controller.
    Other(Text),
}

impl AddressType {
    /// As Kubernetes writes it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::V4 => Family::V4.as_str(),
            Self::V6 => Family::V6.as_str(),
            Self::Other(t) => t,
        }
    }
}

impl From<Text> for AddressType {
    fn from(t: Text) -> Self {
        match t.as_str() {
            "IPv4" => Self::V4,
            "IPv6" => Self::V6,
            _ => Self::Other(t),
        }
    }
}

impl Serialize for AddressType {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.as_str())
    }
}

impl From<Family> for AddressType {
    fn from(f: Family) -> Self {
        match f {
            Family::V4 => Self::V4,
            Family::V6 => Self::V6,
        }
    }
}

/// One endpoint of a slice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "the fields are Kubernetes' own")]
pub struct Endpoint {
    #[serde(deserialize_with = "nullable")]
    pub addresses: SmallVec<[Text; 1]>,
    #[serde(deserialize_with = "nullable")]
    pub conditions: Conditions,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_ref: Option<Arc<ObjectRef>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecated_topology: Option<Box<Labels>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_name: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hints: Option<Box<Hints>>,
}

impl Endpoint {
    /// Whether consumers treat it as ready: an unknown state counts as ready.
    pub fn ready(&self) -> bool {
        self.conditions.ready != Some(false)
    }
}

/// Conditions of an endpoint; `None` means unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
#[expect(missing_docs, reason = "the fields are Kubernetes' own")]
pub struct Conditions {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serving: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminating: Option<bool>,
}

/// The zones and nodes that an endpoint should serve.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Hints {
    /// Zones.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub for_zones: Vec<HintName>,
    /// Nodes.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub for_nodes: Vec<HintName>,
}

/// A zone or node in a hint.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(default)]
pub struct HintName {
    /// Its name.
    #[serde(deserialize_with = "nullable")]
    pub name: Text,
}

/// One port of a slice.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "the fields are Kubernetes' own")]
pub struct SlicePort {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app_protocol: Option<Text>,
}
