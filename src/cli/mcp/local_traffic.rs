//! Services whose internal traffic stays on its node, and the nodes that drop it.

use roster_engine::{
    model::{Node, ObjectKey, Text},
    phrase::counted,
    reason::{Reason, Severity},
    state::Options,
    view::{Scheme, ViewedService, Viewpoint},
};
use roster_manifests::inventory::{Index, Inventory};

use super::suspects::{Bearing, Suspect};
use roster_manifests::inventory::ViewInput;

/// Most nodes that are viewed, of all Services together.
const MOST_VIEWS: usize = 5000;
/// Most nodes that are named.
const NAMED: usize = 3;

/// A Service with `internalTrafficPolicy: Local` that some nodes cannot reach, as far as the nodes are known.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LocalTraffic {
    service: ObjectKey,
    /// The nodes that drop traffic to it; `None` if no Nodes are among the objects.
    dropping: Option<Vec<Text>>,
    /// The nodes that have a ready endpoint.
    local: Vec<Text>,
}

/// The Services that some nodes cannot reach, because the traffic of pods stays on its node.
pub(super) fn of(inventory: &Inventory, index: &Index<'_>, options: &Options) -> Vec<LocalTraffic> {
    let is_local = |policy: &Text| policy == "Local";
    if !inventory.services.iter().any(|service| is_local(&service.internal_traffic_policy)) {
        return Vec::new();
    }
    let input = ViewInput::new(inventory, index, options, None);
    let cluster = input.cluster(Scheme::KubeProxy, None);
    let mut left = MOST_VIEWS;
    let mut found = Vec::new();
    for of in cluster.services.iter().filter(|of| is_local(&of.service.internal_traffic_policy)) {
        let local = nodes_of(of);
        let assumed = |name: &Text| inventory.nodes_of_input().iter().all(|node| node.name != *name);
        if !input.knows_nodes {
            let local = local.into_iter().filter(|name| !is_assumed(inventory, name)).collect();
            found.push(LocalTraffic { service: of.service.key(), dropping: None, local });
            continue;
        }
        let nodes: Vec<&Node> = input.nodes.iter().filter(|node| !assumed(&node.name)).take(left).collect();
        left -= nodes.len();
        let drops = |node: &&Node| {
            let at = Viewpoint { name: &node.name, node: Some(node) };
            cluster.view(of, at, |view, _| view.findings.iter().any(|f| f.code == Reason::NoLocalEndpoint))
        };
        let dropping: Vec<Text> = nodes.into_iter().filter(drops).map(|node| node.name.clone()).collect();
        if !dropping.is_empty() {
            found.push(LocalTraffic { service: of.service.key(), dropping: Some(dropping), local });
        }
    }
    found
}

/// Whether no object has the node, because the pods on it are assumed.
fn is_assumed(inventory: &Inventory, node: &Text) -> bool {
    let of_slices = || inventory.slices.iter().flat_map(|slice| &slice.endpoints);
    !inventory.pods_of_input().iter().any(|pod| pod.node_name == *node)
        && !of_slices().any(|endpoint| endpoint.node_name.as_ref() == Some(node))
}

/// The nodes that have a ready endpoint of a Service.
fn nodes_of(of: &ViewedService<'_>) -> Vec<Text> {
    let ready = of.slices.iter().flat_map(|slice| &slice.endpoints).filter(|endpoint| endpoint.ready());
    let mut nodes: Vec<Text> = ready.filter_map(|endpoint| endpoint.node_name.clone()).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

/// The first names, and how many more there are.
fn listed(names: &[Text]) -> String {
    let named: Vec<&str> = names.iter().take(NAMED).map(Text::as_str).collect();
    let more = names.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", named.join(", "))
}

impl LocalTraffic {
    /// What it means.
    pub(super) fn suspect(self) -> Suspect {
        let endpoints = match self.local.as_slice() {
            [] if self.dropping.is_none() => "the nodes of its endpoints are not known".to_owned(),
            [] => "no node has a ready endpoint".to_owned(),
            nodes => {
                format!("only {} {} a ready endpoint", listed(nodes), if nodes.len() == 1 { "has" } else { "have" })
            }
        };
        let (bearing, severity, effect) = if let Some(nodes) = &self.dropping {
            let these = counted(nodes.len(), "node");
            let verb = if nodes.len() == 1 { "drops" } else { "drop" };
            (Bearing::Cause, Severity::Warning, format!("{these} ({}) {verb} its traffic", listed(nodes)))
        } else {
            let effect = "nodes without one drop its traffic; undecided which: no Nodes are among the objects";
            (Bearing::Suspicion, Severity::Info, effect.to_owned())
        };
        Suspect {
            bearing,
            severity,
            code: Reason::NoLocalEndpoint.code(),
            object: self.service,
            detail: format!("internalTrafficPolicy is Local: {endpoints}; {effect}"),
            fix: Reason::NoLocalEndpoint.fix(),
        }
    }
}
