//! What a node proxy removes, and what its decision depends on.

use std::collections::BTreeMap;

use roster_engine::{
    model::{Resource, Service, Text},
    view::{GridView, KeyOrder, POOL_OF_NODE, TopologyKeys, Viewpoint, YurtView},
};

use super::{endpoint_selection::EndpointSelection, held_objects::HeldObjects};

/// What is removed from what the proxies of a node see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeScheme {
    /// Nothing: kube-proxy decides by itself.
    KubeProxy,
    /// What SuperEdge's application-grid-wrapper removes.
    SuperEdge,
    /// What OpenYurt's yurthub removes.
    OpenYurt,
}

/// The health of nodes by their names; one that is not named is healthy.
pub(crate) type NodeHealth = BTreeMap<Text, bool>;

/// The own node, and how it is looked at.
#[derive(Debug, Default)]
pub(super) struct OwnNode {
    pub(super) name: Text,
    /// The health of nodes, if it is known.
    pub(super) health: Option<NodeHealth>,
    /// What the order of SuperEdge's keys means.
    pub(super) order: KeyOrder,
}

/// What a scheme knows besides a Service and its endpoints.
#[derive(Clone, Copy, Debug)]
pub(super) struct Surroundings<'a> {
    pub(super) own: &'a OwnNode,
    pub(super) held: &'a HeldObjects,
}

impl EdgeScheme {
    /// Whether clients see less of the resource than the API server has.
    pub(crate) fn prunes(self, resource: Resource) -> bool {
        match resource {
            Resource::Endpoints => self == Self::SuperEdge,
            Resource::EndpointSlice => self != Self::KubeProxy,
            Resource::Service => self == Self::OpenYurt,
            _ => false,
        }
    }

    /// Whether clients do not see a Service at all.
    pub(super) fn hides(self, service: &Service, around: Surroundings<'_>) -> bool {
        self == Self::OpenYurt && around.yurt_view().hides(service).is_some()
    }

    /// What is left of the Endpoints or the slices of a Service: all of one kind together.
    pub(super) fn prune(
        self,
        service: Option<&Service>,
        objects: Vec<EndpointSelection>,
        around: Surroundings<'_>,
    ) -> Vec<EndpointSelection> {
        let left = EndpointSelection::left_of;
        match self {
            Self::KubeProxy => objects,
            Self::SuperEdge => {
                let all: Vec<&EndpointSelection> = objects.iter().collect();
                let prune =
                    |grid: &GridView<'_>| -> Vec<_> { grid.prune(service, &all).into_iter().map(left).collect() };
                let grid = around.grid_view();
                let pruned = prune(&grid);
                // A monitor that finds all nodes unhealthy has most likely lost its own connection.
                if grid.health.is_some() && pruned.iter().all(EndpointSelection::is_empty) {
                    return prune(&GridView { health: None, ..grid });
                }
                pruned
            }
            Self::OpenYurt => {
                let view = around.yurt_view();
                // yurthub leaves Endpoints as they are.
                let prune = |object: EndpointSelection| match object.resource {
                    Resource::EndpointSlice => left(view.prune(service, &object)),
                    _ => object,
                };
                objects.into_iter().map(prune).collect()
            }
        }
    }

    /// The labels of nodes that decide about a Service.
    pub(super) fn node_labels(self, service: &Service) -> Vec<Text> {
        match self {
            Self::SuperEdge => TopologyKeys::of(service).map(|keys| keys.iter().cloned().collect()).unwrap_or_default(),
            Self::OpenYurt if YurtView::depends_on_pool(service) => vec![Text::new_static(POOL_OF_NODE)],
            Self::KubeProxy | Self::OpenYurt => Vec::new(),
        }
    }

    /// Whether each slice of a Service is decided about by itself.
    pub(super) fn decides_each_alone(self, around: Surroundings<'_>) -> bool {
        match self {
            Self::KubeProxy | Self::OpenYurt => true,
            // All of them choose the key, and all of them say whether any node is healthy.
            Self::SuperEdge => around.own.order == KeyOrder::AnyKey && around.own.health.is_none(),
        }
    }

    /// Whether the labels of another node than the own one count.
    pub(super) fn reads_other_nodes(self) -> bool {
        self == Self::SuperEdge
    }
}

impl<'a> Surroundings<'a> {
    fn viewpoint(self) -> Viewpoint<'a> {
        Viewpoint { name: &self.own.name, node: self.held.nodes().get(&self.own.name) }
    }

    /// The name of the pool of the node.
    pub(super) fn pool(self) -> Option<&'a Text> {
        self.viewpoint().labels()?.get(POOL_OF_NODE)
    }

    fn grid_view(self) -> GridView<'a> {
        GridView {
            at: self.viewpoint(),
            nodes: self.held.nodes(),
            substitutes_api_server: true,
            health: self.own.health.as_ref(),
            order: self.own.order,
        }
    }

    fn yurt_view(self) -> YurtView<'a> {
        // No other pool than that of the node decides.
        let pools = self.pool().and_then(|name| self.held.pool(name)).map_or(&[][..], std::slice::from_ref);
        YurtView::new(self.viewpoint(), pools, true)
    }
}
