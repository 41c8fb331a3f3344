//! What reaches kube-proxy of a node: everything, or what the proxy of a scheme leaves of it.

use std::{borrow::Cow, collections::BTreeMap};

use smol_str::format_smolstr;

use super::{
    openyurt::YurtView, pruned_object::PrunedObject, superedge::GridView, topology_field, topology_keys::KeyOrder,
    viewpoint::Viewpoint,
};
use crate::{
    model::{Endpoint, EndpointSlice, NodePool, Nodes, Service, Text},
    reason::Reason,
};

/// The program between kube-proxy and the API server, and its settings.
#[derive(Clone, Copy, Debug)]
pub enum Scheme<'a> {
    /// None: kube-proxy sees all slices.
    KubeProxy,
    /// SuperEdge's application-grid-wrapper.
    SuperEdge {
        /// Whether the API server is replaced by the address in the annotations (`--wrapper-in-cluster`).
        substitutes_api_server: bool,
        /// The health of nodes, if it counts (`--service-autonomy-enhancement`).
        health: Option<&'a BTreeMap<Text, bool>>,
        /// How several keys are read.
        order: KeyOrder,
    },
    /// OpenYurt's yurthub.
    OpenYurt {
        /// All node pools.
        pools: &'a [NodePool],
        /// Whether traffic may be confined to pools.
        pool_topology: bool,
    },
    /// None, and kube-proxy reads the field `topologyKeys` of Services, as in Kubernetes 1.17 to 1.21.
    TopologyKeysField,
}

/// The slices of a Service that kube-proxy of a node sees, and what does not reach it.
#[derive(Clone, Debug, Default)]
pub struct SeenSlices<'a> {
    slices: Vec<Cow<'a, EndpointSlice>>,
    /// Endpoints that were removed before kube-proxy.
    pub removed: Vec<UnseenEndpoint>,
    /// Why slices are as they are, where that does not concern a single endpoint; sorted, each once.
    pub reasons: Vec<Reason>,
    /// Why kube-proxy does not see the Service at all.
    pub hidden: Option<Reason>,
    /// How many ready endpoints do not reach kube-proxy, besides those that are removed.
    pub(super) left_out: usize,
}

/// An endpoint that does not reach kube-proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnseenEndpoint {
    /// Its first address.
    pub address: Text,
    /// Kind and name of what it stands for.
    pub target: Option<Text>,
    /// Its node.
    pub node: Option<Text>,
    /// Whether it is ready.
    pub is_ready: bool,
    /// Why it was removed.
    pub reason: Reason,
}

impl Scheme<'_> {
    /// What kube-proxy of a node sees of a Service; `nodes` are all nodes.
    pub fn seen<'s>(
        &self,
        service: &Service,
        slices: &[&'s EndpointSlice],
        nodes: &Nodes,
        at: Viewpoint<'_>,
    ) -> SeenSlices<'s> {
        match *self {
            Self::KubeProxy => SeenSlices {
                slices: slices.iter().map(|slice| Cow::Borrowed(*slice)).collect(),
                ..SeenSlices::default()
            },
            Self::SuperEdge { substitutes_api_server, health, order } => {
                let grid = GridView { at, nodes, substitutes_api_server, health, order };
                SeenSlices::of_pruned(slices, grid.prune(Some(service), slices))
            }
            Self::OpenYurt { pools, pool_topology } => {
                let yurt = YurtView::new(at, pools, pool_topology);
                let pruned = slices.iter().map(|slice| yurt.prune(Some(service), *slice)).collect();
                SeenSlices { hidden: yurt.hides(service), ..SeenSlices::of_pruned(slices, pruned) }
            }
            Self::TopologyKeysField => SeenSlices::of_pruned(slices, topology_field::prune(service, slices, nodes, at)),
        }
    }
}

impl<'a> SeenSlices<'a> {
    /// The slices.
    pub fn slices(&self) -> impl Iterator<Item = &EndpointSlice> {
        self.slices.iter().map(AsRef::as_ref)
    }

    /// `pruned` has what is left of each of `whole`, in the same order.
    fn of_pruned(whole: &[&'a EndpointSlice], pruned: Vec<PrunedObject<EndpointSlice>>) -> Self {
        let mut seen = Self::default();
        for (whole, pruned) in whole.iter().zip(pruned) {
            seen.reasons.extend(pruned.reason);
            if pruned.object == **whole {
                seen.slices.push(Cow::Borrowed(*whole));
                continue;
            }
            let places = if pruned.removed.is_empty() { BTreeMap::new() } else { by_address(&whole.endpoints) };
            seen.removed.extend(pruned.removed.into_iter().map(|removed| {
                let endpoint = places.get(removed.address.as_str()).map(|place| &whole.endpoints[*place]);
                UnseenEndpoint {
                    target: endpoint.and_then(target),
                    is_ready: removed.ready,
                    address: removed.address,
                    node: removed.node,
                    reason: removed.reason,
                }
            }));
            seen.slices.push(Cow::Owned(pruned.object));
        }
        seen.reasons.sort_unstable();
        seen.reasons.dedup();
        seen
    }
}

/// The places of endpoints, by their first addresses.
fn by_address(endpoints: &[Endpoint]) -> BTreeMap<&str, usize> {
    endpoints.iter().map(|e| e.addresses.first().map_or("", |address| address)).zip(0..).collect()
}

/// Kind and name of what an endpoint stands for.
fn target(endpoint: &Endpoint) -> Option<Text> {
    endpoint.target_ref.as_ref().map(|target| format_smolstr!("{}/{}", target.kind, target.name))
}
