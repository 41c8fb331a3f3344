//! SuperEdge's application-grid-wrapper: what was observed of the program, and the ordered keys that it does not have.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{read, slice};
use crate::{
    model::{EndpointSlice, Endpoints, Nodes, Service, Text},
    view::{GridView, KeyOrder, PrunedView, Viewpoint},
};

/// Five endpoints: on the nodes a, b and c, on a node that is gone, and on none. a and b are in one zone.
const ENDPOINTS: &str = "1 on=a; 2 on=b; 3 on=c; 4 on=gone; 5";

fn nodes() -> Nodes {
    let node = |name: &str, zone: &str, rack: &str| json!({ "metadata": { "name": name, "labels": { "zone": zone, "rack": rack } } });
    read(json!([node("a", "1", "x"), node("b", "1", "y"), node("c", "2", "x"), { "metadata": { "name": "bare" } }]))
}

/// What is left of the Endpoints and of the slice of a Service, and the reasons.
fn pruned(
    node: &str,
    keys: Option<&str>,
    health: Option<&[(&str, bool)]>,
    order: KeyOrder,
    endpoints: &str,
) -> (String, String) {
    let nodes = nodes();
    let health: Option<BTreeMap<Text, bool>> = health.map(|h| h.iter().map(|(n, ok)| ((*n).into(), *ok)).collect());
    let at = Viewpoint { name: node, node: nodes.get(&node.into()) };
    let grid = GridView { at, nodes: &nodes, substitutes_api_server: false, health: health.as_ref(), order };
    let mut service = json!({ "metadata": { "namespace": "ns", "name": "web" } });
    if let Some(keys) = keys {
        service["metadata"]["annotations"] = json!({ "topologyKeys": keys });
    }
    let services: Vec<Service> = if keys == Some("no Service") { Vec::new() } else { vec![read(service)] };
    let slice = slice("another-name", endpoints);
    let addresses = |ready: bool| -> Vec<Value> {
        let endpoints = slice["endpoints"].as_array().unwrap().iter().filter(|e| e["conditions"]["ready"] == ready);
        endpoints.map(|e| json!({ "ip": e["addresses"][0], "nodeName": e["nodeName"] })).collect()
    };
    let whole = json!({
        "metadata": { "namespace": "ns", "name": "web" },
        "subsets": [{ "addresses": addresses(true), "notReadyAddresses": addresses(false) }],
    });
    let view = PrunedView::of_grid(&grid, &services, &[read(whole)], &[read(slice)]);
    let last = |ip: &str| ip.rsplit('.').next().unwrap().to_owned();
    let subset = &view.endpoints[0].subsets[0];
    let of_endpoints = subset.addresses.iter().chain(&subset.not_ready_addresses).map(|a| last(&a.ip));
    let of_slice = view.endpoint_slices[0].endpoints.iter().map(|e| last(&e.addresses[0]));
    let [of_endpoints, of_slice] = [sorted(of_endpoints), sorted(of_slice)];
    assert_eq!(of_endpoints, of_slice, "one rule for both kinds");
    let reasons = view.reasons.iter().filter(|f| f.object.kind == "EndpointSlice").map(|f| f.code.code());
    (of_slice.join(" "), reasons.collect::<Vec<_>>().join(" "))
}

fn sorted(octets: impl Iterator<Item = String>) -> Vec<String> {
    let mut octets: Vec<String> = octets.collect();
    octets.sort();
    octets
}

#[test]
fn a15_t3_topology_keys_are_read_as_the_wrapper_reads_them() {
    const GONE: &str = "endpoint-node-unknown endpoint-without-node";
    let keys = |first: usize, count: usize| {
        let others = (0..count).map(|n| format!("key-{}", n % first));
        json!(others.chain(["zone".to_owned()]).collect::<Vec<_>>()).to_string()
    };
    let (repeated, many) = (keys(15, 40), keys(16, 16));
    let missing = many.replace(r#""zone"]"#, r#""zone-of-no-node"]"#).replace("key-0", "zone");
    for (node, keys, left, reasons) in [
        ("a", None, "1 2 3 4 5", ""),
        ("a", Some("[]"), "1 2 3 4 5", ""),
        ("a", Some("null"), "1 2 3 4 5", ""),
        ("a", Some(r#"["zone"]"#), "1 2", "topology-label-differs endpoint-node-unknown endpoint-without-node"),
        (
            "c",
            Some(r#"["zone"]"#),
            "3",
            "topology-label-differs topology-label-differs endpoint-node-unknown endpoint-without-node",
        ),
        // Any of the keys, in any order.
        ("a", Some(r#"["zone","rack"]"#), "1 2 3", GONE),
        (
            "a",
            Some(r#"["missing","zone"]"#),
            "1 2",
            "topology-label-differs endpoint-node-unknown endpoint-without-node",
        ),
        ("a", Some(r#"["zone","*"]"#), "1 2", "topology-label-differs endpoint-node-unknown endpoint-without-node"),
        (
            "a",
            Some(r#"["*"]"#),
            "",
            "topology-label-differs topology-label-differs topology-label-differs endpoint-node-unknown endpoint-without-node",
        ),
        (
            "a",
            Some(r#"[""]"#),
            "",
            "topology-label-differs topology-label-differs topology-label-differs endpoint-node-unknown endpoint-without-node",
        ),
        // A key counts once, and at most 16 of them.
        ("a", Some(&repeated), "1 2", "topology-label-differs endpoint-node-unknown endpoint-without-node"),
        (
            "a",
            Some(&many),
            "",
            "topology-keys-cut topology-label-differs topology-label-differs topology-label-differs endpoint-node-unknown endpoint-without-node",
        ),
        // The node has no label of the key that does not count.
        ("a", Some(&missing), "1 2", "topology-label-differs endpoint-node-unknown endpoint-without-node"),
        // The node is not known, or has no labels.
        (
            "gone",
            Some(r#"["zone"]"#),
            "",
            "topology-node-missing topology-node-missing topology-node-missing topology-node-missing topology-node-missing",
        ),
        (
            "bare",
            Some(r#"["zone"]"#),
            "",
            "topology-label-differs topology-label-differs topology-label-differs endpoint-node-unknown endpoint-without-node",
        ),
        // Malformed keys do not confine traffic.
        ("a", Some("zone"), "1 2 3 4 5", "topology-keys-malformed"),
        ("a", Some(r#""zone""#), "1 2 3 4 5", "topology-keys-malformed"),
        ("a", Some("[1]"), "1 2 3 4 5", "topology-keys-malformed"),
        ("a", Some(r#"["region",1]"#), "1 2 3 4 5", "topology-keys-malformed"),
        ("a", Some("no Service"), "1 2 3 4 5", "service-unknown"),
    ] {
        let got = pruned(node, keys, None, KeyOrder::AnyKey, ENDPOINTS);
        assert_eq!(got, (left.to_owned(), reasons.to_owned()), "{node} {keys:?}");
    }
}

#[test]
fn a15_t9_health_counts_where_it_is_known() {
    let zone = Some(r#"["zone"]"#);
    for (keys, health, left) in [
        (None, None, "1 2 3 4 5"),
        (None, Some(&[][..]), "1 2 3"),
        (None, Some(&[("a", true), ("b", false)][..]), "1 3"),
        (zone, Some(&[("a", true), ("b", false)][..]), "1"),
        (zone, Some(&[("a", false), ("b", false)][..]), ""),
        (Some("no Service"), Some(&[("a", false)][..]), "1 2 3 4 5"),
    ] {
        assert_eq!(pruned("a", keys, health, KeyOrder::AnyKey, ENDPOINTS).0, left, "{keys:?} {health:?}");
    }
}

#[test]
fn a15_t2_ordered_keys_choose_one_and_leave_no_node_without_endpoints() {
    let bad_a = Some(&[("a", false), ("b", false)][..]);
    for (node, keys, health, endpoints, left) in [
        ("a", r#"["rack","zone"]"#, None, ENDPOINTS, "1 3"),
        ("a", r#"["zone","rack"]"#, None, ENDPOINTS, "1 2"),
        // The first key has no ready endpoint.
        ("a", r#"["zone","rack"]"#, None, "2 on=b unready; 3 on=c", "3"),
        ("a", r#"["missing","zone"]"#, None, ENDPOINTS, "1 2"),
        ("c", r#"["zone","*"]"#, None, "1 on=a; 2 on=b", "1 2"),
        ("c", r#"["*","zone"]"#, None, ENDPOINTS, "1 2 3 4 5"),
        // Nothing fits: all, instead of none.
        ("c", r#"["zone"]"#, None, "1 on=a; 2 on=b", "1 2"),
        ("gone", r#"["zone"]"#, None, ENDPOINTS, "1 2 3 4 5"),
        ("bare", r#"["zone"]"#, None, ENDPOINTS, "1 2 3 4 5"),
        // Unhealthy nodes count as if they had no endpoints, unless all are unhealthy.
        ("a", r#"["zone","rack"]"#, bad_a, ENDPOINTS, "3"),
        ("a", r#"["zone"]"#, bad_a, "1 on=a; 2 on=b", "1 2"),
    ] {
        let got = pruned(node, Some(keys), health, KeyOrder::Ordered, endpoints).0;
        assert_eq!(got, left, "{node} {keys} {health:?}: {endpoints}");
    }
}

#[test]
fn ordered_keys_that_do_not_count_never_open_the_fence() {
    const CLOSED: &str = "topology-keys-cut topology-label-differs topology-label-differs topology-label-differs \
                          endpoint-node-unknown endpoint-without-node";
    const ZONE: &str = "topology-label-differs endpoint-node-unknown endpoint-without-node";
    let sixteen: Vec<String> = (0..16).map(|n| format!("key-{n}")).collect();
    let with = |before: &[&str], after: &[&str]| {
        let of = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>();
        json!([of(before), sixteen.clone(), of(after)].concat()).to_string()
    };
    for (node, keys, left, reasons) in [
        ("a", with(&[], &["zone"]), "", CLOSED),
        ("a", with(&[], &["*"]), "", CLOSED),
        ("bare", with(&[], &["zone"]), "", CLOSED),
        // A key decides before, or `*` does.
        ("a", with(&["zone"], &["rack"]), "1 2", ZONE),
        ("a", with(&["*"], &["zone"]), "1 2 3 4 5", "topology-fallback"),
        ("a", with(&[], &[]), "1 2 3 4 5", "topology-fallback"),
    ] {
        let got = pruned(node, Some(&keys), None, KeyOrder::Ordered, ENDPOINTS);
        assert_eq!(got, (left.to_owned(), reasons.to_owned()), "{node} {keys}");
    }
}

#[test]
fn a15_t12_the_api_server_is_replaced_by_valid_annotations_only() {
    let nodes = nodes();
    for (address, port, want) in [
        ("127.0.0.1", "51003", "127.0.0.1:51003"),
        ("169.254.20.11", "51003", "169.254.20.11:51003"),
        ("::1", "51003", "::1:51003"),
        ("127.0.0.1", "0", "127.0.0.1:0"),
        ("127.0.0.1", "-1", "127.0.0.1:-1"),
        ("127.0.0.1", "70000", "127.0.0.1:70000"),
        ("127.0.0.1", "+51003", "127.0.0.1:51003"),
        ("bad", "51003", "10.0.0.1:6443"),
        ("", "51003", "10.0.0.1:6443"),
        ("010.0.0.1", "51003", "10.0.0.1:6443"),
        ("127.0.0.1", "x", "10.0.0.1:6443"),
        ("127.0.0.1", "", "10.0.0.1:6443"),
        ("127.0.0.1", " 51003", "10.0.0.1:6443"),
        ("127.0.0.1", "2147483648", "10.0.0.1:6443"),
    ] {
        let meta = json!({
            "namespace": "default", "name": "kubernetes", "labels": { "kubernetes.io/service-name": "kubernetes" },
            "annotations": { "superedge.io/local-endpoint": address, "superedge.io/local-port": port },
        });
        let endpoints: Endpoints = read(json!({
            "metadata": meta, "subsets": [{ "addresses": [{ "ip": "10.0.0.1" }], "ports": [{ "name": "https", "port": 6443 }] }],
        }));
        let slice: EndpointSlice = read(json!({
            "metadata": meta, "addressType": "IPv4", "endpoints": [{ "addresses": ["10.0.0.1"] }],
            "ports": [{ "name": "https", "port": 6443 }],
        }));
        let at = Viewpoint { name: "a", node: nodes.get(&"a".into()) };
        let grid = GridView { at, nodes: &nodes, substitutes_api_server: true, health: None, order: KeyOrder::AnyKey };
        let view = PrunedView::of_grid(&grid, &[], &[endpoints], &[slice]);
        let subset = &view.endpoints[0].subsets[0];
        assert_eq!(format!("{}:{}", subset.addresses[0].ip, subset.ports[0].port), want, "{address} {port}");
        let slice = &view.endpoint_slices[0];
        let number = slice.ports.as_ref().unwrap()[0].port.unwrap();
        assert_eq!(format!("{}:{number}", slice.endpoints[0].addresses[0]), want, "{address} {port}");
    }
}
