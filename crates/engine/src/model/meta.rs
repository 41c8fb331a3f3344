//! Object metadata and references.

use std::{fmt, str::FromStr};

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::{
    Labels, Text,
    wire::{is_zero, nullable},
};

/// A point in time, as `metav1.Time`: RFC 3339, written in UTC with whole seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub Timestamp);

impl Time {
    /// The text of `endpoints.kubernetes.io/last-change-trigger-time` (Go's `RFC3339Nano`: fractions
    /// without trailing zeros).
    pub fn rfc3339_nano(self) -> Text {
        smol_str::format_smolstr!("{}", self.0)
    }
}

impl FromStr for Time {
    type Err = jiff::Error;
    fn from_str(s: &str) -> Result<Self, Self::Err> {
        s.parse().map(Self)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.0}", self.0)
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = Text::deserialize(d)?;
        text.parse().map_err(|_| D::Error::custom(format_args!("{text:?} is not an RFC 3339 time")))
    }
}

/// Kind, namespace and name of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ObjectKey {
    /// Kind, such as `Service`.
    pub kind: Text,
    /// Namespace; empty for cluster-scoped objects.
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub namespace: Text,
    /// Name.
    pub name: Text,
}

impl ObjectKey {
    /// A key of these three parts.
    pub fn new(kind: &str, namespace: &Text, name: &Text) -> Self {
        Self { kind: Text::new(kind), namespace: namespace.clone(), name: name.clone() }
    }

    /// The key with a namespace, as objects of namespaces have one: its own, or else `namespace`. A Node has none.
    #[must_use]
    pub fn placed(self, namespace: &str) -> Self {
        let has_none = self.kind == "Node" || !self.namespace.is_empty();
        if has_none { self } else { Self { namespace: Text::new(namespace), ..self } }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The name of an object may be unknown, and its namespace then says nothing.
        if self.namespace.is_empty() || self.name.is_empty() {
            return write!(f, "{} {}", self.kind, self.name);
        }
        write!(f, "{} {}/{}", self.kind, self.namespace, self.name)
    }
}

/// `core/v1.ObjectReference`, as in an endpoint's `targetRef`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "the fields are Kubernetes' own")]
pub struct ObjectRef {
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Text::is_empty")]
    pub kind: Text,
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Text::is_empty")]
    pub namespace: Text,
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Text::is_empty")]
    pub name: Text,
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Text::is_empty")]
    pub uid: Text,
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Text::is_empty")]
    pub api_version: Text,
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Text::is_empty")]
    pub resource_version: Text,
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Text::is_empty")]
    pub field_path: Text,
}

impl ObjectRef {
    /// Whether two references are equal apart from the resource version, which changes with every status update.
    pub fn same_target(&self, other: &Self) -> bool {
        self.uid == other.uid
            && self.name == other.name
            && self.namespace == other.namespace
            && self.kind == other.kind
            && self.api_version == other.api_version
            && self.field_path == other.field_path
    }

    /// [`Self::same_target`] for optional references: both or none must be present.
    pub fn same_targets(a: Option<&Self>, b: Option<&Self>) -> bool {
        match (a, b) {
            // Objects that were read together share what they refer to.
            (Some(a), Some(b)) => std::ptr::eq(a, b) || a.same_target(b),
            (None, None) => true,
            _ => false,
        }
    }
}

/// `metav1.OwnerReference`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "the fields are Kubernetes' own")]
pub struct OwnerReference {
    #[serde(deserialize_with = "nullable")]
    pub api_version: Text,
    #[serde(deserialize_with = "nullable")]
    pub kind: Text,
    #[serde(deserialize_with = "nullable")]
    pub name: Text,
    #[serde(deserialize_with = "nullable")]
    pub uid: Text,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_owner_deletion: Option<bool>,
}

impl OwnerReference {
    /// The reference of a controller to the v1 object it writes for.
    pub fn controller(kind: &str, name: &Text, uid: &Text) -> Self {
        Self {
            api_version: Text::new_static("v1"),
            kind: Text::new(kind),
            name: name.clone(),
            uid: uid.clone(),
            controller: Some(true),
            block_owner_deletion: Some(true),
        }
    }
}

/// `metav1.ObjectMeta` of objects that are written back: all of it but `managedFields`, which a
/// controller's cache does not hold either.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "the fields are Kubernetes' own")]
pub struct ObjectMeta {
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Text::is_empty")]
    pub name: Text,
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Text::is_empty")]
    pub generate_name: Text,
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Text::is_empty")]
    pub namespace: Text,
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Text::is_empty")]
    pub self_link: Text,
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Text::is_empty")]
    pub uid: Text,
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Text::is_empty")]
    pub resource_version: Text,
    #[serde(deserialize_with = "nullable", skip_serializing_if = "is_zero")]
    pub generation: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creation_timestamp: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_timestamp: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_grace_period_seconds: Option<i64>,
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Labels::is_empty")]
    pub annotations: Labels,
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub owner_references: Vec<OwnerReference>,
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub finalizers: Vec<Text>,
}

impl ObjectMeta {
    /// Whether the object is being deleted.
    pub fn deleting(&self) -> bool {
        self.deletion_timestamp.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trigger_time_is_written_as_go_writes_it() {
        for (given, want) in [
            ("2018-01-01T00:00:00Z", "2018-01-01T00:00:00Z"),
            ("2018-01-01T01:00:00.123000+01:00", "2018-01-01T00:00:00.123Z"),
        ] {
            assert_eq!(given.parse::<Time>().unwrap().rfc3339_nano(), want);
        }
    }
}
