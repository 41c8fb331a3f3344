//! All that views of a cluster read.

use std::collections::BTreeSet;

use smol_str::format_smolstr;

use super::{
    fenced_endpoints::FencedEndpoints,
    node_reads::NodeReads,
    scheme::{Scheme, UnseenEndpoint},
    service_view::ServiceView,
    viewpoint::Viewpoint,
};
use crate::{
    model::{EndpointSlice, Family, Node, Nodes, Service, names},
    reason::Reason,
    state::{Plan, State},
};

/// Services with their slices, the nodes, and whose view is taken.
#[derive(Clone, Debug)]
pub struct ViewedCluster<'a> {
    /// What is between kube-proxy and the API server.
    pub scheme: Scheme<'a>,
    /// The only address family to view.
    pub family: Option<Family>,
    /// All nodes.
    pub nodes: &'a Nodes,
    /// The Services, sorted by namespace and name.
    pub services: Vec<ViewedService<'a>>,
}

/// A Service and its slices.
#[derive(Clone, Debug)]
pub struct ViewedService<'a> {
    /// The Service.
    pub service: &'a Service,
    /// Its slices, each name once.
    pub slices: Vec<&'a EndpointSlice>,
}

impl<'a> ViewedCluster<'a> {
    /// The Service of this name.
    pub fn service(&self, namespace: &str, name: &str) -> Option<&ViewedService<'a>> {
        let place = self.services.binary_search_by(|of| {
            let meta = &of.service.meta;
            (meta.namespace.as_str(), meta.name.as_str()).cmp(&(namespace, name))
        });
        place.ok().map(|place| &self.services[place])
    }

    /// Views a Service from a node, and passes the view, and what does not reach kube-proxy, to `see`.
    pub fn view<T>(
        &self,
        of: &ViewedService<'_>,
        at: Viewpoint<'_>,
        see: impl FnOnce(&ServiceView<'_>, &[UnseenEndpoint]) -> T,
    ) -> T {
        let seen = self.scheme.seen(of.service, &of.slices, self.nodes, at);
        see(&ServiceView::of(of.service, &seen, self.family, at), &seen.removed)
    }

    /// A Service as all nodes view it.
    pub(super) fn of_all_nodes<'c>(&'c self, of: &'c ViewedService<'a>) -> ViewsFromNodes<'c, 'a> {
        ViewsFromNodes {
            cluster: self,
            of,
            fenced: FencedEndpoints::of(&self.scheme, of.service, &of.slices, self.nodes),
            all: looks(&self.scheme, of),
            ports: of.service.ports.len(),
        }
    }

    /// What each Service reads of nodes.
    pub(super) fn reads(&self) -> Vec<NodeReads<'a>> {
        self.services.iter().map(|of| NodeReads::of(&self.scheme, of.service, &of.slices, self.nodes)).collect()
    }
}

/// The views of a Service from one node after the other. They do not say which endpoints kube-proxy does not see.
#[derive(Debug)]
pub(super) struct ViewsFromNodes<'c, 'a> {
    cluster: &'c ViewedCluster<'a>,
    of: &'c ViewedService<'a>,
    fenced: Option<FencedEndpoints<'c>>,
    /// How many endpoints are looked at for a node to which all count.
    all: usize,
    ports: usize,
}

/// How many endpoints one view of a Service looks at, with all else that it reads again.
fn looks(scheme: &Scheme<'_>, of: &ViewedService<'_>) -> usize {
    let endpoints: usize = of.slices.iter().map(|slice| 1 + slice.endpoints.len()).sum();
    let annotations: usize = of.service.meta.annotations.iter().map(|(_, value)| value.len()).sum();
    let pools = if let Scheme::OpenYurt { pools, .. } = scheme { pools.len() } else { 0 };
    endpoints.saturating_mul(1 + of.service.ports.len()).saturating_add(annotations / 16 + pools)
}

impl ViewsFromNodes<'_, '_> {
    /// How many endpoints the view from a node looks at, about.
    pub(super) fn looks(&self, node: &Node) -> usize {
        let near = self.fenced.as_ref().map(|fenced| fenced.looks(&node.labels)).filter(|near| *near > 0);
        near.map_or(self.all, |near| near.saturating_mul(1 + self.ports))
    }

    /// Views the Service from a Node.
    pub(super) fn view<T>(&self, node: &Node, see: impl FnOnce(&ServiceView<'_>) -> T) -> T {
        let (cluster, at) = (self.cluster, Viewpoint { name: &node.name, node: Some(node) });
        let near = self.fenced.as_ref().and_then(|fenced| fenced.near(&node.labels));
        let Some((near, left_out)) = near else { return cluster.view(self.of, at, |view, _| see(view)) };
        let near: Vec<&EndpointSlice> = near.iter().collect();
        let mut seen = cluster.scheme.seen(self.of.service, &near, cluster.nodes, at);
        if seen.reasons.contains(&Reason::TopologyFallback) {
            // No key decides: the others count as well.
            return cluster.view(self.of, at, |view, _| see(view));
        }
        seen.left_out = left_out;
        see(&ServiceView::of(self.of.service, &seen, cluster.family, at))
    }
}

/// The slices of a Service after `plan` for `state`. Those that are created get names; those of other controllers stay.
pub fn planned_slices(state: &State<'_>, plan: &Plan) -> Vec<EndpointSlice> {
    let foreign = state.slices.iter().filter(|slice| {
        slice.managed_by().is_none_or(|by| by != names::SLICE_CONTROLLER && by != names::MIRROR_CONTROLLER)
    });
    let desired = plan.desired_slices(state);
    let known: BTreeSet<&str> = desired.iter().map(|slice| slice.meta.name.as_str()).collect();
    let foreign: Vec<&EndpointSlice> =
        foreign.copied().filter(|slice| !known.contains(slice.meta.name.as_str())).collect();
    let mut slices: Vec<EndpointSlice> = desired.into_iter().chain(foreign).cloned().collect();
    for (place, slice) in slices.iter_mut().enumerate().filter(|(_, slice)| slice.meta.name.is_empty()) {
        slice.meta.name = format_smolstr!("{}{place}", slice.meta.generate_name);
    }
    slices
}
