//! The network policy: who may connect to the pods, and where they may connect to.

use serde_json::{Value, json};

use super::names::{ADMIN_PORT, NAME, WEBHOOK_PORT, meta};

/// Every address, and the range of pods within it, which an installation replaces by its own. These are the ranges of kind
/// and kubeadm's usual ones.
const OUTSIDE_PODS: [(&str, &str); 2] = [("0.0.0.0/0", "10.244.0.0/16"), ("::/0", "fd00:10:244::/56")];

/// The labels of konnectivity's pods, which differ between providers.
const TUNNEL_LABELS: [&str; 2] = ["app", "k8s-app"];

/// Limits who connects:
///
/// - to the webhook: API servers. They use the host network of a node, or an address outside the cluster, so that no pod
///   selector can name them: everything but pods may connect. Managed control planes that tunnel into the cluster connect
///   from the pods of konnectivity.
/// - to health and metrics: pods of namespaces with the label `metrics: enabled`. Probes come from the node of the pod,
///   which a network policy never restricts.
pub(super) fn network_policy() -> Value {
    limits(&meta(NAME), &[(WEBHOOK_PORT, api_servers()), (ADMIN_PORT, metrics_readers())])
}

/// Where the API servers of most clusters connect from.
pub(super) fn api_servers() -> Value {
    let mut all: Vec<Value> =
        OUTSIDE_PODS.iter().map(|(cidr, pods)| json!({ "ipBlock": { "cidr": cidr, "except": [pods] } })).collect();
    all.extend(TUNNEL_LABELS.map(|label| {
        json!({
            "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": "kube-system" } },
            "podSelector": { "matchLabels": { label: "konnectivity-agent" } },
        })
    }));
    all.into()
}

/// Who may read metrics.
pub(super) fn metrics_readers() -> Value {
    json!([{ "namespaceSelector": { "matchLabels": { "metrics": "enabled" } } }])
}

/// A policy for the pods of the name in this metadata: who may connect to each port, and where the pods may connect to.
///
/// Roster itself connects to DNS and to the API server. Some network plugins match the port behind the Service of the API
/// server, which differs between distributions.
pub(super) fn limits(meta: &Value, ports: &[(u16, Value)]) -> Value {
    let ingress: Vec<Value> = ports
        .iter()
        .map(|(port, from)| json!({ "from": from, "ports": [{ "protocol": "TCP", "port": port }] }))
        .collect();
    json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": meta,
        "spec": {
            "podSelector": { "matchLabels": { "app.kubernetes.io/name": meta["name"] } },
            "policyTypes": ["Ingress", "Egress"],
            "ingress": ingress,
            "egress": [{ "ports": [
                { "protocol": "TCP", "port": 443 },
                { "protocol": "TCP", "port": 6443 },
                { "protocol": "TCP", "port": 8443 },
                { "protocol": "TCP", "port": 16443 },
                { "protocol": "TCP", "port": 53 },
                { "protocol": "UDP", "port": 53 },
            ] }],
        },
    })
}
