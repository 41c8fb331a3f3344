//! Nodes: where pods run, in which zone, and which pods they refuse.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, OnceLock},
};

use super::HashSeed;

use serde::{Deserialize, Deserializer};

use super::{
    Labels, Resource, Text, ZoneShares, names, nano_value, parse_lenient,
    wire::{kind_of, nullable},
};

/// A taint of a node: pods that do not tolerate it do not run there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "the fields are Kubernetes' own")]
pub struct Taint {
    #[serde(deserialize_with = "nullable")]
    pub key: Text,
    #[serde(deserialize_with = "nullable")]
    pub value: Text,
    #[serde(deserialize_with = "nullable")]
    pub effect: Text,
}

/// A node: its name, zone, readiness, CPU and taints.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Name.
    pub name: Text,
    /// Labels.
    pub labels: Labels,
    /// Whether its `Ready` condition is true.
    pub ready: bool,
    /// Allocatable CPU in billionths, up to some nine thousand million cores; 0 if unknown.
    pub cpu_nano: i64,
    /// `spec.taints`.
    pub taints: Vec<Taint>,
    /// `spec.unschedulable`: it was cordoned.
    pub unschedulable: bool,
    /// The IP addresses in `status.addresses`, of any type.
    pub addresses: Vec<IpAddr>,
}

impl Node {
    /// The zone label, if it is there and not empty.
    pub fn zone(&self) -> Option<&Text> {
        self.labels.get(names::ZONE).filter(|z| !z.is_empty())
    }

    /// Whether it is labelled as part of the control plane, with any value.
    pub fn control_plane(&self) -> bool {
        names::CONTROL_PLANE.iter().any(|l| self.labels.contains_key(l))
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let raw = RawNode::deserialize(d)?;
        Ok(Self {
            name: raw.metadata.name,
            labels: raw.metadata.labels,
            ready: raw.status.conditions.iter().find(|c| c.kind == "Ready").is_some_and(|c| c.status == "True"),
            cpu_nano: match &raw.status.allocatable.cpu {
                None => 0,
                Some(q) => {
                    let text = match q {
                        RawQuantity::Number(n) => smol_str::format_smolstr!("{n}"),
                        RawQuantity::Text(t) => t.clone(),
                    };
                    nano_value(&text)
                        .ok_or_else(|| serde::de::Error::custom(format_args!("cpu {text:?} is not a quantity")))?
                }
            },
            taints: raw.spec.taints,
            unschedulable: raw.spec.unschedulable,
            addresses: raw.status.addresses.iter().filter_map(|a| parse_lenient(&a.address)).collect(),
        })
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawNode {
    #[serde(rename = "kind", deserialize_with = "node_kind")]
    _kind: (),
    #[serde(deserialize_with = "nullable")]
    metadata: RawMeta,
    #[serde(deserialize_with = "nullable")]
    spec: RawSpec,
    #[serde(deserialize_with = "nullable")]
    status: RawStatus,
}

fn node_kind<'de, D: Deserializer<'de>>(d: D) -> Result<(), D::Error> {
    kind_of(d, Resource::Node)
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawSpec {
    #[serde(deserialize_with = "nullable")]
    taints: Vec<Taint>,
    #[serde(deserialize_with = "nullable")]
    unschedulable: bool,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawMeta {
    #[serde(deserialize_with = "nullable")]
    name: Text,
    #[serde(deserialize_with = "nullable")]
    labels: Labels,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawStatus {
    #[serde(deserialize_with = "nullable")]
    allocatable: RawAllocatable,
    #[serde(deserialize_with = "nullable")]
    conditions: Vec<RawCondition>,
    #[serde(deserialize_with = "nullable")]
    addresses: Vec<RawAddress>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawAddress {
    #[serde(deserialize_with = "nullable")]
    address: Text,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawAllocatable {
    cpu: Option<RawQuantity>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "cpu must be a number or a string")]
enum RawQuantity {
    Text(Text),
    Number(serde_json::Number),
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawCondition {
    #[serde(rename = "type", deserialize_with = "nullable")]
    kind: Text,
    #[serde(deserialize_with = "nullable")]
    status: Text,
}

/// All nodes of a cluster, indexed by name. Made once, read by every plan. Other indexes share the nodes.
#[derive(Clone, Debug, Default)]
pub struct Nodes {
    all: Vec<Arc<Node>>,
    /// Their zones, in the same order: a plan asks for that of every pod.
    zones: Vec<Option<Text>>,
    by_name: HashMap<Text, usize, HashSeed>,
    /// Computed once for all Services that ask for it.
    zone_shares: OnceLock<Option<Box<ZoneShares>>>,
}

impl Nodes {
    /// Indexes `nodes`; of several with one name the last one counts.
    pub fn new(nodes: impl IntoIterator<Item: Into<Arc<Node>>>) -> Self {
        let all: Vec<Arc<Node>> = nodes.into_iter().map(Into::into).collect();
        let by_name = all.iter().enumerate().map(|(i, n)| (n.name.clone(), i)).collect();
        let zones = all.iter().map(|n| n.zone().cloned()).collect();
        Self { all, zones, by_name, zone_shares: OnceLock::new() }
    }

    /// Adds a node, in place of one of its name.
    pub fn insert(&mut self, node: impl Into<Arc<Node>>) {
        let node = node.into();
        self.zone_shares.take();
        let zone = node.zone().cloned();
        if let Some(&at) = self.by_name.get(&node.name) {
            (self.all[at], self.zones[at]) = (node, zone);
            return;
        }
        self.by_name.insert(node.name.clone(), self.all.len());
        self.all.push(node);
        self.zones.push(zone);
    }

    /// Removes a node and returns it. The last node takes its place.
    pub fn remove(&mut self, name: &Text) -> Option<Arc<Node>> {
        let at = self.by_name.remove(name)?;
        self.zone_shares.take();
        let removed = self.all.swap_remove(at);
        self.zones.swap_remove(at);
        // Of several nodes with one name, only the last is indexed.
        if let Some(moved) = self.all.get(at)
            && let Some(index) = self.by_name.get_mut(&moved.name).filter(|index| **index == self.all.len())
        {
            *index = at;
        }
        Some(removed)
    }

    /// The node of this name.
    #[inline]
    pub fn get(&self, name: &Text) -> Option<&Node> {
        self.by_name.get(name).map(|&i| &*self.all[i])
    }

    /// The zone of the node of this name; `None` if there is no such node, `Some(None)` if it has no zone.
    #[inline]
    pub fn zone_of(&self, name: &Text) -> Option<Option<&Text>> {
        self.by_name.get(name).map(|&i| self.zones[i].as_ref())
    }

    /// Every node, each name once, in the order given.
    pub fn iter(&self) -> impl Iterator<Item = &Node> {
        self.all.iter().enumerate().filter(|(i, n)| self.by_name.get(&n.name) == Some(i)).map(|(_, n)| &**n)
    }
}

impl Nodes {
    /// The zones of the ready worker nodes, with their shares of the CPU; `None` if no hints are given by them.
    pub(crate) fn zone_shares(&self) -> Option<&ZoneShares> {
        let workers = || self.iter().filter(|node| node.ready && !node.control_plane());
        let shares = || ZoneShares::of(workers().map(|node| (node.zone(), node.cpu_nano))).map(Box::new);
        self.zone_shares.get_or_init(shares).as_deref()
    }
}

impl<N: Into<Arc<Node>>> FromIterator<N> for Nodes {
    fn from_iter<I: IntoIterator<Item = N>>(nodes: I) -> Self {
        Self::new(nodes)
    }
}

impl<'de> Deserialize<'de> for Nodes {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        nullable::<D, Vec<Node>>(d).map(Self::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, zone: &str) -> Node {
        Node { name: name.into(), labels: [(names::ZONE, zone)].into_iter().collect(), ..Node::default() }
    }

    #[test]
    fn nodes_that_come_and_go_leave_the_index_right() {
        let mut nodes: Nodes = [node("a", "x"), node("b", "y"), node("c", "z")].into_iter().collect();
        nodes.insert(node("b", "w"));
        assert_eq!(nodes.remove(&"a".into()).map(|n| n.name.clone()), Some("a".into()));
        assert_eq!(nodes.remove(&"a".into()), None);
        nodes.insert(node("d", "v"));
        let found: Vec<_> = nodes.iter().map(|n| (n.name.as_str(), nodes.zone_of(&n.name))).collect();
        let (w, v, z) = (Text::from("w"), Text::from("v"), Text::from("z"));
        assert_eq!(found, [("c", Some(Some(&z))), ("b", Some(Some(&w))), ("d", Some(Some(&v)))]);
    }
}
