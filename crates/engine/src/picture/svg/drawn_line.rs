//! The lines of a drawing: one for each edge, or one to its label and one from there.

use std::collections::BTreeSet;

use super::layout::Layouter;
use crate::picture::{EdgeKind, NodeKind, PictureEdge, PictureState};

/// A line from box to box.
#[derive(Debug)]
pub(super) struct DrawnLine {
    pub(super) kind: EdgeKind,
    pub(super) state: PictureState,
    /// From where to where, by way of a passage.
    pub(super) points: Vec<(i32, i32)>,
    /// The edge in words.
    pub(super) title: String,
    /// Whether it ends with an arrow.
    pub(super) has_arrow: bool,
}

/// The height of the name of a zone.
const ZONE_NAME: i32 = 14;

/// The lines of all edges of a picture whose boxes are placed.
pub(super) fn lines(of: &Layouter<'_>) -> Vec<DrawnLine> {
    let mut lines = Vec::new();
    let mut to_labels = BTreeSet::new();
    for (number, edge, (from, to)) in of.edges() {
        let title = title(of, edge, (from, to));
        let mut line = |points: Vec<(i32, i32)>, has_arrow: bool| {
            lines.push(DrawnLine { kind: edge.kind, state: edge.state, points, title: title.clone(), has_arrow });
        };
        let (a, b) = (&of.boxes[from], &of.boxes[to]);
        match (edge.kind, of.label_of.get(&number)) {
            (_, Some(label)) => {
                if to_labels.insert((from, *label)) {
                    line(way(of, from, *label), false);
                }
                line(vec![of.boxes[*label].right(), b.left()], true);
            }
            (EdgeKind::Hint, None) => {
                let is_zone = of.picture.nodes[from].kind == NodeKind::Zone;
                let y = if is_zone { a.y + ZONE_NAME } else { a.y + a.height * 3 / 4 };
                // Below the line to the node of the pod.
                line(vec![(a.x, y), (b.x + b.width, b.y + b.height * 3 / 4)], true);
            }
            (EdgeKind::RunsOn, None) => line(vec![a.right(), b.left()], false),
            (EdgeKind::Traffic | EdgeKind::LeftOut | EdgeKind::Mirrors, None) => line(way(of, from, to), true),
        }
    }
    lines
}

/// From a box to another one, through the passage that leads there.
fn way(of: &Layouter<'_>, from: usize, to: usize) -> Vec<(i32, i32)> {
    let is_service = of.picture.nodes[from].kind == NodeKind::Service;
    let passage = of.passages.get(&to).filter(|_| is_service).map(|place| &of.boxes[*place]);
    let through = passage.into_iter().flat_map(|of| [of.left(), of.right()]);
    [of.boxes[from].right()].into_iter().chain(through).chain([of.boxes[to].left()]).collect()
}

/// An edge in words.
fn title(of: &Layouter<'_>, edge: &PictureEdge, (from, to): (usize, usize)) -> String {
    let (from, to) = (&of.picture.nodes[from].label, &of.picture.nodes[to].label);
    let text = match edge.kind {
        EdgeKind::Traffic | EdgeKind::LeftOut => format!("{from} to {to}"),
        EdgeKind::Mirrors => format!("{to} is a copy of {from}"),
        EdgeKind::RunsOn => format!("{from} runs on {to}"),
        EdgeKind::Hint => format!("hints send clients in {from} to {to}"),
    };
    let is_way = matches!(edge.kind, EdgeKind::Traffic | EdgeKind::LeftOut);
    let state = if is_way { edge.state.as_str() } else { "" };
    let parts = [text.as_str(), state, edge.code.unwrap_or_default(), &edge.label];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(": ")
}
