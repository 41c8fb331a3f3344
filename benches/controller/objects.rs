//! The objects that the load creates, as a user and a kubelet write them.

use serde_json::{Value, json};

pub(crate) const NODES: usize = 50;
const NAMESPACE: &str = "bench";
const SINCE: &str = "2026-05-15T15:55:40Z";

/// The path of a resource in the namespace of the load, `rest` behind it.
pub(crate) fn path(resource: &str, rest: &str) -> String {
    let (group, plural) = resource.rsplit_once('/').unwrap_or_default();
    format!("{group}/namespaces/{NAMESPACE}/{plural}{rest}")
}

pub(crate) fn namespace() -> String {
    json!({ "metadata": { "name": NAMESPACE } }).to_string()
}

fn node_name(number: usize) -> String {
    format!("node-{}", number % NODES)
}

pub(crate) fn node(number: usize) -> String {
    let zone = ["a", "b", "c"][number % 3];
    let labels = json!({ "topology.kubernetes.io/zone": zone });
    json!({ "metadata": { "name": node_name(number), "labels": labels } }).to_string()
}

pub(crate) fn service(name: &str) -> String {
    json!({
        "metadata": { "name": name },
        "spec": {
            "clusterIP": "None", "selector": { "app": name }, "ports": [{ "name": "http", "port": 80, "targetPort": 8080 }],
        },
    })
    .to_string()
}

/// A pod that is on a node.
pub(crate) fn pod(name: &str, service: &str, number: usize) -> String {
    json!({
        "metadata": { "name": name, "labels": { "app": service, "pod-template-hash": "6d4cf56db6" } },
        "spec": {
            "nodeName": node_name(number),
            "containers": [{
                "name": "web", "image": "registry.example.org/team/web:2026.5.1",
                "ports": [{ "name": "http", "containerPort": 8080 }],
                "env": [{ "name": "DATABASE", "value": "postgres://db.internal.example.org:5432/orders" }],
                "resources": { "requests": { "cpu": "250m", "memory": "256Mi" } },
                "readinessProbe": { "httpGet": { "path": "/ready", "port": "http" } },
            }],
        },
    })
    .to_string()
}

/// The status of a pod that runs and is ready.
pub(crate) fn status(number: usize) -> String {
    let ip = format!("10.{}.{}.{}", number / 62_500, number / 250 % 250, number % 250 + 1);
    let conditions = ["PodScheduled", "Initialized", "ContainersReady", "Ready"];
    let conditions = conditions.map(|kind| condition(kind, true, SINCE));
    json!({
        "status": {
            "phase": "Running", "podIP": ip, "podIPs": [{ "ip": ip }], "hostIP": "192.168.0.1", "startTime": SINCE,
            "conditions": conditions,
            "containerStatuses": [{
                "name": "web", "ready": true, "restartCount": 0, "started": true, "imageID": "",
                "image": "registry.example.org/team/web:2026.5.1", "state": { "running": { "startedAt": SINCE } },
            }],
        },
    })
    .to_string()
}

/// A patch of a status that says whether the pod is ready, since this second of an hour.
pub(crate) fn ready(is_ready: bool, second: usize) -> String {
    let since = format!("2026-05-15T16:{:02}:{:02}Z", second / 60 % 60, second % 60);
    json!({ "status": { "conditions": [condition("Ready", is_ready, &since)] } }).to_string()
}

fn condition(kind: &str, is_true: bool, since: &str) -> Value {
    json!({ "type": kind, "status": if is_true { "True" } else { "False" }, "lastTransitionTime": since })
}

/// A slice that belongs to no Service, with as many endpoints as a small one.
pub(crate) fn bare(number: usize) -> String {
    let endpoint = |n: usize| {
        json!({
            "addresses": [format!("10.99.0.{n}")], "conditions": { "ready": true, "serving": true, "terminating": false },
            "nodeName": node_name(n), "targetRef": { "kind": "Pod", "name": format!("other-{n}"), "namespace": NAMESPACE },
        })
    };
    json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": { "name": "bare", "annotations": { "bare": number.to_string() } },
        "endpoints": (0..20).map(endpoint).collect::<Vec<_>>(), "ports": [{ "name": "http", "port": 8080 }],
    })
    .to_string()
}
