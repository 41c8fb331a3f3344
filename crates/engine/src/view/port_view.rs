//! What kube-proxy of a node uses for one Service port.

use super::{
    merged_endpoints::{EndpointUse, MergedEndpoints, ProxyEndpoint, ServiceEndpoints, ViewedEndpoint},
    topology_mode::TopologyMode,
    traffic_policy::TrafficPolicies,
    viewpoint::Viewpoint,
};
use crate::{
    model::{Service, ServicePort},
    reason::Reason,
};

/// The endpoints of a Service port as kube-proxy of a node sorts them (upstream: `CategorizeEndpoints`).
#[derive(Debug)]
pub struct PortView<'a> {
    /// The Service.
    pub service: &'a Service,
    /// Its port.
    pub port: &'a ServicePort,
    /// Where its traffic may go.
    pub policies: TrafficPolicies,
    /// The hints that are followed.
    pub topology: TopologyMode,
    /// Its endpoints, sorted by address and port.
    pub endpoints: Vec<ViewedEndpoint<'a>>,
    /// Endpoints that do not count, because another one has their address and port.
    pub duplicates: Vec<ProxyEndpoint<'a>>,
    /// Whether any endpoint of the cluster takes traffic: without one, connections are rejected; else, those that no
    /// endpoint of this node may take are dropped.
    pub has_any: bool,
}

/// What becomes of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// An endpoint gets it.
    Forwarded,
    /// There are endpoints, but none that this node may use: the packet is dropped.
    Dropped,
    /// There is no endpoint: the client gets an error at once.
    Rejected,
}

impl Verdict {
    /// The word in answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Forwarded => "forwarded",
            Self::Dropped => "dropped",
            Self::Rejected => "rejected",
        }
    }
}

/// Sorts the endpoints of a Service port for a node. `all` are the endpoints of the Service.
pub(super) fn view_port<'a>(
    service: &'a Service,
    port: &'a ServicePort,
    policies: TrafficPolicies,
    all: &ServiceEndpoints<'a>,
    at: Viewpoint<'_>,
) -> PortView<'a> {
    let MergedEndpoints { mut endpoints, duplicates } = all.merged(port);
    let topology = TopologyMode::of(endpoints.iter().map(|e| &e.endpoint), at);
    let cluster = policies.uses_cluster().then(|| ClusterRule::of(&endpoints, topology));
    let local = policies.uses_local().then(|| LocalRule::of(&endpoints));
    for viewed in &mut endpoints {
        viewed.uses = EndpointUse {
            cluster: cluster.is_some_and(|rule| rule.admits(&viewed.endpoint)),
            local: local.is_some_and(|rule| rule.admits(&viewed.endpoint)),
        };
        viewed.reason = reason(&viewed.endpoint, viewed.uses, cluster, local);
    }
    let takes_traffic = |e: &ViewedEndpoint<'_>| e.endpoint.ready() || e.endpoint.serves_while_terminating();
    let has_any = match local {
        Some(_) => endpoints.iter().any(takes_traffic),
        None => endpoints.iter().any(|e| e.uses.cluster),
    };
    PortView { service, port, policies, topology, endpoints, duplicates, has_any }
}

/// Which endpoints take traffic with the policy `Cluster`.
#[derive(Clone, Copy)]
enum ClusterRule {
    Ready(TopologyMode),
    /// None is ready.
    Terminating,
}

impl ClusterRule {
    fn of(endpoints: &[ViewedEndpoint<'_>], topology: TopologyMode) -> Self {
        // A mode is only chosen if a ready endpoint is for this node, so no mode leaves none.
        if endpoints.iter().any(|e| e.endpoint.ready()) { Self::Ready(topology) } else { Self::Terminating }
    }

    fn admits(self, endpoint: &ProxyEndpoint<'_>) -> bool {
        match self {
            Self::Ready(topology) => endpoint.ready() && topology.admits(endpoint),
            Self::Terminating => endpoint.serves_while_terminating(),
        }
    }
}

/// Which endpoints take traffic with the policy `Local`. Hints do not count for it.
#[derive(Clone, Copy)]
enum LocalRule {
    Ready,
    /// None of this node is ready.
    Terminating,
}

impl LocalRule {
    fn of(endpoints: &[ViewedEndpoint<'_>]) -> Self {
        if endpoints.iter().any(|e| e.endpoint.is_local && e.endpoint.ready()) {
            Self::Ready
        } else {
            Self::Terminating
        }
    }

    fn admits(self, endpoint: &ProxyEndpoint<'_>) -> bool {
        endpoint.is_local
            && match self {
                Self::Ready => endpoint.ready(),
                Self::Terminating => endpoint.serves_while_terminating(),
            }
    }
}

/// Why an endpoint is not used, or is used although it is not ready.
fn reason(
    endpoint: &ProxyEndpoint<'_>,
    uses: EndpointUse,
    cluster: Option<ClusterRule>,
    local: Option<LocalRule>,
) -> Option<Reason> {
    if uses.any() {
        return (!endpoint.ready()).then_some(Reason::ServingTerminating);
    }
    if !endpoint.ready() {
        return Some(if endpoint.terminating() { Reason::Terminating } else { Reason::NotReady });
    }
    match (cluster, local) {
        (Some(_), _) => Some(Reason::HintedElsewhere),
        (None, Some(_)) => Some(Reason::NotLocal),
        (None, None) => None,
    }
}

impl<'a> PortView<'a> {
    /// The endpoints for traffic with the policy `Cluster`; `None` if there is no such traffic, or no endpoint at all.
    pub fn cluster(&self) -> Option<impl Iterator<Item = &ProxyEndpoint<'a>>> {
        let is_listed = self.policies.uses_cluster() && !self.endpoints.is_empty();
        is_listed.then(|| self.used(|uses| uses.cluster))
    }

    /// The endpoints for traffic with the policy `Local`; `None` if there is no such traffic, or no such endpoint:
    /// kube-proxy does not tell these apart.
    pub fn local(&self) -> Option<impl Iterator<Item = &ProxyEndpoint<'a>>> {
        self.endpoints.iter().any(|e| e.uses.local).then(|| self.used(|uses| uses.local))
    }

    /// The endpoints that the node may use at all; `None` where both other lists are.
    pub fn reachable(&self) -> Option<impl Iterator<Item = &ProxyEndpoint<'a>>> {
        let is_listed = self.cluster().is_some() || self.local().is_some();
        is_listed.then(|| self.used(EndpointUse::any))
    }

    fn used(&self, is_used: impl Fn(EndpointUse) -> bool) -> impl Iterator<Item = &ProxyEndpoint<'a>> {
        self.endpoints.iter().filter(move |e| is_used(e.uses)).map(|e| &e.endpoint)
    }

    /// What becomes of connections to the cluster IP.
    pub fn internal(&self) -> Verdict {
        self.verdict(self.policies.internal_local)
    }

    /// What becomes of connections from outside to a node port, an external IP or a load balancer; `None` if the port has
    /// none of these.
    pub fn external(&self) -> Option<Verdict> {
        self.policies.is_external.then(|| self.verdict(self.policies.external_local))
    }

    fn verdict(&self, is_local: bool) -> Verdict {
        let is_used = |e: &ViewedEndpoint<'_>| if is_local { e.uses.local } else { e.uses.cluster };
        match self.endpoints.iter().any(is_used) {
            true => Verdict::Forwarded,
            false if self.has_any => Verdict::Dropped,
            false => Verdict::Rejected,
        }
    }
}
