//! Collects the nodes and edges of a picture.

use std::collections::{BTreeMap, BTreeSet};

use super::graph::{EdgeKind, LONGEST, NodeKind, PictureEdge, PictureNode, PictureState};
use crate::{
    model::Text,
    phrase::{clip_name, clip_to},
};

/// The nodes so far, and the edges between them by their places.
#[derive(Debug, Default)]
pub(super) struct Composer {
    pub(super) nodes: Vec<PictureNode>,
    ids: BTreeSet<String>,
    edges: BTreeMap<EdgeKey, EdgeParts>,
}

/// From where to where, what it means, and the code of its reason.
type EdgeKey = (usize, usize, EdgeKind, Option<&'static str>);

/// What an edge stands for: connections of which some are served.
#[derive(Debug, Default)]
struct EdgeParts {
    served: usize,
    all: usize,
    /// The state of those that are not served.
    worst: Option<PictureState>,
    label: String,
}

impl Composer {
    /// Adds a node. If its id is taken, it gets another one: names of the input may be there twice.
    pub(super) fn add(&mut self, mut node: PictureNode) -> usize {
        let place = self.nodes.len();
        // Edges repeat ids, and names of the input may have any length.
        for text in [&mut node.id, &mut node.label] {
            text.truncate(clip_name(text).len());
        }
        node.detail.truncate(clip_to(&node.detail, LONGEST).len());
        node.zone = node.zone.map(|zone| Text::new(clip_name(&zone)));
        if !self.ids.insert(node.id.clone()) {
            // No other node has this id: places are unique, and ids of nodes do not begin with one.
            node.id = format!("{place}/{}", node.id);
            self.ids.insert(node.id.clone());
        }
        self.nodes.push(node);
        place
    }

    /// Adds a connection over which traffic goes, or does not.
    pub(super) fn connect(&mut self, from: usize, to: usize, kind: EdgeKind, is_served: bool) {
        let parts = self.edges.entry((from, to, kind, None)).or_default();
        parts.all += 1;
        parts.served += usize::from(is_served);
    }

    /// Adds a connection in a state.
    pub(super) fn connect_as(&mut self, from: usize, to: usize, kind: EdgeKind, state: PictureState) {
        self.edges.entry((from, to, kind, None)).or_default().worst = Some(state);
    }

    /// Adds a connection that is not there, with the reason.
    pub(super) fn leave_out(
        &mut self,
        from: usize,
        to: usize,
        state: PictureState,
        code: &'static str,
        label: impl FnOnce() -> String,
    ) {
        let parts = self
            .edges
            .entry((from, to, EdgeKind::LeftOut, Some(code)))
            .or_insert_with(|| EdgeParts { label: label(), ..EdgeParts::default() });
        parts.worst = parts.worst.max(Some(state));
    }

    /// The edges, by the ids of the nodes.
    pub(super) fn finish(self) -> (Vec<PictureNode>, Vec<PictureEdge>) {
        let Self { nodes, edges, .. } = self;
        let edge = |((from, to, kind, code), parts): (EdgeKey, EdgeParts)| PictureEdge {
            from: nodes[from].id.clone(),
            to: nodes[to].id.clone(),
            kind,
            state: parts.worst.unwrap_or_else(|| PictureState::of_parts(parts.served, parts.all)),
            label: parts.label,
            code,
        };
        let edges = edges.into_iter().map(edge).collect();
        (nodes, edges)
    }
}

impl PictureNode {
    /// A node without details.
    pub(super) fn new(kind: NodeKind, id: String, label: String, state: PictureState) -> Self {
        Self { id, kind, state, label, detail: String::new(), count: 1, zone: None, reasons: Vec::new() }
    }
}
