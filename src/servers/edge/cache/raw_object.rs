//! An object of the API server as JSON text, of which nothing that a client may read is lost.

use std::fmt::Write;

use roster_engine::model::{
    Labels, Resource, Text,
    json::raw::{JsonMembers, JsonNode},
    wire::nullable,
};
use serde::Deserialize;

use super::{
    endpoint_lists::EndpointLists,
    json_text::{write_member, write_members},
};

/// The names of the members of metadata that are not kept: `resourceVersion` is that of the API server, and only the API
/// server uses `managedFields`.
const DROPPED: [&str; 2] = ["managedFields", "resourceVersion"];

/// Annotations are read only where a scheme reads them: of Services, and of the endpoints of the API server.
const API_SERVER: &str = "kubernetes";

/// Namespace and name of an object; the namespace is empty for cluster-scoped objects.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ObjectName {
    pub(crate) namespace: Text,
    pub(crate) name: Text,
}

impl ObjectName {
    pub(crate) fn new(namespace: impl Into<Text>, name: impl Into<Text>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

/// Why the text of an object cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct MalformedObject(pub(crate) String);

/// An object: its text without `resourceVersion` and `managedFields`, and what is read of it.
///
/// The text begins with `kind`, `apiVersion` and `metadata`, and ends with the endpoints, if the resource has any: so a
/// `resourceVersion` can be inserted, and endpoints can be left out, without parsing it again.
#[derive(Debug)]
pub(crate) struct RawObject {
    pub(crate) name: ObjectName,
    pub(crate) labels: Labels,
    /// The annotations where a scheme reads them.
    pub(crate) annotations: Labels,
    pub(crate) text: Box<str>,
    /// `None`: it is not a Service, or has none of these fields.
    service_fields: Option<Box<ServiceFields>>,
    /// Where `resourceVersion` belongs in the text.
    pub(super) version_at: usize,
    pub(crate) endpoints: Option<EndpointLists>,
}

/// The fields of a Service by which it may be selected, besides those that all objects have.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ServiceFields {
    #[serde(rename = "clusterIP", deserialize_with = "nullable")]
    pub(super) cluster_ip: Text,
    #[serde(rename = "type", deserialize_with = "nullable")]
    pub(super) service_type: Text,
}

impl RawObject {
    /// How many endpoints it has.
    pub(super) fn endpoint_count(&self) -> usize {
        self.endpoints.as_ref().map_or(0, |lists| lists.endpoints.len())
    }

    /// Reads an object. Objects of lists do not name their kind: it is that of the resource.
    pub(crate) fn read(resource: Resource, text: &str) -> Result<Self, MalformedObject> {
        let wrong = |what: &str| MalformedObject(format!("{} {what}", resource.kind()));
        let mut members = JsonMembers::parse(text).map_err(|_| wrong("is not a JSON object"))?;
        let metadata = members.take("metadata").and_then(|m| m.open()).ok_or_else(|| wrong("has no metadata"))?;
        let (labels, annotations) =
            read_labels(resource, &metadata).ok_or_else(|| wrong("has metadata that cannot be read"))?;
        let name = ObjectName::new(metadata.text("namespace"), metadata.text("name"));
        if name.name.is_empty() {
            return Err(wrong("has no name"));
        }
        let service_fields = match members.get("spec") {
            Some(JsonNode::Raw(raw)) if resource == Resource::Service => serde_json::from_str(raw.get()).ok(),
            _ => None,
        };
        let mut out = String::with_capacity(text.len());
        let (kind, version) = (resource.kind(), resource.api_version());
        // Writing to a string does not fail, here and below.
        let _ = write!(out, r#"{{"kind":"{kind}","apiVersion":"{version}","metadata":{{"#);
        let version_at = out.len();
        let kept = metadata.iter().filter(|(name, _)| !DROPPED.contains(name));
        write_members(&mut out, kept);
        out.push('}');
        let tail = EndpointLists::members(resource);
        for (name, value) in members.iter().filter(|(name, _)| !["kind", "apiVersion"].contains(name)) {
            if !tail.contains(&name) {
                out.push(',');
                write_member(&mut out, name, value);
            }
        }
        let endpoints = EndpointLists::write(resource, &members, &mut out).map_err(|what| wrong(&what))?;
        out.push('}');
        // Lines separate the events of a watch. In JSON, a line can only break between values.
        if out.contains(['\n', '\r']) {
            out = out.replace(['\n', '\r'], " ");
        }
        Ok(Self { name, labels, annotations, text: out.into_boxed_str(), service_fields, version_at, endpoints })
    }

    /// The fields by which Services are selected; empty for other objects.
    pub(super) fn service_fields(&self) -> &ServiceFields {
        static NONE: ServiceFields =
            ServiceFields { cluster_ip: Text::new_static(""), service_type: Text::new_static("") };
        self.service_fields.as_deref().unwrap_or(&NONE)
    }
}

/// The labels, and the annotations where a scheme reads them.
fn read_labels(resource: Resource, metadata: &JsonMembers<'_>) -> Option<(Labels, Labels)> {
    let labels = |name: &str| match metadata.get(name) {
        Some(JsonNode::Raw(raw)) => {
            serde_json::from_str::<Option<Labels>>(raw.get()).ok().map(Option::unwrap_or_default)
        }
        _ => Some(Labels::default()),
    };
    let reads_annotations = match resource {
        Resource::Service => true,
        Resource::Endpoints | Resource::EndpointSlice => metadata.text("name") == API_SERVER,
        _ => false,
    };
    Some((labels("labels")?, if reads_annotations { labels("annotations")? } else { Labels::default() }))
}
