//! What an API server stores, and the policies of a webhook, where lists multiply: the ports of slices, ranges, and topology keys.

use serde_json::{Value, json};

use crate::api_server::ListedObjects;

/// The namespace of one slice with many addresses and ports, and of many slices with one address.
pub(crate) const PORTS: &str = "ports";
pub(crate) const SLICES: &str = "slices";
/// The namespace of a pod with many labels.
pub(crate) const LABELS: &str = "labels";
/// A namespace of the node proxy: slices of a Service with many topology keys.
pub(crate) const KEYS: &str = "keys";

/// The addresses and ports of a slice, at most; and the labels of the pod.
const ADDRESSES: usize = 1000;
const STORED_PORTS: usize = 20_000;
const STORED_SLICES: usize = 30;
const LABEL_COUNT: usize = 4000;
/// Denied ranges: as many policies, each with as many as one may have.
const POLICIES: usize = 16;
const RANGES: usize = 256;
/// A Service's topology keys, about 240 KB, and its slices.
const KEY_COUNT: usize = 40_000;
const KEY_SLICES: usize = 20;
/// One of the last of the keys.
const LAST_KEY: &str = "9c00";

/// The objects of the cluster whose copy the webhook has.
pub(crate) fn cluster() -> ListedObjects {
    let mut objects = ListedObjects::default();
    for namespace in ["shop", PORTS, SLICES, LABELS] {
        push(&mut objects, "namespaces", &json!({ "metadata": { "name": namespace, "resourceVersion": "1" } }));
        let service = json!({
            "metadata": { "name": "web", "namespace": namespace, "uid": namespace, "resourceVersion": "1" },
            "spec": { "ports": [{ "port": 80 }] },
        });
        push(&mut objects, "services", &service);
    }
    push(&mut objects, "endpointslices", &slice(PORTS, "web-1", ADDRESSES, &ports(STORED_PORTS, "p")));
    for n in 0..STORED_SLICES {
        let slice = slice(SLICES, &format!("stored-{n}"), 1, &ports(STORED_PORTS, "p"));
        push(&mut objects, "endpointslices", &slice);
    }
    let pod = json!({
        "metadata": { "name": "web", "namespace": LABELS, "uid": "web", "resourceVersion": "1", "labels": labels() },
        "spec": { "containers": [{ "name": "web" }] },
        "status": { "podIP": "10.9.9.9" },
    });
    push(&mut objects, "pods", &pod);
    objects
}

fn push(objects: &mut ListedObjects, plural: &'static str, object: &Value) {
    objects.push(plural, &object.to_string());
}

/// A slice with the first addresses, each of an endpoint.
pub(crate) fn slice(namespace: &str, name: &str, addresses: usize, ports: &[Value]) -> Value {
    let endpoints: Vec<_> = (0..addresses).map(|n| json!({ "addresses": [address(n)] })).collect();
    json!({
        "metadata": {
            "name": name, "namespace": namespace, "uid": format!("{namespace}-{name}"), "resourceVersion": "1",
            "labels": { "kubernetes.io/service-name": "web" },
        },
        "addressType": "IPv4", "endpoints": endpoints, "ports": ports,
    })
}

/// An address of 10.0.0.0/8.
pub(crate) fn address(n: usize) -> String {
    format!("10.{}.{}.{}", n >> 16 & 255, n >> 8 & 255, n & 255)
}

/// Ports whose names begin like this.
pub(crate) fn ports(count: usize, name: &str) -> Vec<Value> {
    (1..=count).map(|n| json!({ "name": format!("{name}{n}"), "port": n })).collect()
}

/// The labels of the pod, which are a selector as well.
pub(crate) fn labels() -> Value {
    (0..LABEL_COUNT).map(|n| (format!("a{n}"), json!("b"))).collect::<serde_json::Map<_, _>>().into()
}

/// A range that a policy denies.
fn range(n: usize) -> String {
    format!("172.{}.{}.{}/32", 16 + (n >> 16), n >> 8 & 255, n & 255)
}

/// An address that the last policy denies.
pub(crate) fn denied_address() -> String {
    range(POLICIES * RANGES - 1).trim_end_matches("/32").to_owned()
}

/// Policies that deny so many ranges in all, each as many as it may.
pub(crate) fn denying(ranges: usize) -> Vec<Value> {
    let policy = |first: usize| {
        let denied: Vec<_> = (first..ranges.min(first + RANGES)).map(range).collect();
        json!({
            "apiVersion": "roster.dev/v1", "kind": "EndpointPolicy", "metadata": { "name": format!("deny-{first}") },
            "spec": { "rules": [{ "name": "address-provenance", "mode": "enforce" }], "addresses": { "deny": denied } },
        })
    };
    (0..ranges).step_by(RANGES).map(policy).collect()
}

/// The policies of the webhook, as a file.
pub(crate) fn policies() -> String {
    json!({ "apiVersion": "v1", "kind": "List", "items": denying(POLICIES * RANGES) }).to_string()
}

/// Adds the Service with many topology keys.
pub(crate) fn push_keys(objects: &mut ListedObjects) {
    push(objects, "namespaces", &json!({ "metadata": { "name": KEYS, "resourceVersion": "1" } }));
    push(objects, "services", &keys_service(KEY_COUNT, 1));
    for n in 0..KEY_SLICES {
        push(objects, "endpointslices", &keys_slice(n, 1));
    }
}

/// A change of that Service, of one of its slices, or of the labels of the node, in turns: the plural, and the object.
pub(crate) fn changed_keys(change: usize) -> (&'static str, String) {
    let version = 10_000_000 + change;
    let (plural, object) = match change % 3 {
        0 => ("services", keys_service(KEY_COUNT - change % 10, version)),
        1 => ("endpointslices", keys_slice(change % KEY_SLICES, version)),
        _ => {
            let labels = json!({ "kubernetes.io/hostname": "near", LAST_KEY: change.to_string() });
            let meta = json!({ "name": "near", "resourceVersion": version.to_string(), "labels": labels });
            ("nodes", json!({ "metadata": meta }))
        }
    };
    (plural, object.to_string())
}

fn keys_service(keys: usize, version: usize) -> Value {
    json!({
        "metadata": {
            "name": "web", "namespace": KEYS, "uid": KEYS, "resourceVersion": version.to_string(),
            "annotations": { "topologyKeys": topology_keys(keys) },
        },
        "spec": { "clusterIP": "10.96.0.2", "type": "ClusterIP", "ports": [{ "name": "http", "port": 80, "targetPort": 8080 }] },
    })
}

/// Different keys, as an annotation has them.
pub(crate) fn topology_keys(count: usize) -> String {
    json!((0..count).map(|n| format!("{n:x}")).collect::<Vec<_>>()).to_string()
}

fn keys_slice(n: usize, version: usize) -> Value {
    let endpoint = |k: usize| {
        let node = if k.is_multiple_of(2) { "near" } else { "far" };
        json!({ "addresses": [address(n * ADDRESSES + k)], "nodeName": node, "conditions": { "ready": true } })
    };
    json!({
        "metadata": {
            "name": format!("web-{n}"), "namespace": KEYS, "uid": format!("{KEYS}-{n}"), "resourceVersion": version.to_string(),
            "labels": { "kubernetes.io/service-name": "web" },
        },
        "addressType": "IPv4", "endpoints": (0..ADDRESSES).map(endpoint).collect::<Vec<_>>(),
        "ports": [{ "name": "http", "port": 8080, "protocol": "TCP" }],
    })
}
