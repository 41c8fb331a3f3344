//! What OpenYurt's yurthub leaves of an object for its node.

use std::collections::BTreeSet;

use super::{
    pruned_object::{EndpointObject, PrunedObject},
    viewpoint::Viewpoint,
};
use crate::{
    model::{NodePool, Service, ServiceType, Text, names},
    reason::Reason,
};

/// Annotation of a Service: the nodes to which its traffic is confined.
pub const YURT_TOPOLOGY: &str = "openyurt.io/topologyKeys";
/// A value of it: the nodes of the own pool.
const POOL_TOPOLOGY: &str = "openyurt.io/nodepool";
/// An older name for the same.
const ZONE_TOPOLOGY: &str = "kubernetes.io/zone";
/// Label of a node: its pool.
pub const POOL_OF_NODE: &str = "apps.openyurt.io/nodepool";
/// Annotation of a Service of type `LoadBalancer` that edge nodes do not serve, if `true`.
pub const YURT_DISCARD: &str = "svc.openyurt.io/discard";
/// Annotation of a Service with node ports: the pools that serve it, and with `-` those that do not.
pub const YURT_LISTEN: &str = "nodeport.openyurt.io/listen";
/// A Service that edge nodes never serve.
const TUNNEL: (&str, &str) = ("kube-system", "x-tunnel-server-internal-svc");

/// What the yurthub of a node knows, and how it is configured.
#[derive(Clone, Copy, Debug)]
pub struct YurtView<'a> {
    at: Viewpoint<'a>,
    /// The pool of the node, if it exists.
    own: Option<&'a NodePool>,
    pool_topology: bool,
}

/// The nodes to which the traffic of a Service is confined.
enum Fence<'a> {
    None,
    Node,
    Pool(&'a BTreeSet<Text>),
    /// The pool of the node does not exist: nothing is removed.
    UnknownPool,
}

impl<'a> YurtView<'a> {
    /// The view from a node, with all node pools; of several pools with one name the last one counts. `pool_topology`: traffic
    /// may be confined to pools (`--enable-pool-service-topology`, `--enable-node-pool`).
    pub fn new(at: Viewpoint<'a>, pools: &'a [NodePool], pool_topology: bool) -> Self {
        let own = pool_of(at).and_then(|name| pools.iter().rfind(|pool| pool.name == *name));
        Self { at, own, pool_topology }
    }

    /// Prunes a slice of a Service (filter `servicetopology`). Endpoints are never pruned: yurthub leaves them as they are.
    pub fn prune<T: EndpointObject>(&self, service: Option<&Service>, object: &T) -> PrunedObject<T> {
        let nodes = match self.fence(service) {
            Fence::None => return PrunedObject::whole(object, None),
            Fence::UnknownPool => return PrunedObject::whole(object, Some(Reason::NodePoolUnknown)),
            Fence::Node => None,
            Fence::Pool(nodes) => Some(nodes),
        };
        PrunedObject::without(object, |place| match (place.node, nodes) {
            (None, _) => Some(Reason::EndpointWithoutNode),
            (Some(node), None) => (node != self.at.name).then_some(Reason::NotOnNode),
            (Some(node), Some(nodes)) => (!nodes.contains(node)).then_some(Reason::OutsideNodePool),
        })
    }

    fn fence(&self, service: Option<&Service>) -> Fence<'a> {
        match service.and_then(|s| s.meta.annotations.get(YURT_TOPOLOGY)).map(Text::as_str) {
            Some(names::HOSTNAME) => Fence::Node,
            Some(POOL_TOPOLOGY | ZONE_TOPOLOGY) if self.pool_topology => match (pool_of(self.at), self.own) {
                // A node without a pool is on its own.
                (None, _) => Fence::Node,
                (Some(_), Some(pool)) => Fence::Pool(&pool.nodes),
                (Some(_), None) => Fence::UnknownPool,
            },
            _ => Fence::None,
        }
    }

    /// Whether the pool of the node decides about a Service.
    pub fn depends_on_pool(service: &Service) -> bool {
        let topology = service.meta.annotations.get(YURT_TOPOLOGY).map(Text::as_str);
        matches!(topology, Some(POOL_TOPOLOGY | ZONE_TOPOLOGY)) || service.meta.annotations.contains_key(YURT_LISTEN)
    }

    /// Why kube-proxy of the node does not see a Service (filters `discardcloudservice`, `nodeportisolation`).
    pub fn hides(&self, service: &Service) -> Option<Reason> {
        let is_discarded = service.kind == ServiceType::LoadBalancer
            && service.meta.annotations.get(YURT_DISCARD).is_some_and(|discard| discard == "true");
        let is_tunnel = (service.meta.namespace.as_str(), service.meta.name.as_str()) == TUNNEL;
        if is_discarded || is_tunnel {
            return Some(Reason::CloudService);
        }
        let has_node_ports = matches!(service.kind, ServiceType::NodePort | ServiceType::LoadBalancer);
        let listen = service.meta.annotations.get(YURT_LISTEN).filter(|_| has_node_ports)?;
        let pool = pool_of(self.at)?;
        (!listens(listen, pool)).then_some(Reason::NodePortIsolated)
    }
}

/// The name of the pool of a node.
fn pool_of(at: Viewpoint<'_>) -> Option<&Text> {
    at.labels()?.get(POOL_OF_NODE).filter(|pool| !pool.is_empty())
}

/// Whether the pool is among those of a list: by its name, or by `*` unless the list excludes it. The first mention of a
/// pool counts.
fn listens(list: &str, pool: &str) -> bool {
    let entries = || list.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    match entries().find(|entry| entry.strip_prefix('-').unwrap_or(entry).trim() == pool) {
        Some(entry) => !entry.starts_with('-'),
        None => entries().any(|entry| entry == "*"),
    }
}

#[cfg(test)]
mod tests {
    use super::listens;

    #[test]
    fn a_pool_listens_if_it_is_named_or_the_wildcard_is() {
        for (list, pool, want) in [
            ("-foo", "foo", false),
            ("foo", "bar", false),
            ("foo", "foo", true),
            ("*", "foo", true),
            ("foo, bar", "foo", true),
            ("foo, *", "foo", true),
            ("-foo,*", "foo", false),
            ("-foo,*", "bar", true),
            ("-foo,-bar", "foo", false),
            ("foo,-foo", "foo", true),
            ("-foo,foo", "foo", false),
            ("", "foo", false),
            (" ", "foo", false),
            (",,", "foo", false),
        ] {
            assert_eq!(listens(list, pool), want, "{list:?} for {pool}");
        }
    }
}
