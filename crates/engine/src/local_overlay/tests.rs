//! Stored slices and Endpoints, the pods of node `n1`, and what is served instead.

use serde_json::{Value, json};

use super::*;
use crate::model::builders;

/// The Service `ns/web`, for TCP port 8080 of its pods.
fn service() -> Service {
    let web = builders::service("web").selector(json!({"app": "web"})).port("http", 80, 8080);
    serde_json::from_value(json!(web)).unwrap()
}

/// A ready pod of node `n1`.
fn pod(name: &str, ip: &str) -> builders::PodBuilder {
    builders::pod(name).labels(json!({"app": "web"})).node("n1").ip(ip).ready()
}

/// A stored endpoint of the pod `name`.
fn endpoint(name: &str, ip: &str, node: &str, ready: bool) -> Value {
    json!({
        "addresses": [ip], "nodeName": node, "zone": format!("zone-of-{node}"),
        "conditions": {"ready": ready, "serving": ready, "terminating": false},
        "targetRef": {"kind": "Pod", "namespace": "ns", "name": name, "uid": name},
    })
}

fn hinted(mut endpoint: Value, zone: &str) -> Value {
    endpoint["hints"] = json!({"forZones": [{"name": zone}]});
    endpoint
}

fn slice(name: &str, manager: &str, endpoints: &[Value]) -> EndpointSlice {
    let labels = json!({
        "kubernetes.io/service-name": "web", "endpointslice.kubernetes.io/managed-by": manager,
    });
    let ports = json!([{"name": "http", "port": 8080, "protocol": "TCP"}]);
    let owner = json!({"apiVersion": "v1", "kind": "Service", "name": "web", "uid": "web", "controller": true});
    let meta = json!({
        "name": name, "namespace": "ns", "labels": labels, "generateName": "web-", "ownerReferences": [owner],
    });
    let slice = json!({"metadata": meta, "addressType": "IPv4", "endpoints": endpoints, "ports": ports});
    serde_json::from_value(slice).unwrap()
}

const CONTROLLER: &str = "endpointslice-controller.k8s.io";

/// What is served of these slices: `slice: address ready|unready [hint]`, an added one by its `generateName`.
fn served(service: &Service, slices: &[EndpointSlice], pods: &[builders::PodBuilder]) -> Vec<String> {
    with_local(pods, |local| {
        let stored: Vec<&EndpointSlice> = slices.iter().collect();
        let overlay = overlay_slices(service, &stored, local);
        let mut all: Vec<EndpointSlice> = slices.to_vec();
        for (index, endpoints) in &overlay.changed {
            let endpoint = |e: &OverlaidEndpoint| match e {
                OverlaidEndpoint::Stored(i) => slices[*index].endpoints[*i].clone(),
                OverlaidEndpoint::Decided(e) => (**e).clone(),
            };
            all[*index].endpoints = endpoints.iter().map(endpoint).collect();
        }
        all.extend(overlay.added.iter().cloned());
        let line = |slice: &EndpointSlice, e: &Endpoint| {
            let name = if slice.meta.name.is_empty() { "new" } else { &slice.meta.name };
            let ready = if e.ready() { "ready" } else { "unready" };
            let zones = e.hints.iter().flat_map(|h| &h.for_zones).map(|z| z.name.as_str());
            [format!("{name}: {} {ready}", e.addresses[0]).as_str()]
                .into_iter()
                .chain(zones)
                .collect::<Vec<_>>()
                .join(" ")
        };
        all.iter().flat_map(|slice| slice.endpoints.iter().map(move |e| line(slice, e))).collect()
    })
}

fn with_local<T>(pods: &[builders::PodBuilder], f: impl FnOnce(&LocalPods<'_>) -> T) -> T {
    let node = Text::new_static("n1");
    let nodes: Nodes = serde_json::from_value(json!([builders::node("n1").zone("zone-of-n1")])).unwrap();
    let pods: Vec<Pod> = pods.iter().map(|p| serde_json::from_value(json!(p)).unwrap()).collect();
    let pods: Vec<&Pod> = pods.iter().collect();
    f(&LocalPods { node: &node, nodes: &nodes, pods: &pods })
}

/// What is stored, the pods of the node, and what is served.
type Row = (&'static str, Vec<EndpointSlice>, Vec<builders::PodBuilder>, &'static [&'static str]);

#[test]
fn endpoints_of_the_node_follow_its_pods() {
    let (here, there) = (endpoint("a", "10.0.0.1", "n1", true), endpoint("b", "10.0.1.1", "n2", true));
    let mixed = || slice("web-1", CONTROLLER, &[here.clone(), there.clone()]);
    let none: &[builders::PodBuilder] = &[];
    let rows: Vec<Row> = vec![
        ("as stored", vec![mixed()], vec![pod("a", "10.0.0.1")], &["web-1: 10.0.0.1 ready", "web-1: 10.0.1.1 ready"]),
        (
            "another address",
            vec![mixed()],
            vec![pod("a", "10.0.0.9")],
            &["web-1: 10.0.1.1 ready", "web-1: 10.0.0.9 ready"],
        ),
        (
            "unready",
            vec![mixed()],
            vec![pod("a", "10.0.0.1").not_ready()],
            &["web-1: 10.0.1.1 ready", "web-1: 10.0.0.1 unready"],
        ),
        ("gone", vec![mixed()], none.to_vec(), &["web-1: 10.0.1.1 ready"]),
        (
            "one more",
            vec![mixed()],
            vec![pod("a", "10.0.0.1"), pod("c", "10.0.0.3")],
            &["web-1: 10.0.0.1 ready", "web-1: 10.0.1.1 ready", "web-1: 10.0.0.3 ready"],
        ),
        ("nothing was stored", vec![], vec![pod("a", "10.0.0.1")], &["new: 10.0.0.1 ready"]),
        (
            "a pod of another Service",
            vec![mixed()],
            vec![pod("a", "10.0.0.1"), pod("x", "10.0.0.7").labels(json!({"app": "db"}))],
            &["web-1: 10.0.0.1 ready", "web-1: 10.0.1.1 ready"],
        ),
        (
            "a slice of another program",
            vec![slice("mine", "me", std::slice::from_ref(&here))],
            none.to_vec(),
            &["mine: 10.0.0.1 ready"],
        ),
        (
            "an endpoint without a node",
            vec![slice("web-1", CONTROLLER, &[json!({"addresses": ["10.0.2.2"]})])],
            none.to_vec(),
            &["web-1: 10.0.2.2 ready"],
        ),
        (
            "hints: a new endpoint has one if all have",
            vec![slice("web-1", CONTROLLER, &[hinted(here.clone(), "z1"), hinted(there.clone(), "z2")])],
            vec![pod("a", "10.0.0.1"), pod("c", "10.0.0.3")],
            &["web-1: 10.0.0.1 ready z1", "web-1: 10.0.1.1 ready z2", "web-1: 10.0.0.3 ready zone-of-n1"],
        ),
        (
            "hints: not if one has none",
            vec![slice("web-1", CONTROLLER, &[hinted(here.clone(), "z1"), there.clone()])],
            vec![pod("a", "10.0.0.9")],
            &["web-1: 10.0.1.1 ready", "web-1: 10.0.0.9 ready"],
        ),
    ];
    for (name, slices, pods, expected) in rows {
        assert_eq!(served(&service(), &slices, &pods), expected, "{name}");
    }
}

#[test]
fn a_service_without_a_selector_stays_as_it_is() {
    let mut service = service();
    service.selector = None;
    let slices = [slice("web-1", CONTROLLER, &[endpoint("a", "10.0.0.1", "n1", true)])];
    assert_eq!(served(&service, &slices, &[]), ["web-1: 10.0.0.1 ready"]);
}

#[test]
fn what_agrees_is_not_an_overlay() {
    let slices = [slice("web-1", CONTROLLER, &[endpoint("a", "10.0.0.1", "n1", true)])];
    let overlay = |pods: &[builders::PodBuilder]| {
        with_local(pods, |local| overlay_slices(&service(), &slices.each_ref(), local).is_empty())
    };
    assert!(overlay(&[pod("a", "10.0.0.1")]));
    assert!(!overlay(&[pod("a", "10.0.0.2")]));
}

#[test]
fn addresses_of_endpoints_follow_the_pods_of_the_node() {
    let address = |name: &str, ip: &str, node: &str| json!({"ip": ip, "nodeName": node, "targetRef": {"kind": "Pod", "namespace": "ns", "name": name, "uid": name}});
    let stored: Endpoints = serde_json::from_value(json!({
        "metadata": {"name": "web", "namespace": "ns", "labels": {"keep": "me"}},
        "subsets": [{
            "addresses": [address("a", "10.0.0.1", "n1"), address("b", "10.0.1.1", "n2")],
            "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
        }],
    }))
    .unwrap();
    let served = |pods: &[builders::PodBuilder]| {
        let after = with_local(pods, |local| overlay_endpoints(&service(), &stored, local))?;
        assert_eq!(after.meta, stored.meta);
        let subset = |s: &EndpointSubset| {
            let ips = |list: &[EndpointAddress]| list.iter().map(|a| a.ip.to_string()).collect::<Vec<_>>().join(" ");
            format!("{} | {} | {}", ips(&s.addresses), ips(&s.not_ready_addresses), s.ports[0].port)
        };
        Some(after.subsets.iter().map(subset).collect::<Vec<_>>())
    };
    assert_eq!(served(&[pod("a", "10.0.0.1")]), None);
    assert_eq!(served(&[pod("a", "10.0.0.9")]), Some(vec!["10.0.0.9 10.0.1.1 |  | 8080".to_owned()]));
    assert_eq!(served(&[pod("a", "10.0.0.1").not_ready()]), Some(vec!["10.0.1.1 | 10.0.0.1 | 8080".to_owned()]));
    assert_eq!(served(&[]), Some(vec!["10.0.1.1 |  | 8080".to_owned()]));
}
