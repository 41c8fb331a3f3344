//! Bodies whose lists multiply, and others that take more work than their length shows.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::{
    bodies::{object_review, pod},
    stored::{self, LABELS, PORTS, SLICES, address, denying, labels, ports, slice},
};

/// The ports of a reviewed slice. They are none of those that are stored.
const REVIEWED_PORTS: usize = 5000;

/// A review of a slice of a thousand addresses, beside a stored one with the same addresses.
pub(crate) fn duplicate_ports() -> String {
    duplicates(PORTS, 1000)
}

/// A review of a slice of one address, beside thirty stored ones with the same address.
pub(crate) fn duplicate_slices() -> String {
    duplicates(SLICES, 1)
}

fn duplicates(namespace: &str, addresses: usize) -> String {
    object_review("EndpointSlice", &slice(namespace, "web-2", addresses, &ports(REVIEWED_PORTS, "q")))
}

/// A review of a Service with a long selector, and many named ports that the selected pod does not have.
pub(crate) fn named_ports() -> String {
    let ports: Vec<_> =
        (1..=3000).map(|n| json!({ "name": format!("p{n}"), "port": n, "targetPort": format!("t{n}") })).collect();
    let service =
        json!({ "metadata": { "name": "web", "namespace": LABELS }, "spec": { "ports": ports, "selector": labels() } });
    object_review("Service", &service)
}

/// A review of a slice with many hints, zones and labels.
pub(crate) fn wide_slice() -> String {
    let mut slice = slice("shop", "web-2", 60, &ports(100, "p"));
    slice["metadata"]["labels"] = labels();
    slice["metadata"]["labels"]["kubernetes.io/service-name"] = json!("web");
    for (n, endpoint) in slice["endpoints"].as_array_mut().into_iter().flatten().enumerate() {
        endpoint["zone"] = json!(format!("zone-{n}"));
        endpoint["hints"] =
            json!({ "forZones": (0..120).map(|z| json!({ "name": format!("z{z}") })).collect::<Vec<_>>() });
    }
    object_review("EndpointSlice", &slice)
}

/// A review of Endpoints with so many addresses, the last of which a policy denies.
pub(crate) fn denied(addresses: usize) -> String {
    let ips = (0..addresses).map(address).chain([stored::denied_address()]);
    object_review("Endpoints", &endpoints(ips))
}

fn endpoints(addresses: impl Iterator<Item = String>) -> Value {
    let addresses: Vec<_> = addresses.map(|ip| json!({ "ip": ip })).collect();
    json!({
        "metadata": { "name": "web", "namespace": "shop" },
        "subsets": [{ "addresses": addresses, "ports": [{ "port": 80 }] }],
    })
}

/// A conversion of as many policies as fit in about `bytes`.
pub(crate) fn tiny_conversion(bytes: usize) -> String {
    let one = r#"{"apiVersion":"roster.dev/v1alpha1","kind":"EndpointPolicy","metadata":{"name":"a"},"spec":{}}"#;
    let objects = vec![one; bytes / one.len()].join(",");
    format!(
        r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{{"uid":"u","desiredAPIVersion":"roster.dev/v1","objects":[{objects}]}}}}"#
    )
}

/// A review over REST: 200 000 addresses, and policies that deny as many other ranges.
pub(crate) fn ranges() -> String {
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": "web", "namespace": "shop" },
        "spec": { "ports": [{ "port": 80 }], "externalIPs": (0..200_000).map(address).collect::<Vec<_>>() },
    });
    json!({ "object": service, "policies": denying(200_000) }).to_string()
}

/// A view of a Service with as many topology keys as endpoints.
pub(crate) fn keys_view() -> String {
    const COUNT: usize = 20_000;
    let mut slice = slice("shop", "web-1", COUNT, &ports(1, "p"));
    for endpoint in slice["endpoints"].as_array_mut().into_iter().flatten() {
        endpoint["nodeName"] = json!("node-1");
    }
    let meta =
        json!({ "name": "web", "namespace": "shop", "annotations": { "topologyKeys": stored::topology_keys(COUNT) } });
    view("superedge", &meta, &ports(1, "p"), &[slice])
}

/// A view of a Service with as many ports as slices, each of another port.
pub(crate) fn ports_view() -> String {
    const COUNT: usize = 20_000;
    let all = ports(COUNT, "p");
    let slices: Vec<_> =
        (0..COUNT).map(|n| slice("shop", &format!("web-{n}"), 1, std::slice::from_ref(&all[n]))).collect();
    view("kube-proxy", &json!({ "name": "web", "namespace": "shop" }), &all, &slices)
}

fn view(scheme: &str, meta: &Value, ports: &[Value], slices: &[Value]) -> String {
    json!({
        "node": "node-1", "scheme": scheme,
        "nodes": [{ "metadata": { "name": "node-1", "labels": { "kubernetes.io/hostname": "node-1" } } }],
        "services": [{ "metadata": meta, "spec": { "ports": ports } }],
        "endpointSlices": slices,
    })
    .to_string()
}

/// A Service with many named ports, and pods whose containers have as many.
pub(crate) fn container_ports() -> String {
    const COUNT: usize = 3000;
    let ports: Vec<_> =
        (1..=COUNT).map(|n| json!({ "name": format!("p{n}"), "port": n, "targetPort": format!("t{n}") })).collect();
    let own: Vec<_> = (1..=COUNT).map(|n| json!({ "name": format!("t{n}"), "containerPort": n })).collect();
    let pods = (0..30).map(|n| {
        let mut pod = pod(n);
        pod["spec"]["containers"] = json!([{ "name": "web", "ports": own }]);
        pod
    });
    state(&json!({ "app": "web" }), &ports, &pods.collect::<Vec<_>>())
}

/// A Service whose selector is long, and pods that lack one label of it, each another one.
pub(crate) fn near_misses() -> String {
    let selector: serde_json::Map<_, _> = (0..400).map(|n| (format!("app-{n}"), json!(format!("web-{n}")))).collect();
    let pods = (0..1000).map(|n| {
        let mut pod = pod(n);
        let mut labels = selector.clone();
        labels.insert(format!("app-{}", n % 400), json!(format!("wed-{n}")));
        pod["metadata"]["labels"] = labels.into();
        pod
    });
    state(&selector.clone().into(), &ports(1, "p"), &pods.collect::<Vec<_>>())
}

fn state(selector: &Value, ports: &[Value], pods: &[Value]) -> String {
    json!({
        "service": {
            "metadata": { "name": "web", "namespace": "shop", "uid": "u" },
            "spec": { "selector": selector, "clusterIP": "10.96.0.10", "ipFamilies": ["IPv4"], "ports": ports },
        },
        "pods": pods,
        "nodes": [{ "metadata": { "name": "node-1" } }],
    })
    .to_string()
}

/// A plan with as many objects as a body may have that are none.
pub(crate) fn wrong_objects() -> String {
    let pods = vec![r#"{"metadata":5}"#; 490_000].join(",");
    format!(r#"{{"service":{{"metadata":{{"name":"web"}},"spec":{{"selector":{{"a":"b"}}}}}},"pods":[{pods}]}}"#)
}

/// YAML of comments that fill a body, and one Service.
pub(crate) fn comments() -> String {
    "#\n".repeat(31 << 20) + "kind: Service\n"
}

/// YAML of as many documents as fit in a body.
pub(crate) fn documents() -> String {
    "--- {}\n".repeat(9_000_000)
}

/// YAML of one mapping that others merge, again and again.
pub(crate) fn aliases() -> String {
    let mut text = String::from("base: &base\n");
    for n in 0..10_000 {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  k{n}: v");
    }
    text + "items:\n" + &"- {<<: *base, kind: Pod}\n".repeat(10_000)
}
