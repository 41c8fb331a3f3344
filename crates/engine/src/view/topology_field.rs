//! The field `topologyKeys` of Services, which Kubernetes 1.17 to 1.21 had.

use super::{
    pruned_object::{EndpointObject, PrunedObject},
    topology_keys::{OwnLabels, TopologyKeys, each_once},
    viewpoint::Viewpoint,
};
use crate::{
    model::{EndpointSlice, Node, Nodes, Service, Text},
    reason::Reason,
};

/// Removes the endpoints that kube-proxy of these releases did not use (upstream: `FilterTopologyEndpoint`): the first key
/// for which there is a ready endpoint decides; where no key has one, nothing is left. The labels are those of Nodes, with
/// which endpoints agreed.
pub(super) fn prune(
    service: &Service,
    slices: &[&EndpointSlice],
    nodes: &Nodes,
    at: Viewpoint<'_>,
) -> Vec<PrunedObject<EndpointSlice>> {
    let whole = || slices.iter().map(|slice| PrunedObject::whole(*slice, None)).collect();
    // An API server refused both together.
    if service.topology_keys.is_empty() || service.external_local {
        return whole();
    }
    let keys = TopologyKeys::of_field(service);
    let node_of = |node: Option<&Text>| node.and_then(|name| nodes.get(name));
    let mut ready: Vec<&Node> = Vec::new();
    for slice in slices {
        slice.each(|place| ready.extend(node_of(place.node).filter(|_| place.ready)));
    }
    let deciding = keys.deciding(at, &each_once(ready));
    if deciding.is_none() && keys.has_wildcard() {
        return whole();
    }
    let is_ignored = || keys.ignores_wildcard() || at.labels().is_some_and(|here| keys.ignores_label_of(here));
    let is_cut = deciding.is_none() && is_ignored();
    let mut fence = deciding.map(OwnLabels::compared);
    let mut why = |node: Option<&Text>| match node_of(node) {
        Some(there) => {
            let agrees = fence.as_mut().is_some_and(|fence| fence.agree(there));
            (!agrees).then_some(Reason::TopologyLabelDiffers)
        }
        None if node.is_none() => Some(Reason::EndpointWithoutNode),
        None => Some(Reason::EndpointNodeUnknown),
    };
    let pruned = slices.iter().map(|slice| PrunedObject::without(*slice, |place| why(place.node)));
    if is_cut { pruned.map(|o| o.because(Reason::TopologyKeysCut)).collect() } else { pruned.collect() }
}
