//! Views of all nodes at once: they agree with those taken node by node.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::read;
use crate::{
    model::{EndpointSlice, Node, NodePool, Nodes, Service},
    view::{
        KeyOrder, NodeMatrix, PortUse, Scheme, ServiceUse, ServiceView, ViewChanges, ViewedCluster, ViewedPort,
        ViewedService, Viewpoint, node_groups::NodeGroups,
    },
};

/// Objects of a small cluster.
#[derive(Clone, Debug)]
struct Objects {
    nodes: Nodes,
    services: Vec<Service>,
    slices: Vec<Vec<EndpointSlice>>,
    pools: Vec<NodePool>,
}

impl Objects {
    fn cluster<'a>(&'a self, scheme: Scheme<'a>) -> ViewedCluster<'a> {
        let services = self.services.iter().zip(&self.slices);
        let services = services.map(|(service, slices)| ViewedService { service, slices: slices.iter().collect() });
        ViewedCluster { scheme, family: None, nodes: &self.nodes, services: services.collect() }
    }
}

/// A node with some of the labels that views read.
fn node(place: usize) -> impl Strategy<Value = Value> {
    let label = |key: &'static str| prop_oneof![Just(None), (0..3_u8).prop_map(move |n| Some((key, format!("v{n}"))))];
    let keys = ("topology.kubernetes.io/zone", "site", "apps.openyurt.io/nodepool", "kubernetes.io/hostname");
    (label(keys.0), label(keys.1), label(keys.2), label(keys.3)).prop_map(move |(a, b, c, d)| {
        let labels: BTreeMap<_, _> = [a, b, c, d].into_iter().flatten().collect();
        json!({ "metadata": { "name": format!("n{place}"), "labels": labels } })
    })
}

fn endpoint() -> impl Strategy<Value = Value> {
    let name = |letter: &'static str| (0..7_u8).prop_map(move |n| format!("{letter}{n}"));
    let names = |letter| prop::collection::vec(name(letter).prop_map(|name| json!({ "name": name })), 0..2);
    let truth = prop_oneof![3 => Just(Some(true)), 1 => Just(Some(false)), 1 => Just(None)];
    let conditions = (truth.clone(), truth.clone(), prop_oneof![4 => Just(None), 1 => Just(Some(true))]);
    (0..9_u8, prop::option::of(name("n")), names("v"), names("n"), any::<bool>(), conditions).prop_map(
        |(octet, node, zones, nodes, hinted, (ready, serving, terminating))| {
            let hints = hinted.then(|| json!({ "forZones": zones, "forNodes": nodes }));
            let conditions = json!({ "ready": ready, "serving": serving, "terminating": terminating });
            let address = format!("10.0.0.{octet}");
            json!({ "addresses": [address], "nodeName": node, "hints": hints, "conditions": conditions })
        },
    )
}

/// A Service and its slices.
fn service(place: usize) -> impl Strategy<Value = (Value, Vec<Value>)> {
    let policy = || prop_oneof![Just("Cluster"), Just("Local")];
    let annotations = prop::sample::select(vec![
        json!({}),
        json!({ "topologyKeys": r#"["site"]"# }),
        json!({ "topologyKeys": r#"["kubernetes.io/hostname","topology.kubernetes.io/zone"]"# }),
        json!({ "topologyKeys": r#"["*"]"# }),
        json!({ "topologyKeys": "site" }),
        json!({ "openyurt.io/topologyKeys": "kubernetes.io/hostname" }),
        json!({ "openyurt.io/topologyKeys": "openyurt.io/nodepool" }),
        json!({ "nodeport.openyurt.io/listen": "v1,-v2" }),
    ]);
    let endpoints = prop::collection::vec(prop::collection::vec(endpoint(), 0..5), 0..3);
    (policy(), policy(), any::<bool>(), annotations, endpoints).prop_map(
        move |(internal, external, node_port, annotations, endpoints)| {
            let name = format!("s{place}");
            let service = json!({
                "metadata": { "namespace": "ns", "name": name, "annotations": annotations },
                "spec": {
                    "type": if node_port { "NodePort" } else { "ClusterIP" },
                    "clusterIP": "10.96.0.1", "clusterIPs": ["10.96.0.1"], "ipFamilies": ["IPv4"],
                    "internalTrafficPolicy": internal, "externalTrafficPolicy": external,
                    "ports": [{ "name": "http", "port": 80, "nodePort": if node_port { 30080 } else { 0 } }],
                },
            });
            let slice = |(number, endpoints): (usize, Vec<Value>)| {
                json!({
                    "metadata": {
                        "namespace": "ns", "name": format!("{name}-{number}"),
                        "labels": { "kubernetes.io/service-name": name },
                    },
                    "addressType": "IPv4",
                    "ports": [{ "name": "http", "protocol": "TCP", "port": 8080 }],
                    "endpoints": endpoints,
                })
            };
            (service, endpoints.into_iter().enumerate().map(slice).collect())
        },
    )
}

fn objects() -> impl Strategy<Value = Objects> {
    let nodes: Vec<_> = (0..6).map(node).collect();
    let services: Vec<_> = (0..3).map(service).collect();
    (nodes, services).prop_map(|(nodes, services)| {
        let pool =
            |name: &str, nodes: Value| read(json!({ "metadata": { "name": name }, "status": { "nodes": nodes } }));
        let (services, slices): (Vec<_>, Vec<_>) = services.into_iter().unzip();
        Objects {
            nodes: nodes.into_iter().map(read::<Node>).collect(),
            services: services.into_iter().map(read).collect(),
            slices: slices.into_iter().map(|slices: Vec<Value>| slices.into_iter().map(read).collect()).collect(),
            pools: vec![pool("v0", json!(["n0", "n1"])), pool("v1", json!(["n2"]))],
        }
    })
}

fn schemes(pools: &[NodePool]) -> [Scheme<'_>; 4] {
    let grid = |order| Scheme::SuperEdge { substitutes_api_server: false, health: None, order };
    [
        Scheme::KubeProxy,
        grid(KeyOrder::AnyKey),
        grid(KeyOrder::Ordered),
        Scheme::OpenYurt { pools, pool_topology: true },
    ]
}

/// What a node uses of each port of a Service, viewed on its own.
fn uses(cluster: &ViewedCluster<'_>, service: usize, node: &Node) -> Vec<(ViewedPort, PortUse)> {
    let at = Viewpoint { name: &node.name, node: Some(node) };
    cluster.view(&cluster.services[service], at, |view, _| PortUse::of_view(view).into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_matrix_has_the_views_of_all_nodes(objects in objects()) {
        for scheme in schemes(&objects.pools) {
            let cluster = objects.cluster(scheme);
            let matrix = NodeMatrix::of(&cluster).unwrap();
            prop_assert_eq!(matrix.nodes(), objects.nodes.iter().count());
            let mut seen = BTreeSet::new();
            for row in &matrix.rows {
                for node in &row.nodes {
                    for (place, service) in matrix.services().enumerate() {
                        let of = cluster.services.iter().find(|of| of.service.meta.name == service.meta.name).unwrap();
                        let at = Viewpoint { name: &node.name, node: Some(node) };
                        let want = cluster.view(of, at, |view, _| view.worst_use());
                        prop_assert_eq!(matrix.cell(row, place).uses, want, "{:?} {} {}", scheme, node.name, service.meta.name);
                    }
                }
                // The same endpoints, and the same numbers of those that there are.
                let of = |node: &Node| {
                    let at = Viewpoint { name: &node.name, node: Some(node) };
                    let uses = |view: &ServiceView<'_>| (PortUse::of_view(view), view.worst_use());
                    let views = cluster.services.iter().map(|of| cluster.view(of, at, |view, _| uses(view)));
                    views.collect::<Vec<_>>()
                };
                let same = of(row.nodes[0]);
                prop_assert!(row.nodes.iter().all(|node| of(node) == same), "{scheme:?}");
                prop_assert!(seen.insert(same), "{:?} {}", scheme, row.nodes[0].name);
                let empty = matrix.cells(row).filter(|cell| cell.uses.is_some_and(ServiceUse::is_empty)).count();
                prop_assert_eq!(row.empty, empty);
            }
            let empty: usize = matrix.rows.iter().map(|row| row.empty * row.nodes.len()).sum();
            prop_assert_eq!(matrix.empty(), empty);
        }
    }

    #[test]
    fn changes_are_those_of_all_nodes(before in objects(), after in objects()) {
        for (old, new) in schemes(&before.pools).into_iter().zip(schemes(&after.pools)) {
            let (old, new) = (before.cluster(old), after.cluster(new));
            let changes = ViewChanges::between(&old, &new).unwrap();
            let mut found = BTreeMap::new();
            for change in &changes.changes {
                for node in &change.nodes {
                    let key = (change.service.meta.name.clone(), change.port.clone(), node.name.clone());
                    let known = found.insert(key, (change.before.clone(), change.after.clone()));
                    prop_assert!(known.is_none());
                }
            }
            let mut want = BTreeMap::new();
            for (place, of) in old.services.iter().enumerate() {
                for node in before.nodes.iter() {
                    let later = after.nodes.get(&node.name).unwrap();
                    let was: BTreeMap<_, _> = uses(&old, place, node).into_iter().collect();
                    let is: BTreeMap<_, _> = uses(&new, place, later).into_iter().collect();
                    for port in was.keys().chain(is.keys()) {
                        if was.get(port) != is.get(port) {
                            let key = (of.service.meta.name.clone(), port.clone(), node.name.clone());
                            want.insert(key, (was.get(port).cloned(), is.get(port).cloned()));
                        }
                    }
                }
            }
            prop_assert_eq!(found, want);
        }
    }
}

#[test]
fn nodes_without_an_endpoint_of_a_service_are_viewed_once() {
    let node = |n: usize| json!({ "metadata": { "name": format!("n{n}"), "labels": { "kubernetes.io/hostname": format!("n{n}") } } });
    let endpoint = |n: usize| json!({ "addresses": [format!("10.0.0.{n}")], "nodeName": format!("n{n}") });
    let service = json!({ "metadata": { "namespace": "ns", "name": "web", "annotations": {
        "openyurt.io/topologyKeys": "kubernetes.io/hostname", "topologyKeys": r#"["kubernetes.io/hostname"]"# } },
        "spec": { "type": "ClusterIP", "clusterIP": "10.96.0.1", "clusterIPs": ["10.96.0.1"], "ipFamilies": ["IPv4"],
            "ports": [{ "name": "http", "port": 80 }] } });
    let slice = json!({ "metadata": { "namespace": "ns", "name": "web-1", "labels": { "kubernetes.io/service-name": "web" } },
        "addressType": "IPv4", "ports": [{ "name": "http", "protocol": "TCP", "port": 8080 }],
        "endpoints": (0..3).map(endpoint).collect::<Vec<_>>() });
    let objects = Objects {
        nodes: (0..5000).map(|n| read::<Node>(node(n))).collect(),
        services: vec![read(service)],
        slices: vec![vec![read(slice)]],
        pools: Vec::new(),
    };
    for (scheme, want) in schemes(&objects.pools).into_iter().zip([1, 4, 4, 4]) {
        let cluster = objects.cluster(scheme);
        let reads = cluster.reads();
        let classes = NodeGroups::of(cluster.nodes, &reads).classes(&reads[0]);
        assert_eq!(classes.examples.len(), want, "{scheme:?}");
        assert_eq!(NodeMatrix::of(&cluster).unwrap().nodes(), 5000, "{scheme:?}");
    }
}
