//! The endpoints of one node, decided anew while the controllers are out of reach.
//!
//! Without an API server, nobody writes slices: pods of a node that restart with other addresses, or turn unready, stay
//! published as they were. Their kubelet knows better. [`overlay_slices`] and [`overlay_endpoints`] plan for the pods of the
//! node alone, with the controllers' own algorithm, and put the result in the place of what is stored for this node. What is
//! stored for all other nodes stays as it is.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::{
    model::{
        Conditions, Endpoint, EndpointAddress, EndpointSlice, EndpointSubset, Endpoints, HintName, Hints, Nodes, Pod,
        Service, Text, names,
    },
    plan::plan,
    profile::Minor,
    state::{Controller, Options, State},
    subsets,
};

/// The pods of one node, as its kubelet knows them.
#[derive(Clone, Copy, Debug)]
pub struct LocalPods<'a> {
    /// The name of the node.
    pub node: &'a Text,
    /// The last known nodes; at least this one, which gives the endpoints their zone.
    pub nodes: &'a Nodes,
    /// All pods of the node.
    pub pods: &'a [&'a Pod],
}

/// The slices of a Service with the endpoints of one node decided anew.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SliceOverlay {
    /// The stored slices that change, by their index, in order.
    pub changed: Vec<(usize, Vec<OverlaidEndpoint>)>,
    /// Slices for endpoints that fit no stored slice. They have a `generateName` and no name.
    pub added: Vec<EndpointSlice>,
}

/// An endpoint of a slice that changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OverlaidEndpoint {
    /// The stored endpoint of this index.
    Stored(usize),
    /// An endpoint of a local pod that is not stored like this.
    Decided(Box<Endpoint>),
}

impl SliceOverlay {
    /// Whether what is stored agrees with the pods of the node.
    pub fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.added.is_empty()
    }
}

/// Decides the endpoints of the node in the slices that belong to `service`. Slices that the slice controller does not
/// write stay as they are: nothing is known of what they should have. So does everything of a Service without a selector.
pub fn overlay_slices(service: &Service, slices: &[&EndpointSlice], local: &LocalPods<'_>) -> SliceOverlay {
    let mut overlay = SliceOverlay::default();
    if service.selector.is_none() {
        return overlay;
    }
    let is_ours = |slice: &EndpointSlice| slice.managed_by().is_some_and(|m| m == names::SLICE_CONTROLLER);
    let here: Vec<(usize, EndpointSlice)> =
        slices.iter().enumerate().filter(|(_, s)| is_ours(s)).map(|(i, s)| (i, local.part_of(s))).collect();
    let stored: Vec<&EndpointSlice> = here.iter().map(|(_, slice)| slice).collect();
    let state =
        State { service: Some(service), pods: local.pods, nodes: local.nodes, endpoints: None, slices: &stored };
    let mut planned = plan(&state, &[Controller::EndpointSlices], &Options::default()).endpoint_slices;
    let zone_hint = local.zone_hint(slices);
    let hint = |endpoint: &mut Endpoint| {
        if endpoint.hints.is_none() && endpoint.ready() {
            endpoint.hints.clone_from(&zone_hint);
        }
    };
    let deleted: BTreeSet<&Text> = planned.delete.iter().collect();
    // Of several with one name, the first.
    let updated = std::mem::take(&mut planned.update).into_iter().rev();
    let mut updated: BTreeMap<Text, Vec<Endpoint>> = updated.map(|s| (s.meta.name, s.endpoints)).collect();
    for (index, before) in &here {
        // A slice that the plan deletes has no endpoint here any more; those of other nodes keep it.
        let mut after = match updated.get_mut(&before.meta.name) {
            Some(endpoints) => std::mem::take(endpoints),
            None if deleted.contains(&before.meta.name) => Vec::new(),
            None => continue,
        };
        after.iter_mut().for_each(hint);
        let endpoints = local.merged(slices[*index], after);
        if endpoints.len() != slices[*index].endpoints.len()
            || endpoints.iter().any(|e| matches!(e, OverlaidEndpoint::Decided(_)))
        {
            overlay.changed.push((*index, endpoints));
        }
    }
    // The controller publishes an empty slice for a Service without endpoints, which serves nobody.
    overlay.added = planned.create;
    overlay.added.retain(|slice| !slice.endpoints.is_empty());
    overlay.added.iter_mut().flat_map(|slice| &mut slice.endpoints).for_each(hint);
    overlay
}

/// Decides the addresses of the node in the Endpoints of `service`; `None` if they stay as they are.
pub fn overlay_endpoints(service: &Service, stored: &Endpoints, local: &LocalPods<'_>) -> Option<Endpoints> {
    service.selector.as_ref()?;
    let is_here = |address: &EndpointAddress| address.node_name.as_ref() == Some(local.node);
    let state = State { service: Some(service), pods: local.pods, nodes: local.nodes, endpoints: None, slices: &[] };
    let planned = plan(&state, &[Controller::Endpoints], &Options::default()).endpoints;
    let mut blocks: Vec<EndpointSubset> = stored.subsets.clone();
    for subset in &mut blocks {
        subset.addresses.retain(|a| !is_here(a));
        subset.not_ready_addresses.retain(|a| !is_here(a));
    }
    blocks.retain(|s| !s.addresses.is_empty() || !s.not_ready_addresses.is_empty());
    blocks.extend(planned.object().into_iter().flat_map(|e| e.subsets.iter().cloned()));
    // What cannot be packed would be larger than any object; it stays as it is. Stored subsets may be in the order of
    // another release, which is not a change.
    let packed = |subsets: &[EndpointSubset]| subsets::repack(Minor::NEWEST.profile().hash, subsets).ok();
    let subsets = packed(&blocks)?;
    (Some(&subsets) != packed(&stored.subsets).as_ref()).then(|| Endpoints { subsets, ..stored.clone() })
}

impl LocalPods<'_> {
    fn is_here(&self, endpoint: &Endpoint) -> bool {
        endpoint.node_name.as_ref() == Some(self.node)
    }

    /// The slice with the endpoints of this node alone.
    fn part_of(&self, slice: &EndpointSlice) -> EndpointSlice {
        let endpoints = slice.endpoints.iter().filter(|e| self.is_here(e)).cloned().collect();
        EndpointSlice {
            meta: slice.meta.clone(),
            address_type: slice.address_type.clone(),
            endpoints,
            ports: slice.ports.clone(),
        }
    }

    /// The endpoints of a stored slice: those of other nodes as they are, and those of this node as decided. A stored one
    /// that was decided equally keeps its place and its hints.
    fn merged(&self, stored: &EndpointSlice, decided: Vec<Endpoint>) -> Vec<OverlaidEndpoint> {
        let mut merged = Vec::with_capacity(stored.endpoints.len() + decided.len());
        let mut same: BTreeMap<_, VecDeque<usize>> = BTreeMap::new();
        for (place, endpoint) in decided.iter().enumerate() {
            same.entry(what_counts(endpoint)).or_default().push_back(place);
        }
        let mut stays = vec![false; decided.len()];
        for (index, endpoint) in stored.endpoints.iter().enumerate() {
            if !self.is_here(endpoint) {
                merged.push(OverlaidEndpoint::Stored(index));
            } else if let Some(place) = same.get_mut(&what_counts(endpoint)).and_then(VecDeque::pop_front) {
                stays[place] = true;
                merged.push(OverlaidEndpoint::Stored(index));
            }
        }
        drop(same);
        let new = decided.into_iter().zip(stays).filter(|(_, stays)| !stays).map(|(endpoint, _)| endpoint);
        merged.extend(new.map(|endpoint| OverlaidEndpoint::Decided(Box::new(endpoint))));
        merged
    }

    /// The hint of an endpoint of this node for which none was decided. Proxies ignore all hints as soon as one ready
    /// endpoint has none, and the zones of `topology-mode: Auto` cannot be balanced for one node alone. So if all stored
    /// endpoints have hints, one without any gets that of its own zone.
    fn zone_hint(&self, slices: &[&EndpointSlice]) -> Option<Box<Hints>> {
        let mut ready = slices.iter().flat_map(|s| &s.endpoints).filter(|e| e.ready()).peekable();
        ready.peek()?;
        let hinted = ready.all(|e| e.hints.as_ref().is_some_and(|h| !h.for_zones.is_empty()));
        let zone = self.nodes.get(self.node)?.zone()?;
        hinted.then(|| Box::new(Hints { for_zones: vec![HintName { name: zone.clone() }], for_nodes: Vec::new() }))
    }
}

/// What makes two endpoints differ: all but their hints. A static pod has another uid at its kubelet than at the API server.
fn what_counts(endpoint: &Endpoint) -> impl Ord {
    let Endpoint { addresses, conditions, hostname, target_ref, deprecated_topology, node_name, zone, hints: _ } =
        endpoint;
    let Conditions { ready, serving, terminating } = conditions;
    let target = target_ref.as_ref().map(|target| &target.name);
    (addresses, hostname, target, deprecated_topology, node_name, zone, [*ready, *serving, *terminating])
}
