//! Zones for nodes that have another label for their site.

use serde_json::{Value, json};

use crate::model::{Node, Nodes, Text, names};

/// Which nodes get a zone, and which cannot.
#[derive(Debug, Default)]
pub struct ZoneLabels<'a> {
    /// Nodes without a zone that get one.
    pub patches: Vec<ZonePatch<'a>>,
    /// Nodes that have another zone, which stays, and the one that they should get.
    pub conflicts: Vec<ZonePatch<'a>>,
    /// Nodes with neither: hints do not reach them.
    pub without: Vec<&'a Node>,
}

/// A node, and the zone that it gets.
#[derive(Clone, Copy, Debug)]
pub struct ZonePatch<'a> {
    /// The node.
    pub node: &'a Node,
    /// The zone.
    pub zone: &'a Text,
}

impl ZonePatch<'_> {
    /// The merge patch for the Node.
    pub fn patch(&self) -> Value {
        json!({ "metadata": { "labels": { names::ZONE: self.zone } } })
    }
}

impl<'a> ZoneLabels<'a> {
    /// Gives each node the value of `zone_key` as its zone.
    pub fn of(nodes: &'a Nodes, zone_key: Option<&Text>) -> Self {
        let mut labels = Self::default();
        for node in nodes.iter() {
            let zone = zone_key.and_then(|key| node.labels.get(key)).filter(|zone| !zone.is_empty());
            match (node.zone(), zone) {
                (None, Some(zone)) => labels.patches.push(ZonePatch { node, zone }),
                (Some(has), Some(zone)) if has != zone => labels.conflicts.push(ZonePatch { node, zone }),
                (None, None) => labels.without.push(node),
                (Some(_), _) => {}
            }
        }
        labels
    }

    /// The nodes with the patches.
    pub fn patched(&self, nodes: &Nodes) -> Nodes {
        let mut all: Vec<Node> = nodes.iter().cloned().collect();
        // The patches are in the order of the nodes.
        let mut patches = self.patches.iter().peekable();
        for node in &mut all {
            if let Some(patch) = patches.next_if(|patch| patch.node.name == node.name) {
                node.labels.insert(names::ZONE, patch.zone.clone());
            }
        }
        Nodes::new(all)
    }
}
