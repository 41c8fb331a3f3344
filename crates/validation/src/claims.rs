//! What only one Service of a cluster can have: node ports and cluster IPs.

use std::collections::BTreeSet;

use roster_engine::model::wire::lenient;
use serde::Deserialize;
use serde_json::value::RawValue;

/// Something that a Service claims for itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Claim {
    /// What it is: `node port 30080/TCP`.
    pub what: String,
    /// JSON pointer to the field.
    pub pointer: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Manifest {
    #[serde(deserialize_with = "lenient")]
    spec: Spec,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Spec {
    #[serde(rename = "type", deserialize_with = "lenient")]
    kind: String,
    #[serde(rename = "clusterIP", deserialize_with = "lenient")]
    cluster_ip: String,
    #[serde(deserialize_with = "lenient")]
    ports: Vec<Port>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Port {
    #[serde(deserialize_with = "lenient")]
    protocol: String,
    #[serde(deserialize_with = "lenient")]
    node_port: i64,
}

/// What a Service claims, each thing once.
pub fn claims(service: &RawValue) -> Vec<Claim> {
    // Most Services have neither: looking for the names is cheaper than reading the object.
    if !["\"nodePort\"", "\"clusterIP\""].iter().any(|name| service.get().contains(name)) {
        return Vec::new();
    }
    let Ok(Manifest { spec }) = serde_json::from_str::<Manifest>(service.get()) else { return Vec::new() };
    let (mut all, mut seen) = (Vec::new(), BTreeSet::new());
    if let Ok(ip) = spec.cluster_ip.parse::<std::net::IpAddr>() {
        all.push(Claim { what: format!("cluster IP {ip}"), pointer: "/spec/clusterIP".to_owned() });
    }
    let has_node_ports = matches!(spec.kind.as_str(), "NodePort" | "LoadBalancer");
    for (i, port) in spec.ports.iter().enumerate().filter(|(_, port)| has_node_ports && port.node_port != 0) {
        let protocol = if port.protocol.is_empty() { "TCP" } else { port.protocol.as_str() };
        let what = format!("node port {}/{protocol}", port.node_port);
        if seen.insert(what.clone()) {
            all.push(Claim { what, pointer: format!("/spec/ports/{i}/nodePort") });
        }
    }
    all
}
