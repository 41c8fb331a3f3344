//! Services.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{
    Family, Labels, ObjectKey, ObjectMeta, Resource, Text,
    wire::{kind_of, nullable},
};

/// A Service: the fields that the controllers and the webhook read.
#[derive(Clone, Debug, Default)]
pub struct Service {
    /// Metadata.
    pub meta: ObjectMeta,
    /// `spec.type`.
    pub kind: ServiceType,
    /// `spec.selector`: without one, a user or another program writes the endpoints; the empty selector selects every pod.
    pub selector: Option<Labels>,
    /// `spec.ports`.
    pub ports: Vec<ServicePort>,
    /// `spec.clusterIP`.
    pub cluster_ip: Text,
    /// `spec.clusterIPs`: one for each of `families`.
    pub cluster_ips: Vec<Text>,
    /// `spec.ipFamilies`, as far as they are families.
    pub families: smallvec::SmallVec<[Family; 2]>,
    /// `spec.ipFamilyPolicy`: read to fill in `families`.
    pub family_policy: Text,
    /// `spec.publishNotReadyAddresses`.
    pub publish_not_ready: bool,
    /// `spec.trafficDistribution`.
    pub traffic_distribution: Option<Text>,
    /// `spec.topologyKeys` of Kubernetes 1.17 to 1.21.
    pub topology_keys: Vec<Text>,
    /// `spec.internalTrafficPolicy`; empty where there is none.
    pub internal_traffic_policy: Text,
    /// `spec.externalTrafficPolicy: Local`.
    pub external_local: bool,
    /// `spec.externalIPs`.
    pub external_ips: Vec<Text>,
    /// `spec.loadBalancerIP`; empty where there is none.
    pub load_balancer_ip: Text,
    /// `spec.allocateLoadBalancerNodePorts: false`: a load balancer that needs no node ports.
    pub without_node_ports: bool,
    /// The addresses of `status.loadBalancer.ingress` that nodes serve themselves: not those of a proxy (`ipMode: Proxy`).
    pub load_balancer_vips: Vec<Text>,
}

impl Service {
    /// Whether it has no cluster IP: `None`, or none yet (`service.HasIP` of upstream's label rules).
    pub fn headless(&self) -> bool {
        self.cluster_ip.is_empty() || self.cluster_ip == "None"
    }

    /// Whether it takes traffic from outside the cluster (upstream: `ExternallyAccessible`).
    pub fn takes_external_traffic(&self) -> bool {
        match self.kind {
            ServiceType::NodePort | ServiceType::LoadBalancer => true,
            ServiceType::ClusterIp => !self.external_ips.is_empty(),
            ServiceType::ExternalName => false,
        }
    }

    /// Whether it is headless by declaration: `clusterIP: None`.
    pub fn declared_headless(&self) -> bool {
        self.cluster_ip == "None"
    }

    /// The tolerate-unready annotation, if it is a Go boolean: up to 1.23 it replaced `publishNotReadyAddresses`, in both
    /// directions.
    pub fn tolerates_unready(&self) -> Option<bool> {
        self.meta.annotations.get(super::names::TOLERATE_UNREADY).and_then(|v| parse_bool(v))
    }

    /// Kind, namespace and name.
    pub fn key(&self) -> ObjectKey {
        ObjectKey::new("Service", &self.meta.namespace, &self.meta.name)
    }
}

/// Go's `strconv.ParseBool`.
fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}

/// `spec.type`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ServiceType {
    /// An address inside the cluster: what an API server sets where there is no type.
    #[default]
    ClusterIp,
    /// A port of every node as well.
    NodePort,
    /// The address of a load balancer as well.
    LoadBalancer,
    /// A CNAME: no endpoints since 1.27.
    ExternalName,
}

impl ServiceType {
    /// The type of this name. Another text counts as the default; no API server stores one.
    fn of(text: &str) -> Self {
        match text {
            "NodePort" => Self::NodePort,
            "LoadBalancer" => Self::LoadBalancer,
            "ExternalName" => Self::ExternalName,
            _ => Self::ClusterIp,
        }
    }
}

/// A port of a Service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "the fields are Kubernetes' own")]
pub struct ServicePort {
    #[serde(deserialize_with = "nullable")]
    pub name: Text,
    #[serde(deserialize_with = "nullable")]
    pub protocol: Text,
    #[serde(deserialize_with = "nullable")]
    pub port: i32,
    #[serde(deserialize_with = "nullable")]
    pub target_port: TargetPort,
    #[serde(deserialize_with = "nullable")]
    pub node_port: i32,
    pub app_protocol: Option<Text>,
}

/// `targetPort`: a number, or the name of a container's port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TargetPort {
    /// This number, whether the pod exposes it or not.
    Number(i32),
    /// Looked up in each pod.
    Name(Text),
}

impl Default for TargetPort {
    fn default() -> Self {
        Self::Number(0)
    }
}

impl<'de> Deserialize<'de> for TargetPort {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "targetPort must be a number or a string")]
        enum Raw {
            Number(i32),
            Name(Text),
        }
        Ok(match Raw::deserialize(d)? {
            Raw::Number(n) => Self::Number(n),
            Raw::Name(n) => Self::Name(n),
        })
    }
}

impl Serialize for TargetPort {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(n) => s.serialize_i32(*n),
            Self::Name(n) => s.serialize_str(n),
        }
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawService {
    #[serde(rename = "kind", deserialize_with = "service_kind")]
    _kind: (),
    #[serde(deserialize_with = "nullable")]
    metadata: ObjectMeta,
    #[serde(deserialize_with = "nullable")]
    spec: RawSpec,
    #[serde(deserialize_with = "nullable")]
    status: RawStatus,
}

fn service_kind<'de, D: Deserializer<'de>>(d: D) -> Result<(), D::Error> {
    kind_of(d, Resource::Service)
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawStatus {
    #[serde(deserialize_with = "nullable")]
    load_balancer: RawLoadBalancer,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawLoadBalancer {
    #[serde(deserialize_with = "nullable")]
    ingress: Vec<RawIngress>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawIngress {
    #[serde(deserialize_with = "nullable")]
    ip: Text,
    ip_mode: Option<Text>,
}

impl RawIngress {
    /// Its address, if nodes serve it.
    fn vip(self) -> Option<Text> {
        (!self.ip.is_empty() && self.ip_mode.is_none_or(|mode| mode == "VIP")).then_some(self.ip)
    }
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawSpec {
    #[serde(rename = "type", deserialize_with = "nullable")]
    kind: Text,
    selector: Option<Labels>,
    #[serde(deserialize_with = "nullable")]
    ports: Vec<ServicePort>,
    #[serde(rename = "clusterIP", deserialize_with = "nullable")]
    cluster_ip: Text,
    #[serde(rename = "clusterIPs", deserialize_with = "nullable")]
    cluster_ips: Vec<Text>,
    #[serde(deserialize_with = "nullable")]
    ip_families: Vec<Text>,
    #[serde(deserialize_with = "nullable")]
    ip_family_policy: Text,
    #[serde(deserialize_with = "nullable")]
    publish_not_ready_addresses: bool,
    traffic_distribution: Option<Text>,
    #[serde(deserialize_with = "nullable")]
    topology_keys: Vec<Text>,
    #[serde(deserialize_with = "nullable")]
    internal_traffic_policy: Text,
    #[serde(deserialize_with = "nullable")]
    external_traffic_policy: Text,
    allocate_load_balancer_node_ports: Option<bool>,
    #[serde(rename = "externalIPs", deserialize_with = "nullable")]
    external_ips: Vec<Text>,
    #[serde(rename = "loadBalancerIP", deserialize_with = "nullable")]
    load_balancer_ip: Text,
}

impl<'de> Deserialize<'de> for Service {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let RawService { metadata, spec, status, .. } = RawService::deserialize(d)?;
        Ok(Self {
            meta: metadata,
            kind: ServiceType::of(&spec.kind),
            selector: spec.selector,
            ports: spec.ports,
            cluster_ip: spec.cluster_ip,
            cluster_ips: spec.cluster_ips,
            families: spec
                .ip_families
                .iter()
                .filter_map(|f| match f.as_str() {
                    "IPv4" => Some(Family::V4),
                    "IPv6" => Some(Family::V6),
                    _ => None,
                })
                .collect(),
            family_policy: spec.ip_family_policy,
            publish_not_ready: spec.publish_not_ready_addresses,
            traffic_distribution: spec.traffic_distribution,
            topology_keys: spec.topology_keys,
            internal_traffic_policy: spec.internal_traffic_policy,
            external_local: spec.external_traffic_policy == "Local",
            without_node_ports: spec.allocate_load_balancer_node_ports == Some(false),
            external_ips: spec.external_ips,
            load_balancer_ip: spec.load_balancer_ip,
            load_balancer_vips: status.load_balancer.ingress.into_iter().filter_map(RawIngress::vip).collect(),
        })
    }
}

/// The protocol of a port, with the default that an API server sets.
pub fn protocol_or_tcp(protocol: &str) -> &str {
    if protocol.is_empty() { "TCP" } else { protocol }
}

#[cfg(test)]
mod tests {
    use super::parse_bool;

    #[test]
    fn booleans_are_read_as_go_reads_them() {
        for text in ["1", "t", "T", "TRUE", "true", "True"] {
            assert_eq!(parse_bool(text), Some(true));
        }
        for text in ["0", "f", "F", "FALSE", "false", "False"] {
            assert_eq!(parse_bool(text), Some(false));
        }
        for text in ["", "yes", "tRUE", " true"] {
            assert_eq!(parse_bool(text), None);
        }
    }
}
