//! The nodes of assumed pods.

use std::sync::Arc;

use roster_engine::model::{Node, Text, names};
use smol_str::format_smolstr;

use super::scheduling::{NodeKnowledge, PlacedBy, Scheduling};

/// The name of an assumed node; several are numbered.
pub const ASSUMED_NODE: &str = "assumed-node";
/// The CPU of an assumed node, for zone hints.
const CPU: i64 = 4_000_000_000;

/// The nodes of a cluster without nodes in the input: one for each zone, or one without a zone.
pub(super) fn assumed_nodes(zones: &[Text]) -> Vec<Arc<Node>> {
    let node = |name: Text, zone: Option<&Text>| {
        let of_node = [(names::HOSTNAME, Some(&name)), (names::ZONE, zone)];
        let labels = of_node.into_iter().filter_map(|(k, v)| Some((k, v?.clone()))).collect();
        Arc::new(Node { labels, ready: true, cpu_nano: CPU, name, ..Node::default() })
    };
    if zones.is_empty() {
        return vec![node(Text::new_static(ASSUMED_NODE), None)];
    }
    let numbered = |(i, zone)| node(format_smolstr!("{ASSUMED_NODE}-{}", i + 1), Some(zone));
    zones.iter().enumerate().map(numbered).collect()
}

/// The nodes that pods are placed on.
#[derive(Debug)]
pub(super) struct Placement<'a> {
    /// In the order in which the pods of a workload are spread over them: neighbours are in different zones.
    nodes: Vec<&'a Node>,
    /// How many taints they have together.
    taints: usize,
    known: NodeKnowledge,
}

impl<'a> Placement<'a> {
    pub(super) fn new(nodes: &'a [Arc<Node>], known: NodeKnowledge) -> Self {
        let mut nodes: Vec<&Node> = nodes.iter().map(Arc::as_ref).collect();
        nodes.sort_by_key(|n| (n.zone(), &n.name));
        nodes.dedup_by_key(|n| (n.zone(), &n.name));
        let of_zones = nodes.chunk_by(|a, b| a.zone() == b.zone());
        let mut ranked: Vec<(usize, &Node)> =
            of_zones.flat_map(|of_zone| of_zone.iter().copied().enumerate()).collect();
        // Stable: nodes of one rank stay in the order of their zones.
        ranked.sort_by_key(|(rank, _)| *rank);
        let nodes: Vec<&Node> = ranked.into_iter().map(|(_, node)| node).collect();
        Self { taints: nodes.iter().map(|node| node.taints.len()).sum(), nodes, known }
    }

    /// How many comparisons it takes, at most, to find the nodes that a pod may run on.
    pub(super) fn checks(&self, scheduling: &Scheduling) -> usize {
        let of_node = self.nodes.len().saturating_mul(scheduling.requirements());
        of_node.saturating_add(self.taints.saturating_mul(1 + scheduling.tolerations.len()))
    }

    /// The nodes that a pod may run on.
    pub(super) fn fitting(&self, scheduling: &Scheduling, placed_by: PlacedBy) -> Vec<&'a Node> {
        self.nodes.iter().copied().filter(|n| scheduling.fits(n, self.known, placed_by)).collect()
    }
}
