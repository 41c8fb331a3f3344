//! Objects of the namespace.

use serde_json::{Value, json};

use super::NAMESPACE;
use crate::api::ApiServer;

/// A Service that selects no pod.
pub(crate) fn probe(name: &str) -> Value {
    object("v1", "Service", name, &json!({ "spec": { "selector": { "app": name }, "ports": [{ "port": 80 }] } }))
}

/// A pod of a node that carries this label.
pub(crate) fn pod(name: &str, app: &str) -> Value {
    let spec = json!({ "nodeName": "node-0", "containers": [{ "name": "c", "image": "i" }] });
    object("v1", "Pod", name, &json!({ "metadata": { "labels": { "app": app } }, "spec": spec }))
}

pub(crate) fn ready(is_ready: bool) -> Value {
    json!({ "type": "Ready", "status": if is_ready { "True" } else { "False" } })
}

/// Creates a pod that runs with this address and is ready.
pub(crate) fn create_running(api: &ApiServer, pod: &Value, ip: &str) {
    assert_eq!(api.create(pod, "", false).status, 201);
    let status = json!({ "phase": "Running", "podIP": ip, "podIPs": [{ "ip": ip }], "conditions": [ready(true)] });
    assert_eq!(api.patch_status(pod, &json!({ "status": status })).status, 200);
}

/// Objects about which the controllers send Events: zones without enough endpoints, and Endpoints that cannot all be mirrored.
pub(crate) fn with_events() -> Vec<Value> {
    let annotations = json!({ "service.kubernetes.io/topology-mode": "Auto" });
    let spec = json!({ "selector": { "app": "zones" }, "ports": [{ "port": 80 }] });
    let zones = object("v1", "Service", "zones", &json!({ "metadata": { "annotations": annotations }, "spec": spec }));
    let by_hand = object("v1", "Service", "by-hand", &json!({ "spec": { "ports": [{ "port": 80 }] } }));
    let addresses: Vec<Value> =
        (0..1100).map(|n| json!({ "ip": format!("192.0.{}.{}", n / 200, n % 200 + 1) })).collect();
    let subsets = json!([{ "addresses": addresses, "ports": [{ "port": 80 }] }]);
    vec![zones, by_hand, object("v1", "Endpoints", "by-hand", &json!({ "subsets": subsets }))]
}

/// An object of the namespace.
pub(crate) fn object(version: &str, kind: &str, name: &str, rest: &Value) -> Value {
    let mut object =
        json!({ "apiVersion": version, "kind": kind, "metadata": { "name": name, "namespace": NAMESPACE } });
    for (field, value) in rest.as_object().unwrap() {
        if field == "metadata" {
            for (key, value) in value.as_object().unwrap() {
                object["metadata"][key] = value.clone();
            }
        } else {
            object[field] = value.clone();
        }
    }
    object
}

pub(super) fn named(version: &str, kind: &str, name: &str) -> Value {
    object(version, kind, name, &json!({}))
}
