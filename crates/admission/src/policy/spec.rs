//! `EndpointPolicy`, v1.

use roster_engine::model::{Cidr, LabelSelector, ObjectMeta, Text, wire::nullable};
use serde::Deserialize;

use super::pattern_index::{self, MAX_NAME};
use crate::{Capacity, HostNetwork, Mode, Rule};

/// A policy in the stored version. [`read`](super::read()) parses both versions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct EndpointPolicy {
    /// Metadata. A policy is cluster-scoped.
    #[serde(default, rename = "metadata", deserialize_with = "nullable")]
    pub meta: ObjectMeta,
    /// The settings, and the objects that they apply to.
    #[serde(default, deserialize_with = "nullable")]
    pub spec: PolicySpec,
}

/// The settings of a policy, and the objects that they apply to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PolicySpec {
    /// The mode of the rules that are not listed; `None` leaves it to other policies.
    pub default_mode: Option<Mode>,
    /// Modes of single rules.
    #[serde(deserialize_with = "nullable")]
    pub rules: Vec<RuleMode>,
    /// The objects that the policy applies to.
    #[serde(rename = "match", deserialize_with = "nullable")]
    pub matches: PolicyMatch,
    /// Exemptions from the policy.
    #[serde(deserialize_with = "nullable")]
    pub exempt: Exemptions,
    /// Allowed and denied addresses.
    #[serde(deserialize_with = "nullable")]
    pub addresses: AddressRanges,
    /// How the webhook enforces the rule `over-capacity`.
    #[serde(deserialize_with = "nullable")]
    pub capacity: CapacitySpec,
}

/// The mode of one rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct RuleMode {
    /// Code of the rule.
    pub name: Rule,
    /// Its mode.
    pub mode: Mode,
}

/// The objects that a policy applies to. All given conditions must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PolicyMatch {
    /// By namespace.
    #[serde(deserialize_with = "nullable")]
    pub namespaces: Selection,
    /// By Service: the object itself, or the one that Endpoints or a slice belong to.
    #[serde(deserialize_with = "nullable")]
    pub services: Selection,
}

/// A selection by name and label. A condition that is not given holds for every object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Selection {
    /// One of these names; `*` stands for any text.
    #[serde(deserialize_with = "nullable")]
    pub names: Vec<Text>,
    /// These labels.
    pub selector: Option<LabelSelector>,
}

/// Users, groups, namespaces and objects that a policy exempts; one of them is enough.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Exemptions {
    /// Users, as the API server authenticated them.
    #[serde(deserialize_with = "nullable")]
    pub users: Vec<Text>,
    /// Groups of users.
    #[serde(deserialize_with = "nullable")]
    pub groups: Vec<Text>,
    /// Namespaces.
    #[serde(deserialize_with = "nullable")]
    pub namespaces: Vec<Text>,
    /// Single objects.
    #[serde(deserialize_with = "nullable")]
    pub objects: Vec<ExemptObject>,
}

/// An exempted object. A field that is not given matches every object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ExemptObject {
    /// Kind.
    #[serde(deserialize_with = "nullable")]
    pub kind: Text,
    /// Namespace.
    #[serde(deserialize_with = "nullable")]
    pub namespace: Text,
    /// Name.
    #[serde(deserialize_with = "nullable")]
    pub name: Text,
}

impl ExemptObject {
    pub(super) fn is(&self, kind: &str, namespace: &str, name: &str) -> bool {
        let fits = |wanted: &Text, given| wanted.is_empty() || pattern_index::matches(wanted, given, MAX_NAME);
        (self.kind.is_empty() || self.kind == kind) && fits(&self.namespace, namespace) && fits(&self.name, name)
    }
}

/// The address ranges of a policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AddressRanges {
    /// Addresses that need not belong to a pod.
    #[serde(deserialize_with = "nullable")]
    pub allow: Vec<Cidr>,
    /// Addresses that are refused even if they are allowed or belong to a pod.
    #[serde(deserialize_with = "nullable")]
    pub deny: Vec<Cidr>,
    /// Whether the addresses of pods of the host network count as addresses of pods; `None` leaves it to other policies.
    pub host_network: Option<HostNetwork>,
}

/// How the webhook enforces the rule `over-capacity`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct CapacitySpec {
    /// `None` leaves it to other policies.
    pub action: Option<Capacity>,
}
