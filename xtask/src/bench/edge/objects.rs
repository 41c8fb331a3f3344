//! A large cluster as an API server lists it: every Service has topology keys.

use std::fmt::Write as _;

use crate::bench::api_server::ListedObjects;

pub(super) const NODES: usize = 5_000;
pub(super) const SERVICES: usize = 10_000;
/// Endpoints of each Service, in one slice.
const ENDPOINTS: usize = 15;
/// Sites, which the topology keys name.
const REGIONS: usize = 50;
/// The node of the proxy.
pub(super) const OWN: usize = 0;
/// A node of the same site, which leaves it and comes back.
pub(super) const MOVING: usize = REGIONS;

/// The slices with an endpoint on one node.
pub(super) const SLICES_OF_NODE: usize = SERVICES * ENDPOINTS / NODES;

pub(super) fn node_name(node: usize) -> String {
    format!("node-{node:04}")
}

/// A node of a site. Its text is about as long as that of a real one with a few images.
pub(super) fn node(node: usize, region: usize) -> String {
    let name = node_name(node);
    let images: Vec<String> = (0..20)
        .map(|i| {
            let names = format!(r#""registry.example.com/team-{i}/image@sha256:{:064x}""#, node * 31 + i);
            format!(r#"{{"names":[{names}],"sizeBytes":{}}}"#, 10_000_000 + i)
        })
        .collect();
    format!(
        concat!(
            r#"{{"kind":"Node","apiVersion":"v1","metadata":{{"name":"{name}","uid":"{uid:032x}","resourceVersion":"1","#,
            r#""labels":{{"kubernetes.io/hostname":"{name}","kubernetes.io/os":"linux","region":"r{region}"}}}},"#,
            r#""spec":{{"podCIDR":"10.0.0.0/24"}},"status":{{"conditions":[{{"type":"Ready","status":"True"}}],"images":[{images}]}}}}"#
        ),
        name = name,
        uid = node,
        region = region,
        images = images.join(","),
    )
}

fn service(service: usize) -> String {
    format!(
        concat!(
            r#"{{"metadata":{{"name":"service-{n}","namespace":"ns-{ns}","uid":"{n:032x}","resourceVersion":"1","#,
            r#""creationTimestamp":"2026-01-01T00:00:00Z","annotations":{{"topologyKeys":"[\"region\"]"}}}},"#,
            r#""spec":{{"clusterIP":"10.96.{high}.{low}","clusterIPs":["10.96.{high}.{low}"],"type":"ClusterIP","#,
            r#""sessionAffinity":"None","ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack","internalTrafficPolicy":"Cluster","#,
            r#""selector":{{"app":"app-{n}"}},"ports":[{{"name":"http","port":80,"targetPort":8080,"protocol":"TCP"}}]}},"#,
            r#""status":{{"loadBalancer":{{}}}}}}"#
        ),
        n = service,
        ns = service % 100,
        high = service / 250,
        low = service % 250 + 1,
    )
}

/// The slice of a Service. Its endpoints are on as many nodes, and each node has as many.
fn slice(service: usize) -> String {
    let mut endpoints = String::new();
    for i in 0..ENDPOINTS {
        let pod = service * ENDPOINTS + i;
        let (node, comma) = (node_name(pod % NODES), if i > 0 { "," } else { "" });
        // Writing to a string does not fail.
        let _ = write!(
            endpoints,
            concat!(
                r#"{comma}{{"addresses":["10.{a}.{b}.{c}"],"conditions":{{"ready":true,"serving":true,"terminating":false}},"#,
                r#""nodeName":"{node}","targetRef":{{"kind":"Pod","name":"app-{service}-{i}","namespace":"ns-{ns}","uid":"{pod:032x}"}},"zone":"z{zone}"}}"#
            ),
            comma = comma,
            a = pod / 62_500,
            b = pod / 250 % 250,
            c = pod % 250 + 1,
            node = node,
            service = service,
            i = i,
            ns = service % 100,
            pod = pod,
            zone = pod % 3,
        );
    }
    format!(
        concat!(
            r#"{{"metadata":{{"name":"service-{n}-abcde","namespace":"ns-{ns}","uid":"{n:032x}","resourceVersion":"1","generation":1,"#,
            r#""labels":{{"kubernetes.io/service-name":"service-{n}","endpointslice.kubernetes.io/managed-by":"endpointslice-controller.k8s.io"}}}},"#,
            r#""addressType":"IPv4","endpoints":[{endpoints}],"ports":[{{"name":"http","port":8080,"protocol":"TCP"}}]}}"#
        ),
        n = service,
        ns = service % 100,
        endpoints = endpoints,
    )
}

/// Whether a Service has an endpoint in one of these sites.
pub(super) fn touches(service: usize, regions: [usize; 2]) -> bool {
    (0..ENDPOINTS).any(|i| regions.contains(&((service * ENDPOINTS + i) % NODES % REGIONS)))
}

/// All objects.
pub(super) fn all() -> ListedObjects {
    let mut objects = ListedObjects::default();
    for n in 0..NODES {
        objects.push("nodes", &node(n, n % REGIONS));
    }
    for n in 0..SERVICES {
        objects.push("services", &service(n));
        objects.push("endpointslices", &slice(n));
    }
    for n in 0..100 {
        objects.push("namespaces", &format!(r#"{{"metadata":{{"name":"ns-{n}","resourceVersion":"1"}}}}"#));
    }
    objects
}
