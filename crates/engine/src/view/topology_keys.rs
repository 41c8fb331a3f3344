//! The topology keys of a Service: which labels of nodes fence its traffic in.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;

use super::viewpoint::Viewpoint;
use crate::model::{HashSeed, Labels, Node, Service, Text};

/// The annotation of SuperEdge's application-grid-wrapper: a JSON list of label keys.
pub const SUPEREDGE_KEYS: &str = "topologyKeys";
/// In ordered mode, and in the field `topologyKeys`: all endpoints.
pub(super) const WILDCARD: &str = "*";

/// The most different keys of a Service that count. Kubernetes 1.17 to 1.21 accepted no more in the field, and no more than a
/// few have a meaning.
pub const MAX_TOPOLOGY_KEYS: usize = 16;

/// How several keys are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyOrder {
    /// As SuperEdge does: an endpoint stays if its node agrees with this one in any of the keys.
    #[default]
    #[serde(rename = "any")]
    AnyKey,
    /// As the field `topologyKeys` of Kubernetes 1.17 to 1.21: the first key for which there is a ready endpoint decides,
    /// and `*` stands for all endpoints. Unlike there, all endpoints are used where no key has one.
    Ordered,
}

/// The keys of a Service: each once, in their order. The first [`MAX_TOPOLOGY_KEYS`] count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopologyKeys {
    keys: Vec<Text>,
    /// The others, each once. They do not count.
    ignored: Vec<Text>,
}

/// The labels of a node by which the keys of a Service fence it in.
#[derive(Debug, Default)]
pub(super) struct OwnLabels<'a>(Vec<(&'a Text, &'a Text)>);

impl TopologyKeys {
    /// Reads the annotation of a Service. An annotation that is not a list of texts is an error: SuperEdge ignores it.
    pub fn of(service: &Service) -> Result<Self, MalformedKeys> {
        let Some(text) = service.meta.annotations.get(SUPEREDGE_KEYS) else { return Ok(Self::default()) };
        let keys: Option<Vec<Text>> = serde_json::from_str(text).map_err(|_| MalformedKeys)?;
        Ok(keys.iter().flatten().collect())
    }

    /// The keys of the field `topologyKeys` of a Service.
    pub(super) fn of_field(service: &Service) -> Self {
        service.topology_keys.iter().collect()
    }

    /// The keys that count, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &Text> {
        self.keys.iter()
    }

    /// All keys as they are written, each once.
    pub fn all(&self) -> impl Iterator<Item = &Text> {
        self.keys.iter().chain(&self.ignored)
    }

    /// Whether `*` is among the keys that count.
    pub(super) fn has_wildcard(&self) -> bool {
        self.keys.iter().any(|key| key == WILDCARD)
    }

    /// Whether the Service has no keys.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Whether the Service has more keys than count.
    pub fn is_cut(&self) -> bool {
        !self.ignored.is_empty()
    }

    /// Whether a key that does not count could make a difference to a node: one that it has no label of agrees with nothing.
    pub(super) fn ignores_label_of(&self, here: &Labels) -> bool {
        self.ignored.iter().any(|key| here.contains_key(key))
    }

    /// Whether `*` is among the keys that do not count.
    pub(super) fn ignores_wildcard(&self) -> bool {
        self.ignored.iter().any(|key| key == WILDCARD)
    }

    /// The labels of a node that have one of the keys.
    pub(super) fn labels<'a>(&'a self, here: &'a Labels) -> OwnLabels<'a> {
        OwnLabels(self.keys.iter().filter_map(|key| Some((key, here.get(key)?))).collect())
    }

    /// In ordered mode, the label that decides: that of the first key for which one of these nodes agrees with this one. `None`:
    /// no key does, or `*` comes first.
    pub(super) fn deciding<'a>(&'a self, at: Viewpoint<'a>, ready: &[&Node]) -> Option<OwnLabels<'a>> {
        let here = at.labels()?;
        let before_wildcard = self.keys.iter().take_while(|key| *key != WILDCARD);
        let mut labels = before_wildcard.filter_map(|key| Some(OwnLabels(vec![(key, here.get(key)?)])));
        labels.find(|label| ready.iter().any(|node| label.agree(&node.labels)))
    }
}

/// Keys in their order: a key that is repeated counts once.
impl<'k> FromIterator<&'k Text> for TopologyKeys {
    fn from_iter<I: IntoIterator<Item = &'k Text>>(all: I) -> Self {
        let mut found = Self::default();
        let mut ignored: HashSet<&Text, HashSeed> = HashSet::default();
        for key in all {
            if found.keys.contains(key) {
                continue;
            }
            if found.keys.len() < MAX_TOPOLOGY_KEYS {
                found.keys.push(key.clone());
            } else if ignored.insert(key) {
                found.ignored.push(key.clone());
            }
        }
        found
    }
}

impl<'a> OwnLabels<'a> {
    /// Whether another node has one of the labels with an equal value.
    fn agree(&self, there: &Labels) -> bool {
        self.0.iter().any(|(key, value)| there.get(key) == Some(value))
    }

    /// Compares nodes with this one.
    pub(super) fn compared(self) -> ComparedNodes<'a> {
        let text: usize = self.0.iter().map(|(key, value)| key.len() + value.len()).sum();
        ComparedNodes { own: self, known: (text > MAX_TOPOLOGY_KEYS * LONG).then(HashMap::default) }
    }
}

/// A key and a value are this long together at most in a cluster.
const LONG: usize = 512;

/// The nodes that were compared with the own one. Long labels are compared once for each node, not for each endpoint.
#[derive(Debug)]
pub(super) struct ComparedNodes<'a> {
    own: OwnLabels<'a>,
    known: Option<HashMap<Text, bool, HashSeed>>,
}

impl ComparedNodes<'_> {
    /// Whether a node agrees with the own one in a key.
    pub(super) fn agree(&mut self, node: &Node) -> bool {
        let Self { own, known } = self;
        let Some(known) = known else { return own.agree(&node.labels) };
        match known.get(&node.name) {
            Some(agrees) => *agrees,
            None => *known.entry(node.name.clone()).or_insert_with(|| own.agree(&node.labels)),
        }
    }
}

/// Each node once. Their order does not matter.
pub(super) fn each_once(mut nodes: Vec<&Node>) -> Vec<&Node> {
    nodes.sort_unstable_by_key(|node| std::ptr::from_ref(*node).addr());
    nodes.dedup_by_key(|node| std::ptr::from_ref(*node).addr());
    nodes
}

/// The annotation is not a JSON list of texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedKeys;
