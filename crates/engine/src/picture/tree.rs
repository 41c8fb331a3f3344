//! A picture as a tree of lines, for a terminal.

use std::collections::{BTreeMap, BTreeSet};

use super::graph::{EdgeKind, NodeKind, Picture, PictureEdge, PictureNode, PictureState};
use crate::{
    shown_text::printable,
    text_columns::{columns, shortened},
};

/// A line of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeLine {
    /// The branches before it.
    pub branch: String,
    /// The state of what it shows.
    pub state: PictureState,
    /// What it shows, and more about it.
    pub label: String,
    /// More about it; empty if there is nothing more.
    pub detail: String,
}

impl PictureState {
    /// A sign for the state that is one column wide.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Plain => " ",
            Self::Served => "✓",
            Self::Unknown => "?",
            Self::PartlyServed => "◐",
            Self::NotServed => "○",
            Self::Broken => "✗",
        }
    }
}

/// What a tree has under a line.
struct Branch<'p> {
    state: PictureState,
    label: String,
    detail: String,
    pods: Vec<&'p PictureNode>,
}

impl Picture {
    /// The nodes of the picture as lines of at most `width` columns: routes, the Service, and below it its ports, its slices
    /// with their pods, and the pods that are in none, by reason.
    pub fn lines(&self, width: Option<usize>) -> Vec<TreeLine> {
        let tree = Tree::of(self);
        let mut lines: Vec<TreeLine> = Vec::new();
        for node in self.nodes.iter().filter(|node| matches!(node.kind, NodeKind::Route | NodeKind::Service)) {
            lines.push(line("", node.state, node_label(node), tree.about(node)));
        }
        let branches = tree.branches();
        let last = branches.len().saturating_sub(1);
        for (place, branch) in branches.into_iter().enumerate() {
            let (own, below) = if place == last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            lines.push(line(own, branch.state, branch.label, branch.detail));
            let last = branch.pods.len().saturating_sub(1);
            for (place, pod) in branch.pods.iter().enumerate() {
                let own = if place == last { "└─ " } else { "├─ " };
                lines.push(line(&format!("{below}{own}"), pod.state, node_label(pod), tree.about(pod)));
            }
        }
        if let Some(width) = width {
            for line in &mut lines {
                line.fit(width);
            }
        }
        lines
    }
}

fn line(branch: &str, state: PictureState, label: String, detail: String) -> TreeLine {
    let [label, detail] = [label, detail].map(|text| printable(&text).into_owned());
    TreeLine { branch: branch.to_owned(), state, label, detail }
}

impl TreeLine {
    /// Cuts what has no room.
    fn fit(&mut self, width: usize) {
        /// The sign and the space behind it, and the space before details.
        const SIGN: usize = 2;
        let room = width.saturating_sub(columns(&self.branch) + SIGN);
        self.label = shortened(&self.label, room).into_owned();
        let left = room.saturating_sub(columns(&self.label) + SIGN);
        self.detail = if left < 8 { String::new() } else { shortened(&self.detail, left).into_owned() };
    }
}

/// A node with the word for its kind.
fn node_label(node: &PictureNode) -> String {
    let kind = match node.kind {
        NodeKind::Service => "Service ",
        NodeKind::Port => "port ",
        NodeKind::Endpoints => "Endpoints ",
        NodeKind::Slice if node.count == 1 => "slice ",
        NodeKind::Pod if node.count == 1 => "pod ",
        NodeKind::NearMiss if node.count > 0 => "pod ",
        _ => "",
    };
    format!("{kind}{}", node.label)
}

/// The edges of a picture by their ends.
struct Tree<'p> {
    picture: &'p Picture,
    nodes: BTreeMap<&'p str, &'p PictureNode>,
    from: BTreeMap<&'p str, Vec<&'p PictureEdge>>,
    to: BTreeMap<&'p str, Vec<&'p PictureEdge>>,
}

impl<'p> Tree<'p> {
    fn of(picture: &'p Picture) -> Self {
        let nodes = picture.nodes.iter().map(|node| (node.id.as_str(), node)).collect();
        let mut tree = Self { picture, nodes, from: BTreeMap::new(), to: BTreeMap::new() };
        for edge in &picture.edges {
            tree.from.entry(&edge.from).or_default().push(edge);
            tree.to.entry(&edge.to).or_default().push(edge);
        }
        tree
    }

    /// The nodes at the other ends of the edges of a kind that end at, or begin at, a node.
    fn others(&self, edges: &BTreeMap<&str, Vec<&'p PictureEdge>>, id: &str, kind: EdgeKind) -> Vec<&'p PictureNode> {
        let edges = edges.get(id).into_iter().flatten().filter(|edge| edge.kind == kind);
        let other = |edge: &&PictureEdge| {
            self.nodes.get(if edge.from == id { edge.to.as_str() } else { edge.from.as_str() }).copied()
        };
        edges.filter_map(other).collect()
    }

    /// More about a node: why it is in its state, its details, where it is, and for whom it is hinted.
    fn about(&self, node: &PictureNode) -> String {
        let names =
            |nodes: Vec<&PictureNode>| nodes.iter().map(|node| node.label.clone()).collect::<Vec<_>>().join(", ");
        // The branch above has the reason why it is left out.
        let codes: Vec<Option<&str>> =
            self.to.get(node.id.as_str()).into_iter().flatten().map(|edge| edge.code).collect();
        let reason = node.reasons.first().filter(|reason| !codes.contains(&Some(reason.code)));
        let mut parts: Vec<String> = reason.map(super::PictureReason::text).into_iter().collect();
        parts.push(node.detail.clone());
        let on = names(self.others(&self.from, &node.id, EdgeKind::RunsOn));
        let zone = node.zone.as_ref().map(|zone| format!("zone {zone}"));
        match (on.is_empty(), zone) {
            (false, Some(zone)) => parts.push(format!("on {on} in {zone}")),
            (false, None) => parts.push(format!("on {on}")),
            (true, zone) => parts.extend(zone),
        }
        let hinted = names(self.others(&self.to, &node.id, EdgeKind::Hint));
        if !hinted.is_empty() {
            parts.push(format!("hinted for {hinted}"));
        }
        parts.retain(|part| !part.is_empty());
        parts.join("; ")
    }

    /// What is below the Service.
    fn branches(&self) -> Vec<Branch<'p>> {
        let of_kind = |kind: NodeKind| self.picture.nodes.iter().filter(move |node| node.kind == kind);
        let mut branches: Vec<Branch<'p>> = Vec::new();
        let inner = [NodeKind::Port, NodeKind::Endpoints, NodeKind::Slice].into_iter().flat_map(of_kind);
        branches.extend(inner.map(|node| Branch {
            state: node.state,
            label: node_label(node),
            detail: self.about(node),
            pods: if node.kind == NodeKind::Slice {
                self.others(&self.from, &node.id, EdgeKind::Traffic)
            } else {
                Vec::new()
            },
        }));
        let mut left_out: Vec<((&str, &str, &str), Branch<'p>)> = Vec::new();
        let mut reached = BTreeSet::new();
        for edge in &self.picture.edges {
            reached.insert(edge.to.as_str());
            let (EdgeKind::LeftOut, Some(to)) = (edge.kind, self.nodes.get(edge.to.as_str())) else { continue };
            let key = (edge.from.as_str(), edge.code.unwrap_or_default(), edge.label.as_str());
            if let Some((_, branch)) = left_out.iter_mut().find(|(known, _)| *known == key) {
                branch.pods.push(to);
                continue;
            }
            let from = self.nodes.get(edge.from.as_str()).filter(|from| from.kind == NodeKind::Port);
            let from = from.map(|port| format!("{}: ", node_label(port))).unwrap_or_default();
            let detail = format!("{from}{}", edge.label);
            left_out.push((key, Branch { state: edge.state, label: key.1.to_owned(), detail, pods: vec![to] }));
        }
        branches.extend(left_out.into_iter().map(|(_, branch)| branch));
        let unreached: Vec<&PictureNode> = [NodeKind::Pod, NodeKind::Address]
            .into_iter()
            .flat_map(of_kind)
            .filter(|node| !reached.contains(node.id.as_str()))
            .collect();
        if !unreached.is_empty() {
            let label = "in no slice".to_owned();
            branches.push(Branch { state: PictureState::Unknown, label, detail: String::new(), pods: unreached });
        }
        branches
    }
}
