//! `NodePool` of `apps.openyurt.io`: a group of nodes of an edge site.

use std::collections::BTreeSet;

use serde::{Deserialize, Deserializer};

use super::{Text, wire::nullable};

/// A `NodePool`: its name, and the nodes in its status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodePool {
    /// Name.
    pub name: Text,
    /// `status.nodes`.
    pub nodes: BTreeSet<Text>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawPool {
    #[serde(deserialize_with = "nullable")]
    metadata: RawMeta,
    #[serde(deserialize_with = "nullable")]
    status: RawStatus,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawMeta {
    #[serde(deserialize_with = "nullable")]
    name: Text,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawStatus {
    #[serde(deserialize_with = "nullable")]
    nodes: BTreeSet<Text>,
}

impl<'de> Deserialize<'de> for NodePool {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let raw = RawPool::deserialize(d)?;
        Ok(Self { name: raw.metadata.name, nodes: raw.status.nodes })
    }
}
