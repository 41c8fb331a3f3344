//! The defaults of a Service (upstream's `SetDefaults_Service`, and the allocation of its addresses and families).

use super::{Assumption, Assumptions, ClusterFamilies, Defaults};
use crate::model::{Family, Service, ServicePort, ServiceType, TargetPort, Text, parse_lenient};

/// The values of `spec.ipFamilyPolicy`.
const SINGLE: &str = "SingleStack";
const PREFER_DUAL: &str = "PreferDualStack";
const REQUIRE_DUAL: &str = "RequireDualStack";

/// The first node port that a cluster allocates, unless it is configured otherwise.
const FIRST_NODE_PORT: i32 = 30_000;

impl Defaults<'_> {
    /// The address families of the cluster that a Service is written for: those that are given, or else those that it needs.
    pub fn families_for(&self, service: &Service) -> ClusterFamilies {
        let needs_both = service.family_policy == REQUIRE_DUAL || service.families.contains(&Family::V6);
        self.families.unwrap_or(if needs_both { ClusterFamilies::DUAL } else { ClusterFamilies::default() })
    }

    /// Fills in a Service.
    pub fn fill_service(&self, service: &mut Service, assumed: &mut Assumptions) {
        self.place(&mut service.meta.namespace, assumed);
        if !self.apply_to(&service.meta.uid, &service.meta.resource_version) {
            return;
        }
        if service.selector.take_if(|s| s.is_empty()).is_some() {
            assumed.count(Assumption::EmptySelector);
        }
        service.ports.iter_mut().for_each(|port| fill_port(port, assumed));
        if service.kind == ServiceType::ExternalName {
            // A CNAME has no addresses, and no policy for them.
            if !std::mem::take(&mut service.internal_traffic_policy).is_empty() {
                assumed.normalize();
            }
            return;
        }
        if service.internal_traffic_policy.is_empty() {
            service.internal_traffic_policy = Text::new_static("Cluster");
            assumed.normalize();
        }
        self.fill_families(service, assumed);
        if service.cluster_ip.is_empty() {
            service.cluster_ip = invented(service.families.first().copied());
            assumed.count(Assumption::ClusterIp);
        }
        fill_cluster_ips(service, assumed);
        fill_node_ports(service, assumed);
    }

    /// Fills in the policy and the families. Users may write endpoints of any family for a headless Service
    /// without selector, so it has both on every cluster.
    fn fill_families(&self, service: &mut Service, assumed: &mut Assumptions) {
        let any_family = service.declared_headless() && service.selector.is_none();
        if service.family_policy.is_empty() {
            service.family_policy = Text::new_static(if any_family { REQUIRE_DUAL } else { SINGLE });
            assumed.normalize();
        }
        let (before, cluster) = (service.families.len(), self.families_for(service));
        if before == 0 {
            let of_address = parse_lenient(&service.cluster_ip).map(|_| Family::of(&service.cluster_ip));
            service.families.push(of_address.unwrap_or(cluster.first()));
        }
        let is_dual = any_family || cluster.is_dual();
        if is_dual && [PREFER_DUAL, REQUIRE_DUAL].contains(&service.family_policy.as_str()) {
            let other = match service.families.as_slice() {
                [Family::V4] => Some(Family::V6),
                [Family::V6] => Some(Family::V4),
                _ => None,
            };
            service.families.extend(other);
        }
        if service.families.len() > before {
            assumed.count_families(if any_family { self.families() } else { cluster });
        }
    }
}

/// Fills in `clusterIPs`: one address for each family, or `None`.
fn fill_cluster_ips(service: &mut Service, assumed: &mut Assumptions) {
    if !service.cluster_ips.is_empty() {
        return;
    }
    service.cluster_ips.push(service.cluster_ip.clone());
    if !service.declared_headless() {
        service.cluster_ips.extend(service.families.iter().skip(1).map(|family| invented(Some(*family))));
    }
    assumed.normalize();
}

/// Fills in node ports. Which ones a cluster allocates is unknown.
fn fill_node_ports(service: &mut Service, assumed: &mut Assumptions) {
    let has_node_ports = match service.kind {
        ServiceType::NodePort => true,
        ServiceType::LoadBalancer => !service.without_node_ports,
        ServiceType::ClusterIp | ServiceType::ExternalName => false,
    };
    for port in service.ports.iter_mut().filter(|port| has_node_ports && port.node_port == 0) {
        port.node_port = FIRST_NODE_PORT;
        assumed.normalize();
    }
}

fn fill_port(port: &mut ServicePort, assumed: &mut Assumptions) {
    super::others::fill_protocol(&mut port.protocol, Assumption::ServiceProtocol, assumed);
    if matches!(&port.target_port, TargetPort::Number(0)) || port.target_port == TargetPort::Name(Text::default()) {
        port.target_port = TargetPort::Number(port.port);
        assumed.count(Assumption::TargetPort);
    }
}

/// A cluster IP for a Service that will get one: which one is unknown, but its family is not. It is an address for
/// documentation, which no pod has.
fn invented(family: Option<Family>) -> Text {
    Text::new_static(match family {
        Some(Family::V6) => "2001:db8::1",
        Some(Family::V4) | None => "192.0.2.1",
    })
}
