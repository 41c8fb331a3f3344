//! The nodes and zones of pods, and the hints that send clients of a zone or node to them.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    composer::Composer,
    graph::{EdgeKind, NodeKind, PictureNode, PictureState},
    groups::Groups,
    members::Members,
};
use crate::{
    model::{Nodes, Text},
    phrase::counted,
};

/// The most zones that are drawn, by name; one node stands for the others.
const MOST_ZONES: usize = 12;

/// Where the groups of a picture are.
pub(super) struct PlacesOfPods<'a> {
    nodes: &'a Nodes,
    /// For each zone, its nodes with the groups that have pods there.
    by_zone: BTreeMap<Option<&'a Text>, BTreeMap<&'a Text, BTreeSet<usize>>>,
    /// For each zone, the groups that are hinted for it, with the number of their endpoints.
    hints_of_zones: BTreeMap<&'a Text, BTreeMap<usize, usize>>,
    /// For each node, the groups that are hinted for it.
    hints_of_nodes: BTreeMap<&'a Text, BTreeSet<usize>>,
    is_folded: bool,
}

impl<'a> PlacesOfPods<'a> {
    pub(super) fn of(members: &Members<'a>, groups: &Groups<'_>, nodes: &'a Nodes) -> Self {
        let mut this = Self {
            nodes,
            by_zone: BTreeMap::new(),
            hints_of_zones: BTreeMap::new(),
            hints_of_nodes: BTreeMap::new(),
            is_folded: groups.is_folded,
        };
        for (member, group) in members.all.iter().zip(&groups.of_member) {
            if let Some(node) = member.node {
                this.by_zone.entry(member.zone).or_default().entry(node).or_default().insert(*group);
            } else if let Some(zone) = member.zone {
                this.by_zone.entry(Some(zone)).or_default();
            }
        }
        for place in &members.places {
            let group = groups.of_member[place.member];
            let Some(hints) = &place.endpoint.hints else { continue };
            for zone in &hints.for_zones {
                *this.hints_of_zones.entry(&zone.name).or_default().entry(group).or_default() += 1;
            }
            for node in &hints.for_nodes {
                this.hints_of_nodes.entry(&node.name).or_default().insert(group);
            }
        }
        this
    }

    /// Adds the nodes and zones, and their edges; `groups` are the nodes of the groups.
    pub(super) fn add(&self, groups: &[usize], drawn: &mut Composer) {
        let of_nodes = self.add_nodes(groups, drawn);
        for (name, hinted) in &self.hints_of_nodes {
            if let Some(node) = of_nodes.get(*name) {
                for group in hinted {
                    drawn.connect_as(*node, groups[*group], EdgeKind::Hint, PictureState::Served);
                }
            }
        }
        let zones: BTreeSet<&Text> =
            self.by_zone.keys().copied().flatten().chain(self.hints_of_zones.keys().copied()).collect();
        let shown = if zones.len() > MOST_ZONES { MOST_ZONES - 1 } else { zones.len() };
        let mut others: Option<usize> = None;
        for (place, zone) in zones.iter().enumerate() {
            let node = match others {
                Some(node) => node,
                None if place < shown => drawn.add(self.zone_node(zone)),
                None => {
                    let label = format!("{} more zones", zones.len() - shown);
                    let node = PictureNode::new(NodeKind::Zone, "zones/more".into(), label, PictureState::Plain);
                    *others.insert(drawn.add(PictureNode { count: zones.len() - shown, ..node }))
                }
            };
            for group in self.hints_of_zones.get(*zone).into_iter().flat_map(BTreeMap::keys) {
                drawn.connect_as(node, groups[*group], EdgeKind::Hint, PictureState::Served);
            }
        }
    }

    fn zone_node(&self, zone: &Text) -> PictureNode {
        let hinted: usize = self.hints_of_zones.get(zone).map(|groups| groups.values().sum()).unwrap_or_default();
        let detail = match hinted {
            0 if self.hints_of_zones.is_empty() => String::new(),
            0 => "no endpoint is hinted for it".to_owned(),
            n => format!("its clients use {}", counted(n, "endpoint")),
        };
        let node = PictureNode::new(NodeKind::Zone, format!("zone/{zone}"), zone.to_string(), PictureState::Plain);
        PictureNode { detail, zone: Some(zone.clone()), ..node }
    }

    /// Adds the nodes on which pods run, or one for those of each zone. Returns the node of each that is drawn.
    fn add_nodes(&self, groups: &[usize], drawn: &mut Composer) -> BTreeMap<&'a Text, usize> {
        let mut places = BTreeMap::new();
        let mut others = None;
        for (place, (zone, nodes)) in self.by_zone.iter().enumerate().filter(|(_, (_, nodes))| !nodes.is_empty()) {
            if self.is_folded {
                let folded = (place < MOST_ZONES).then(|| Self::folded(*zone, nodes.len(), drawn));
                let node = folded.unwrap_or_else(|| *others.get_or_insert_with(|| drawn.add(of_other_zones())));
                for group in nodes.values().flatten() {
                    drawn.connect_as(groups[*group], node, EdgeKind::RunsOn, PictureState::Plain);
                }
                continue;
            }
            for (name, on_it) in nodes {
                let node = drawn.add(self.node(name, *zone));
                places.insert(*name, node);
                for group in on_it {
                    drawn.connect_as(groups[*group], node, EdgeKind::RunsOn, PictureState::Plain);
                }
            }
        }
        places
    }

    fn folded(zone: Option<&Text>, count: usize, drawn: &mut Composer) -> usize {
        let id = format!("nodes/{}", zone.map_or("", Text::as_str));
        let node = PictureNode::new(NodeKind::Node, id, counted(count, "node"), PictureState::Plain);
        drawn.add(PictureNode { count, zone: zone.cloned(), ..node })
    }

    fn node(&self, name: &Text, zone: Option<&Text>) -> PictureNode {
        let known = self.nodes.get(name);
        let (detail, state) = match known {
            Some(node) if !node.ready => ("not ready", PictureState::NotServed),
            None if self.nodes.iter().next().is_some() => ("there is no such Node", PictureState::Broken),
            _ => ("", PictureState::Plain),
        };
        let node = PictureNode::new(NodeKind::Node, format!("node/{name}"), name.to_string(), state);
        PictureNode { detail: detail.to_owned(), zone: zone.cloned(), ..node }
    }
}

fn of_other_zones() -> PictureNode {
    PictureNode::new(NodeKind::Node, "nodes/more".into(), "nodes of other zones".into(), PictureState::Plain)
}
