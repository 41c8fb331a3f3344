//! Pods that are written by hand, as a cluster would run them.

use std::sync::Arc;

use roster_engine::model::{
    Labels, Node, Pod, Text,
    defaults::{ClusterFamilies, Defaults},
    names,
};

use super::{addresses::Addresses, assume::MAX_PODS, nodes::assumed_nodes, pods};

/// Lets pods that were never in a cluster run, ready, as pods of workloads: each on the node that it names, else on one of
/// `nodes`, at an address that none of `used` other pods has. Where there are no nodes, some are assumed and returned.
pub fn run_written(
    written: &mut [Pod],
    used: usize,
    nodes: &[Arc<Node>],
    zones: &[Text],
    families: ClusterFamilies,
) -> Vec<Arc<Node>> {
    let assumed = if nodes.is_empty() && !written.is_empty() { assumed_nodes(zones) } else { Vec::new() };
    let nodes = if nodes.is_empty() { &assumed } else { nodes };
    let mut addresses = Addresses::after(used, families);
    for (i, pod) in written.iter_mut().take(MAX_PODS.saturating_sub(used)).enumerate() {
        if !pod.node_name.is_empty() {
            let name = pod.node_name.clone();
            pods::run(pod, &name, &mut addresses);
        } else if let Some(node) = nodes.get(i % nodes.len().max(1)) {
            label(pod, node);
            pods::run(pod, &node.name, &mut addresses);
        }
    }
    assumed
}

/// The API server copies these labels when a pod is bound.
fn label(pod: &mut Pod, node: &Node) {
    let of_node: Vec<_> =
        [names::ZONE, names::REGION].iter().filter_map(|key| Some((*key, node.labels.get(key)?.clone()))).collect();
    if !of_node.is_empty() {
        let labels: &mut Labels = Arc::make_mut(&mut pod.labels);
        for (key, value) in of_node {
            labels.insert(key, value);
        }
    }
}

/// Whether a pod was written by hand and a cluster would run it. It leaves a pod that has scheduling gates as it is.
pub(crate) fn is_written(pod: &Pod, defaults: &Defaults<'_>) -> bool {
    !pod.has_status && !pod.deleting && !pod.is_gated() && defaults.apply_to(&pod.reference.uid, &pod.resource_version)
}
