//! The places of nodes: those of one zone are together in its box, near their pods.

use super::{
    layout::{Layouter, average},
    stack::{GAP, stack},
};
use crate::picture::{EdgeKind, NodeKind};

/// The space around the nodes of a zone.
pub(super) const PADDING: i32 = 10;

/// A zone with its nodes, or a node without a zone.
struct Block {
    zone: Option<usize>,
    nodes: Vec<usize>,
    /// Where its middle should be.
    wanted: Option<i32>,
}

/// Places the nodes and zones of a picture whose pods are placed.
pub(super) fn place_nodes(layouter: &mut Layouter<'_>) {
    let blocks = blocks(layouter);
    let head = |zone: usize| layouter.boxes[zone].height;
    let inner = |nodes: &[usize]| -> i32 {
        let heights = nodes.iter().map(|node| layouter.boxes[*node].height + GAP).sum::<i32>();
        if nodes.is_empty() { 0 } else { heights - GAP + PADDING }
    };
    let height = |block: &Block| match block.zone {
        Some(zone) => head(zone) + inner(&block.nodes),
        None => inner(&block.nodes) - PADDING,
    };
    let heights: Vec<i32> = blocks.iter().map(height).collect();
    let wanted: Vec<Option<i32>> = blocks.iter().map(|block| block.wanted).collect();
    let tops = stack(&heights, &wanted);
    for ((block, top), height) in blocks.iter().zip(tops).zip(heights) {
        let mut y = top;
        if let Some(zone) = block.zone {
            let of = &mut layouter.boxes[zone];
            y += of.height;
            (of.y, of.height) = (top, height);
        }
        for node in &block.nodes {
            let of = &mut layouter.boxes[*node];
            of.y = y;
            y += of.height + GAP;
        }
    }
}

/// The blocks from top to bottom.
fn blocks(layouter: &Layouter<'_>) -> Vec<Block> {
    let mut pods: Vec<Vec<i32>> = vec![Vec::new(); layouter.picture.nodes.len()];
    for (_, edge, (from, to)) in layouter.edges() {
        match edge.kind {
            EdgeKind::RunsOn => pods[to].push(layouter.boxes[from].middle()),
            // A zone without nodes is near what it uses.
            EdgeKind::Hint => pods[from].push(layouter.boxes[to].middle()),
            EdgeKind::Traffic | EdgeKind::LeftOut | EdgeKind::Mirrors => {}
        }
    }
    let nodes = &layouter.picture.nodes;
    let mut blocks: Vec<Block> = Vec::new();
    let of_kind = |kind: NodeKind| nodes.iter().enumerate().filter(move |(_, node)| node.kind == kind);
    for (place, _) in of_kind(NodeKind::Zone) {
        blocks.push(Block { zone: Some(place), nodes: Vec::new(), wanted: None });
    }
    for (place, node) in of_kind(NodeKind::Node) {
        let is_its_zone =
            |block: &&mut Block| node.zone.is_some() && block.zone.is_some_and(|zone| nodes[zone].zone == node.zone);
        match blocks.iter_mut().find(is_its_zone) {
            Some(block) => block.nodes.push(place),
            None => blocks.push(Block { zone: None, nodes: vec![place], wanted: None }),
        }
    }
    for block in &mut blocks {
        block.nodes.sort_by_key(|node| average(&pods[*node]));
        let places = if block.nodes.is_empty() { block.zone.as_slice() } else { &block.nodes };
        let middles: Vec<i32> = places.iter().flat_map(|place| &pods[*place]).copied().collect();
        block.wanted = average(&middles);
    }
    blocks.sort_by_key(|block| (block.wanted.is_none(), block.wanted));
    blocks
}
