//! The field `topologyKeys` of Services, which Kubernetes 1.17 to 1.21 had.

use super::{
    pruned_object::{EndpointObject, PrunedObject},
    topology_keys::{WILDCARD, agree},
    viewpoint::Viewpoint,
};
use crate::{
    engine::reason::Reason,
    model::{EndpointSlice, Labels, Nodes, Service, Text},
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
    let labels_of = |node: Option<&Text>| node.and_then(|name| nodes.get(name)).map(|node| &node.labels);
    let mut ready: Vec<&Labels> = Vec::new();
    for slice in slices {
        slice.each(|place| ready.extend(labels_of(place.node).filter(|_| place.ready)));
    }
    let here = at.labels();
    let has = |key: &Text| here.is_some_and(|here| ready.iter().any(|there| agree(key, here, there)));
    let deciding = service.topology_keys.iter().find(|key| *key == WILDCARD || has(key));
    let fence = match (deciding, here) {
        (Some(key), _) if key == WILDCARD => return whole(),
        (Some(key), Some(here)) => Some((key, here)),
        _ => None,
    };
    let fits = |there: &Labels| fence.is_some_and(|(key, here)| agree(key, here, there));
    let why = |node: Option<&Text>| match labels_of(node) {
        Some(there) => (!fits(there)).then_some(Reason::TopologyLabelDiffers),
        None if node.is_none() => Some(Reason::EndpointWithoutNode),
        None => Some(Reason::EndpointNodeUnknown),
    };
    slices.iter().map(|slice| PrunedObject::without(*slice, |place| why(place.node))).collect()
}
