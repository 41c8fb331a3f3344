//! What an API server refuses of a Service (upstream's `ValidateService`), as far as it can be known offline.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use roster_engine::{
    model::{HashSeed, dns, json::pointer::Pointer, wire::lenient},
    reason::Reason,
};
use serde::Deserialize;
use serde_json::Value;

use super::{
    faults::{Faults, quoted},
    values::{is_port, not_port_name, not_qualified, one_of, one_of_given},
};

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ServiceSpec {
    #[serde(rename = "type", deserialize_with = "lenient")]
    pub(super) kind: String,
    #[serde(rename = "clusterIP", deserialize_with = "lenient")]
    pub(super) cluster_ip: String,
    #[serde(rename = "clusterIPs", deserialize_with = "lenient")]
    pub(super) cluster_ips: Vec<String>,
    #[serde(deserialize_with = "lenient")]
    external_name: String,
    #[serde(rename = "externalIPs", deserialize_with = "lenient")]
    pub(super) external_ips: Vec<Value>,
    #[serde(deserialize_with = "lenient")]
    external_traffic_policy: String,
    #[serde(deserialize_with = "lenient")]
    internal_traffic_policy: Option<String>,
    #[serde(deserialize_with = "lenient")]
    traffic_distribution: Option<String>,
    #[serde(deserialize_with = "lenient")]
    session_affinity: String,
    #[serde(deserialize_with = "lenient")]
    session_affinity_config: AffinityConfig,
    #[serde(deserialize_with = "lenient")]
    pub(super) ip_family_policy: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) ip_families: Vec<String>,
    #[serde(deserialize_with = "lenient")]
    load_balancer_class: Option<Value>,
    #[serde(deserialize_with = "lenient")]
    pub(super) load_balancer_source_ranges: Vec<String>,
    #[serde(rename = "allocateLoadBalancerNodePorts", deserialize_with = "lenient")]
    allocate_node_ports: Option<Value>,
    #[serde(deserialize_with = "lenient")]
    health_check_node_port: i64,
    #[serde(deserialize_with = "lenient")]
    pub(super) selector: BTreeMap<String, Value>,
    #[serde(deserialize_with = "lenient")]
    ports: Vec<ServicePortSpec>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct AffinityConfig {
    #[serde(rename = "clientIP", deserialize_with = "lenient")]
    client_ip: Option<ClientIpConfig>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ClientIpConfig {
    #[serde(deserialize_with = "lenient")]
    timeout_seconds: Option<i64>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ServicePortSpec {
    #[serde(deserialize_with = "lenient")]
    name: String,
    #[serde(deserialize_with = "lenient")]
    port: Option<i64>,
    #[serde(deserialize_with = "lenient")]
    protocol: String,
    #[serde(deserialize_with = "lenient")]
    target_port: Value,
    #[serde(deserialize_with = "lenient")]
    node_port: i64,
    #[serde(deserialize_with = "lenient")]
    app_protocol: Option<String>,
}

impl ServicePortSpec {
    fn protocol(&self) -> &str {
        if self.protocol.is_empty() { "TCP" } else { &self.protocol }
    }
}

/// The range of node ports, unless an API server has another one.
const NODE_PORTS: std::ops::RangeInclusive<i64> = 30_000..=32_767;

impl ServiceSpec {
    /// The type, with its default.
    fn kind(&self) -> &str {
        if self.kind.is_empty() { "ClusterIP" } else { &self.kind }
    }
}

/// Checks the spec of a Service, which is at `root`; its addresses apart.
pub(super) fn check(spec: &ServiceSpec, root: &Pointer<'_>, faults: &mut Faults<'_>) {
    check_words(spec, root, faults);
    check_type(spec, root, faults);
    check_affinity(spec, root, faults);
    check_ports(spec, &Pointer::Key(root, "ports"), faults);
}

/// Fields that have one of a few values.
fn check_words(spec: &ServiceSpec, root: &Pointer<'_>, faults: &mut Faults<'_>) {
    for (field, value, allowed) in [
        ("type", &spec.kind, &["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"][..]),
        ("sessionAffinity", &spec.session_affinity, &["None", "ClientIP"]),
        ("externalTrafficPolicy", &spec.external_traffic_policy, &["Cluster", "Local"]),
    ] {
        one_of(value, allowed, Pointer::Key(root, field), faults);
    }
    for (field, value, allowed) in [
        ("internalTrafficPolicy", &spec.internal_traffic_policy, &["Cluster", "Local"][..]),
        ("ipFamilyPolicy", &spec.ip_family_policy, &["SingleStack", "PreferDualStack", "RequireDualStack"]),
        ("trafficDistribution", &spec.traffic_distribution, &["PreferClose", "PreferSameZone", "PreferSameNode"]),
    ] {
        one_of_given(value.as_deref(), allowed, Pointer::Key(root, field), faults);
    }
}

/// How long a client stays with its pod. Without session affinity, an API server drops the settings.
fn check_affinity(spec: &ServiceSpec, root: &Pointer<'_>, faults: &mut Faults<'_>) {
    const LONGEST: i64 = 86_400;
    let Some(client) = &spec.session_affinity_config.client_ip else { return };
    let config = Pointer::Key(root, "sessionAffinityConfig");
    if spec.session_affinity != "ClientIP" {
        faults.warn(Reason::InvalidValue, config, "it has no effect without sessionAffinity: ClientIP");
    } else if let Some(seconds) = client.timeout_seconds.filter(|s| !(1..=LONGEST).contains(s)) {
        let client = Pointer::Key(&config, "clientIP");
        let message = format!("{seconds} is not from 1 to {LONGEST}");
        faults.add(Reason::InvalidValue, Pointer::Key(&client, "timeoutSeconds"), message);
    }
}

/// Fields that only some types of Services may have.
fn check_type(spec: &ServiceSpec, root: &Pointer<'_>, faults: &mut Faults<'_>) {
    let kind = spec.kind();
    if kind == "ExternalName" {
        check_external_name(spec, root, faults);
    } else {
        check_cluster_ip(spec, root, faults);
    }
    let is_balanced = kind == "LoadBalancer";
    let is_external = is_balanced || kind == "NodePort" || (kind == "ClusterIP" && !spec.external_ips.is_empty());
    let mut refuse =
        |field: &str, message: String| faults.add(Reason::InvalidValue, Pointer::Key(root, field), message);
    if !spec.external_traffic_policy.is_empty() && !is_external {
        let without = if kind == "ClusterIP" { " without external IPs" } else { "" };
        refuse("externalTrafficPolicy", format!("a Service of type {kind}{without} cannot have it"));
    }
    for (field, is_set) in [
        ("loadBalancerClass", spec.load_balancer_class.is_some()),
        ("allocateLoadBalancerNodePorts", spec.allocate_node_ports.is_some()),
        ("loadBalancerSourceRanges", !spec.load_balancer_source_ranges.is_empty()),
    ] {
        if is_set && !is_balanced {
            refuse(field, format!("a Service of type {kind} cannot have it; it is for LoadBalancer"));
        }
    }
    if let Some(why) = spec.load_balancer_class.as_ref().and_then(Value::as_str).and_then(not_qualified) {
        refuse("loadBalancerClass", format!("it is not the name of a class: {why}"));
    }
    let has_health_check = is_balanced && spec.external_traffic_policy == "Local";
    match spec.health_check_node_port {
        0 => {}
        _ if !has_health_check => {
            let message = "it is for type LoadBalancer with externalTrafficPolicy: Local".to_owned();
            refuse("healthCheckNodePort", message);
        }
        port => check_node_port(port, Pointer::Key(root, "healthCheckNodePort"), faults),
    }
}

/// A number that no port has is refused by every API server; whether one is in the range of node ports depends on it.
fn check_node_port(port: i64, at: Pointer<'_>, faults: &mut Faults<'_>) {
    if !is_port(port) {
        faults.add(Reason::InvalidPort, at, format!("port {port} is not from 1 to 65535"));
    } else if !NODE_PORTS.contains(&port) {
        let message = format!("{port} is not from 30000 to 32767, the default range of node ports");
        faults.warn(Reason::InvalidValue, at, message);
    }
}

/// The name that a Service of type `ExternalName` stands for, and the addresses that it cannot have.
fn check_external_name(spec: &ServiceSpec, root: &Pointer<'_>, faults: &mut Faults<'_>) {
    let mut refuse =
        |field: &str, message: String| faults.add(Reason::InvalidValue, Pointer::Key(root, field), message);
    let name = spec.external_name.strip_suffix('.').unwrap_or(&spec.external_name);
    if name.is_empty() {
        refuse("externalName", "a Service of type ExternalName needs a name".to_owned());
    } else if !dns::is_subdomain(name.as_bytes()) {
        refuse("externalName", format!("{} is not a DNS name in lower case", quoted(name)));
    }
    if name.parse::<std::net::Ipv4Addr>().is_ok() {
        let message = format!(
            "{name} is read as a DNS name, not as an address, and no DNS server resolves it; for an address, write a Service \
             without type and selector, and an EndpointSlice"
        );
        faults.warn(Reason::InvalidValue, Pointer::Key(root, "externalName"), message);
    }
    let mut refuse =
        |field: &str, message: String| faults.add(Reason::InvalidValue, Pointer::Key(root, field), message);
    for (field, is_set) in [
        ("clusterIP", !spec.cluster_ip.is_empty()),
        ("clusterIPs", !spec.cluster_ips.is_empty()),
        ("ipFamilies", !spec.ip_families.is_empty()),
        ("ipFamilyPolicy", spec.ip_family_policy.as_deref().is_some_and(|policy| !policy.is_empty())),
    ] {
        if is_set {
            refuse(field, "a Service of type ExternalName cannot have it".to_owned());
        }
    }
}

/// The cluster IP, and that there are ports for it.
fn check_cluster_ip(spec: &ServiceSpec, root: &Pointer<'_>, faults: &mut Faults<'_>) {
    let kind = spec.kind();
    let field = Pointer::Key(root, "clusterIP");
    if spec.cluster_ip == "None" && matches!(kind, "NodePort" | "LoadBalancer") {
        faults.add(Reason::InvalidValue, field, format!("a Service of type {kind} cannot be headless"));
    } else if !matches!(spec.cluster_ip.as_str(), "" | "None") && spec.cluster_ip.parse::<std::net::IpAddr>().is_err() {
        let message = format!("{} is neither an IP address nor None", quoted(&spec.cluster_ip));
        faults.add(Reason::InvalidValue, field, message);
    }
    if spec.ports.is_empty() && spec.cluster_ip != "None" {
        faults.add(Reason::MissingField, Pointer::Key(root, "ports"), "a Service that is not headless needs a port");
    }
}

/// Protocols and numbers of ports.
type PortSet<'a> = HashSet<(&'a str, i64), HashSeed>;

fn check_ports(spec: &ServiceSpec, list: &Pointer<'_>, faults: &mut Faults<'_>) {
    let kind = spec.kind();
    let (mut names, mut numbers, mut node_ports) = (BTreeSet::new(), PortSet::default(), PortSet::default());
    for (i, port) in spec.ports.iter().enumerate() {
        let at = Pointer::Index(list, i);
        check_port(port, &at, faults);
        if port.name.is_empty() {
            if spec.ports.len() > 1 {
                let message = "a Service with several ports needs a name for each";
                faults.add(Reason::MissingField, Pointer::Key(&at, "name"), message);
            }
        } else if !names.insert(port.name.as_str()) {
            let message = format!("the port name {} is repeated", quoted(&port.name));
            faults.add(Reason::InvalidValue, Pointer::Key(&at, "name"), message);
        }
        if let Some(number) = port.port.filter(|n| is_port(*n))
            && !numbers.insert((port.protocol(), number))
        {
            let message = format!("the port {number}/{} is repeated", port.protocol());
            faults.add(Reason::InvalidValue, Pointer::Key(&at, "port"), message);
        }
        if port.node_port != 0 {
            let field = Pointer::Key(&at, "nodePort");
            if kind == "ClusterIP" {
                let message = "a Service of type ClusterIP has no node ports: set type NodePort or LoadBalancer, or remove nodePort";
                faults.add(Reason::InvalidValue, field, message);
                continue;
            }
            if kind != "ExternalName" {
                check_node_port(port.node_port, field, faults);
            }
            if !node_ports.insert((port.protocol(), port.node_port)) {
                let message = format!("the node port {}/{} is repeated", port.node_port, port.protocol());
                faults.add(Reason::InvalidValue, field, message);
            }
        }
    }
}

/// Checks one port by itself.
fn check_port(port: &ServicePortSpec, at: &Pointer<'_>, faults: &mut Faults<'_>) {
    // An API server fills in the number of the port for target port 0.
    let target = port.target_port.as_i64().filter(|n| *n != 0);
    let target = target.filter(|n| port.port != Some(*n));
    for (field, number) in [("port", port.port), ("targetPort", target)] {
        if let Some(number) = number.filter(|n| !is_port(*n)) {
            let message = format!("port {number} is not from 1 to 65535");
            faults.add(Reason::InvalidPort, Pointer::Key(at, field), message);
        }
    }
    if let Some(why) = port.app_protocol.as_deref().and_then(not_qualified) {
        let message = format!("it is not the name of a protocol such as http or kubernetes.io/h2c: {why}");
        faults.add(Reason::InvalidValue, Pointer::Key(at, "appProtocol"), message);
    }
    one_of(&port.protocol, &["TCP", "UDP", "SCTP"], Pointer::Key(at, "protocol"), faults);
    if !port.name.is_empty() && !dns::is_label(port.name.as_bytes()) {
        let message = format!(
            "{} is not a port name: it consists of at most 63 lower case letters, digits and '-'",
            quoted(&port.name)
        );
        faults.add(Reason::InvalidValue, Pointer::Key(at, "name"), message);
    }
    if let Some(name) = port.target_port.as_str().filter(|name| !name.is_empty())
        && let Some(why) = not_port_name(name)
    {
        let message = match name.parse::<u16>() {
            Ok(number) => {
                format!("{} in quotes is the name of a port, and {why}; write {number} without quotes", quoted(name))
            }
            Err(_) => format!("{} is not the name of a container port: {why}", quoted(name)),
        };
        faults.add(Reason::InvalidValue, Pointer::Key(at, "targetPort"), message);
    }
}
