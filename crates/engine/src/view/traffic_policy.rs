//! The traffic policies of a Service port: which lists of endpoints kube-proxy makes for it.

use crate::model::{Family, Service, ServicePort, Text};

/// How kube-proxy directs the traffic of a Service port (upstream: `BaseServicePortInfo`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrafficPolicies {
    /// `internalTrafficPolicy: Local`: traffic to the cluster IP stays on the node.
    pub internal_local: bool,
    /// `externalTrafficPolicy: Local`, where the type of the Service has external traffic.
    pub external_local: bool,
    /// Whether it is reached by another way than its cluster IP: a node port, an external IP, a load balancer.
    pub is_external: bool,
}

/// The traffic policies of a Service for the addresses of a family, before a port is looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct ServicePolicies(TrafficPolicies);

impl ServicePolicies {
    /// The policies that all ports of a Service share.
    pub(super) fn of(service: &Service, family: Family) -> Self {
        let of_family = |addresses: &[Text]| addresses.iter().any(|a| Family::of(a) == family);
        Self(TrafficPolicies {
            internal_local: service.internal_traffic_policy == "Local",
            external_local: service.takes_external_traffic() && service.external_local,
            is_external: of_family(&service.load_balancer_vips) || of_family(&service.external_ips),
        })
    }

    /// The policies of a port.
    pub(super) fn of_port(self, port: &ServicePort) -> TrafficPolicies {
        let is_external = self.0.is_external || port.node_port != 0;
        TrafficPolicies { is_external, ..self.0 }
    }
}

impl TrafficPolicies {
    /// Whether some traffic goes to endpoints of all nodes. Even with `externalTrafficPolicy: Local`, traffic from the
    /// node itself to an external address does.
    pub fn uses_cluster(self) -> bool {
        !self.internal_local || self.is_external
    }

    /// Whether some traffic goes to endpoints of this node only.
    pub fn uses_local(self) -> bool {
        self.internal_local || (self.external_local && self.is_external)
    }
}
