//! What an `EndpointPolicy` says, in v1.

use serde::Deserialize;

use super::{pattern, selector::Selector};
use crate::{
    admission::{Capacity, Mode, Rule},
    model::{Cidr, ObjectMeta, Text, wire::nullable},
};

/// A policy, as it is stored. [`read`](super::read()) makes one of either version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct EndpointPolicy {
    /// Metadata; a policy belongs to no namespace.
    #[serde(default, rename = "metadata", deserialize_with = "nullable")]
    pub meta: ObjectMeta,
    /// What holds, and for what.
    #[serde(default, deserialize_with = "nullable")]
    pub spec: PolicySpec,
}

/// What holds, and for what.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PolicySpec {
    /// The mode of rules that are not listed; `None`: the policy says nothing about them.
    pub default_mode: Option<Mode>,
    /// Modes of single rules.
    #[serde(deserialize_with = "nullable")]
    pub rules: Vec<RuleMode>,
    /// Which objects it is about.
    #[serde(rename = "match", deserialize_with = "nullable")]
    pub matches: Match,
    /// Which of these are left alone.
    #[serde(deserialize_with = "nullable")]
    pub exempt: Exempt,
    /// Which addresses are fine, and which never are.
    #[serde(deserialize_with = "nullable")]
    pub addresses: Addresses,
    /// What is done about too many addresses.
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

/// Which objects: all conditions that are given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Match {
    /// By namespace.
    #[serde(deserialize_with = "nullable")]
    pub namespaces: Selection,
    /// By Service: the object itself, or the one that Endpoints or a slice belong to.
    #[serde(deserialize_with = "nullable")]
    pub services: Selection,
}

/// Names and labels; what is not given holds for everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Selection {
    /// One of these names; `*` stands for any text.
    #[serde(deserialize_with = "nullable")]
    pub names: Vec<Text>,
    /// These labels.
    pub selector: Option<Selector>,
}

impl Selection {
    /// Whether one of the names fits.
    pub(super) fn names(&self, name: &str) -> bool {
        self.names.is_empty() || pattern::any(&self.names, name)
    }
}

/// Who and what is left alone: one of them is enough.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Exempt {
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

/// An object that is left alone. What is not given holds for everything.
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
        let fits = |wanted: &Text, given| wanted.is_empty() || pattern::fits(wanted, given);
        (self.kind.is_empty() || self.kind == kind) && fits(&self.namespace, namespace) && fits(&self.name, name)
    }
}

/// Address ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Addresses {
    /// Fine though no pod has them.
    #[serde(deserialize_with = "nullable")]
    pub allow: Vec<Cidr>,
    /// Refused though they are allowed or belong to a pod.
    #[serde(deserialize_with = "nullable")]
    pub deny: Vec<Cidr>,
}

/// What is done about too many addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct CapacitySpec {
    /// `None`: the policy says nothing about it.
    pub action: Option<Capacity>,
}
