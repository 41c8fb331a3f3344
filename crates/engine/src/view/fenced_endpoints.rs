//! The endpoints of a Service by labels of their nodes.
//!
//! A fence of topology keys leaves a node those endpoints that agree with it in a key. They are found by its labels: to look at
//! all endpoints for each node of a large Service would take a thousand times as long.

use std::collections::BTreeMap;

use super::{
    pruned_object::EndpointObject,
    scheme::Scheme,
    topology_keys::{KeyOrder, TopologyKeys},
};
use crate::model::{EndpointSlice, Labels, Nodes, Service, Text};

/// The endpoints behind a fence.
#[derive(Debug)]
pub(super) struct FencedEndpoints<'a> {
    slices: &'a [&'a EndpointSlice],
    keys: TopologyKeys,
    /// The endpoints by labels of their nodes: the number of a key, and its value.
    places: BTreeMap<(usize, &'a str), Vec<EndpointAt>>,
    ready: usize,
    /// Whether all endpoints are left where none agrees.
    falls_back: bool,
}

/// The place of the slice of an endpoint, and its place in it.
type EndpointAt = (usize, usize);

impl<'a> FencedEndpoints<'a> {
    /// The endpoints of a Service; `None` if a node may be left others than those that agree with it in a key.
    pub(super) fn of(
        scheme: &Scheme<'_>,
        service: &Service,
        slices: &'a [&'a EndpointSlice],
        nodes: &'a Nodes,
    ) -> Option<Self> {
        let keys = fence(scheme, service, slices)?;
        let (mut on_node, mut ready) = (BTreeMap::<&Text, Vec<EndpointAt>>::new(), 0);
        for (slice, objects) in slices.iter().enumerate() {
            for (place, endpoint) in objects.endpoints.iter().enumerate() {
                ready += usize::from(endpoint.ready());
                if let Some(node) = &endpoint.node_name {
                    on_node.entry(node).or_default().push((slice, place));
                }
            }
        }
        let mut places = BTreeMap::<(usize, &str), Vec<EndpointAt>>::new();
        // The labels of a node are looked up once, not once for each endpoint.
        for (name, endpoints) in on_node {
            let Some(node) = nodes.get(name) else { continue };
            for (number, key) in keys.iter().enumerate() {
                if let Some(value) = node.labels.get(key) {
                    places.entry((number, value)).or_default().extend(&endpoints);
                }
            }
        }
        let falls_back = matches!(scheme, Scheme::SuperEdge { order: KeyOrder::Ordered, .. });
        Some(Self { slices, keys, places, ready, falls_back })
    }

    /// How many endpoints are looked at for a node with these labels.
    pub(super) fn looks(&self, here: &Labels) -> usize {
        let of_key = |(key, name): (usize, &Text)| self.places.get(&(key, here.get(name)?.as_str()));
        self.keys.iter().enumerate().filter_map(of_key).map(Vec::len).sum()
    }

    /// What may be left for a node with these labels, and how many ready endpoints are not among it. `None`: what is left
    /// depends on all endpoints.
    pub(super) fn near(&self, here: &Labels) -> Option<(Vec<EndpointSlice>, usize)> {
        let of_key = |(key, name): (usize, &Text)| self.places.get(&(key, here.get(name)?.as_str()));
        let mut places: Vec<EndpointAt> = self.keys.iter().enumerate().filter_map(of_key).flatten().copied().collect();
        places.sort_unstable();
        places.dedup();
        let of_slice = |places: &[EndpointAt]| {
            let slice = self.slices[places[0].0];
            let endpoints = places.iter().map(|(_, place)| slice.endpoints[*place].clone()).collect();
            let EndpointSlice { meta, address_type, ports, .. } = slice;
            EndpointSlice { meta: meta.clone(), address_type: address_type.clone(), endpoints, ports: ports.clone() }
        };
        let near: Vec<EndpointSlice> = places.chunk_by(|a, b| a.0 == b.0).map(of_slice).collect();
        let ready = near.iter().flat_map(|slice| &slice.endpoints).filter(|endpoint| endpoint.ready()).count();
        (ready > 0 || !self.falls_back).then(|| (near, self.ready - ready))
    }
}

/// The keys of a Service if they are a fence: a node is left endpoints that agree with it in one of them, and no others.
fn fence(scheme: &Scheme<'_>, service: &Service, slices: &[&EndpointSlice]) -> Option<TopologyKeys> {
    let keys = match scheme {
        Scheme::SuperEdge { substitutes_api_server, .. } => {
            if *substitutes_api_server && slices.iter().any(|slice| slice.is_of_api_server()) {
                return None;
            }
            TopologyKeys::of(service).ok()?
        }
        Scheme::TopologyKeysField if !service.external_local => {
            let keys = TopologyKeys::of_field(service);
            if keys.has_wildcard() {
                return None;
            }
            keys
        }
        _ => return None,
    };
    (!keys.is_empty()).then_some(keys)
}
