//! Objects of given sizes.

use serde_json::{Map, Value, json};

/// The namespace of all objects.
pub(crate) const NAMESPACE: &str = "shop";

/// Makes `n` values.
pub(crate) fn list(n: usize, make: impl FnMut(usize) -> Value) -> Vec<Value> {
    (0..n).map(make).collect()
}

/// The address of a pod: one of 16 million.
pub(crate) fn address(i: usize) -> String {
    format!("10.{}.{}.{}", i >> 16 & 255, i >> 8 & 255, i & 255)
}

/// A range with one address.
pub(crate) fn range(i: usize) -> String {
    format!("10.{}.{}.{}/32", 128 + (i >> 16 & 127), i >> 8 & 255, i & 255)
}

/// `n` labels or annotations.
pub(crate) fn entries(n: usize, name: &str) -> Map<String, Value> {
    (0..n).map(|i| (format!("example.com/{name}-{i:06}"), format!("value-{i}").into())).collect()
}

/// Entries, and one more.
pub(crate) fn entries_and(n: usize, name: &str, more: &[(&str, &str)]) -> Value {
    let mut all = entries(n, name);
    all.extend(more.iter().map(|(key, value)| ((*key).to_owned(), Value::from(*value))));
    all.into()
}

/// The name and the namespace of an object.
pub(crate) fn meta(name: &str) -> Value {
    json!({ "name": name, "namespace": NAMESPACE })
}

/// The ports of a Service, each with a target of its own.
pub(crate) fn service_ports(n: usize) -> Vec<Value> {
    list(
        n,
        |i| json!({ "name": format!("p{i}"), "port": 1 + i % 65535, "targetPort": format!("p{i}"), "protocol": "TCP" }),
    )
}

/// The ports of Endpoints or of a slice.
pub(crate) fn endpoint_ports(n: usize) -> Vec<Value> {
    list(n, |i| json!({ "name": format!("p{i}"), "port": 1 + i % 65535, "protocol": "TCP" }))
}

/// Ports that no other object has: what looks for an equal one finds none.
pub(crate) fn other_ports(n: usize) -> Vec<Value> {
    list(n, |i| json!({ "name": format!("q{i}"), "port": 1 + i % 65535, "protocol": "UDP" }))
}

/// The ports of Endpoints or of a slice: as many lists as there are numbers have the same names, and other numbers.
pub(crate) fn ports_of_list(n: usize, list_number: usize) -> Vec<Value> {
    list(n, |i| json!({ "name": format!("p{i}"), "port": number_in_list(n, list_number, i), "protocol": "TCP" }))
}

/// The number of a port in one of such lists.
pub(crate) fn number_in_list(n: usize, list_number: usize, i: usize) -> usize {
    1 + (list_number * n + i) % 65535
}

/// Ports of containers.
pub(crate) fn container_ports(n: usize) -> Vec<Value> {
    list(n, |i| json!({ "name": format!("p{i}"), "containerPort": 1 + i % 65535, "protocol": "TCP" }))
}

/// A Service that selects all pods.
pub(crate) fn service(name: &str, ports: usize) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": meta(name),
        "spec": { "type": "ClusterIP", "clusterIP": "10.96.0.10", "clusterIPs": ["10.96.0.10"], "ipFamilies": ["IPv4"],
            "selector": { "app": "web" }, "ports": service_ports(ports) },
    })
}

/// Adds conditions to a selector that no pod has.
pub(crate) fn add_conditions(service: &mut Value, n: usize) {
    for i in 0..n {
        service["spec"]["selector"][format!("example.com/none-{i:06}")] = format!("value-{i}").into();
    }
}

/// A pod that serves.
pub(crate) fn pod(i: usize, ports: usize) -> Value {
    let ip = address(i);
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": format!("web-{i}"), "namespace": NAMESPACE, "uid": format!("uid-{i}"), "labels": { "app": "web" } },
        "spec": { "nodeName": format!("node-{}", i % 7), "containers": [{ "name": "web", "ports": container_ports(ports) }] },
        "status": { "phase": "Running", "podIP": ip, "podIPs": [{ "ip": ip }],
            "conditions": [{ "type": "Ready", "status": "True" }] },
    })
}

/// A Deployment with one pod, whose labels no Service selects.
pub(crate) fn workload(i: usize) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta(&format!("w-{i}")),
        "spec": { "replicas": 1, "selector": { "matchLabels": { "app": format!("w-{i}") } },
            "template": { "metadata": { "labels": { "app": format!("w-{i}") } },
                "spec": { "containers": [{ "name": "c", "image": "c:1", "ports": [{ "containerPort": 80 }] }] } } },
    })
}

/// A node in a zone of its own.
pub(crate) fn node(i: usize) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": { "name": format!("node-{i}"), "labels": {
            "kubernetes.io/hostname": format!("node-{i}"), "topology.kubernetes.io/zone": format!("zone-{i}") } },
        "status": { "allocatable": { "cpu": "4" }, "conditions": [{ "type": "Ready", "status": "True" }] },
    })
}

/// Endpoints of a slice, with addresses from `first` on.
pub(crate) fn slice_endpoints(n: usize, first: usize) -> Vec<Value> {
    list(n, |i| {
        let i = first + i;
        json!({ "addresses": [address(i)], "conditions": { "ready": true }, "nodeName": format!("node-{}", i % 7),
            "zone": format!("zone-{}", i % 7),
            "targetRef": { "kind": "Pod", "namespace": NAMESPACE, "name": format!("web-{i}"), "uid": format!("uid-{i}") } })
    })
}

/// A slice of the Service `web`, written by hand.
pub(crate) fn slice(name: &str, endpoints: Vec<Value>, ports: usize) -> Value {
    json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": { "name": name, "namespace": NAMESPACE, "labels": { "kubernetes.io/service-name": "web" } },
        "addressType": "IPv4", "endpoints": endpoints, "ports": endpoint_ports(ports),
    })
}

/// Addresses of Endpoints.
pub(crate) fn endpoint_addresses(n: usize, first: usize) -> Vec<Value> {
    list(n, |i| {
        let i = first + i;
        json!({ "ip": address(i), "nodeName": format!("node-{}", i % 7),
            "targetRef": { "kind": "Pod", "namespace": NAMESPACE, "name": format!("web-{i}") } })
    })
}

/// Lets all refer to pods of one uid, which have other names.
pub(crate) fn of_one_uid(mut all: Vec<Value>) -> Vec<Value> {
    for one in &mut all {
        one["targetRef"]["uid"] = "one".into();
    }
    all
}

/// A name of hundreds of bytes that differs from the others at its end.
pub(crate) fn long_name(i: usize) -> String {
    format!("{}{i:06}", "a".repeat(240))
}

/// Endpoints of the Service `web`.
pub(crate) fn endpoints(subsets: Vec<Value>) -> Value {
    json!({ "apiVersion": "v1", "kind": "Endpoints", "metadata": meta("web"), "subsets": subsets })
}

/// A policy with a name, and this `spec`.
pub(crate) fn policy(i: usize, spec: &Value) -> Value {
    json!({ "apiVersion": "roster.dev/v1", "kind": "EndpointPolicy", "metadata": { "name": format!("policy-{i:06}") }, "spec": spec })
}

/// The text of a list.
pub(crate) fn text(values: Vec<Value>) -> String {
    Value::from(values).to_string()
}
