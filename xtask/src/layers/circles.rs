//! Circles in a graph, each as short as it can be.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The arrows of a graph, from and to.
pub(super) type Graph = BTreeMap<usize, BTreeSet<usize>>;

/// Circles that share no arrow, the shortest first, each from its smallest node. Every circle of the graph shares an
/// arrow with one of them.
pub(super) fn circles(mut graph: Graph) -> Vec<Vec<usize>> {
    let mut found = Vec::new();
    loop {
        trim(&mut graph);
        let circles = graph.keys().filter_map(|node| shortest(&graph, *node));
        let Some(circle) = circles.min_by_key(Vec::len) else { return found };
        let next = circle.iter().cycle().skip(1);
        for (from, to) in circle.iter().zip(next) {
            graph.entry(*from).or_default().remove(to);
        }
        found.push(circle);
    }
}

/// Removes the nodes that are in no circle because nothing leads from them, or to them.
fn trim(graph: &mut Graph) {
    loop {
        let reached: BTreeSet<usize> = graph.values().flatten().copied().collect();
        let before = graph.len();
        graph.retain(|node, to| !to.is_empty() && reached.contains(node));
        let left: BTreeSet<usize> = graph.keys().copied().collect();
        for to in graph.values_mut() {
            to.retain(|node| left.contains(node));
        }
        if graph.len() == before {
            return;
        }
    }
}

/// The shortest circle through a node.
fn shortest(graph: &Graph, start: usize) -> Option<Vec<usize>> {
    let mut before = BTreeMap::new();
    let mut open = VecDeque::from([start]);
    while let Some(node) = open.pop_front() {
        for next in graph.get(&node).into_iter().flatten().copied() {
            if next == start {
                let mut circle = vec![node];
                while let Some(previous) = circle.last().and_then(|node| before.get(node)) {
                    circle.push(*previous);
                }
                circle.reverse();
                return Some(circle);
            }
            if let Entry::Vacant(entry) = before.entry(next) {
                entry.insert(node);
                open.push_back(next);
            }
        }
    }
    None
}
