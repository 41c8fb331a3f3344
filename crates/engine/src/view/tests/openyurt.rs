//! OpenYurt's yurthub: the rows of its own tests, in facts.

use serde_json::json;

use super::{read, slice};
use crate::{
    model::{Node, NodePool, Service},
    reason::Reason,
    view::{PrunedView, Viewpoint, YurtView},
};

const ENDPOINTS: &str = "2 on=node1; 3 on=node2; 4 on=node1; 5 on=node3";

fn pools() -> Vec<NodePool> {
    let pool =
        |name: &str, nodes: &[&str]| NodePool { name: name.into(), nodes: nodes.iter().map(|n| (*n).into()).collect() };
    vec![pool("hangzhou", &["node1", "node3"]), pool("shanghai", &["node2"]), pool("empty", &[])]
}

fn node(pool: &str) -> Node {
    read(json!({ "metadata": { "name": "node1", "labels": { "apps.openyurt.io/nodepool": pool } } }))
}

#[test]
fn slices_are_confined_to_the_node_or_its_pool() {
    for (annotation, pool, pool_topology, endpoints, left, reasons) in [
        ("kubernetes.io/hostname", "hangzhou", true, ENDPOINTS, "2 4", "not-on-node not-on-node"),
        ("openyurt.io/nodepool", "hangzhou", true, ENDPOINTS, "2 4 5", "outside-node-pool"),
        ("kubernetes.io/zone", "hangzhou", true, ENDPOINTS, "2 4 5", "outside-node-pool"),
        ("openyurt.io/nodepool", "hangzhou", false, ENDPOINTS, "2 3 4 5", ""),
        ("", "hangzhou", true, ENDPOINTS, "2 3 4 5", ""),
        ("region", "hangzhou", true, ENDPOINTS, "2 3 4 5", ""),
        (r#"["kubernetes.io/hostname"]"#, "hangzhou", true, ENDPOINTS, "2 3 4 5", ""),
        // A node without a pool is on its own.
        ("openyurt.io/nodepool", "", true, ENDPOINTS, "2 4", "not-on-node not-on-node"),
        ("openyurt.io/nodepool", "nowhere", true, ENDPOINTS, "2 3 4 5", "node-pool-unknown"),
        ("openyurt.io/nodepool", "empty", true, "2 on=node1", "", "outside-node-pool"),
        ("kubernetes.io/hostname", "hangzhou", true, "3 on=node2", "", "not-on-node"),
        ("openyurt.io/nodepool", "hangzhou", true, "3 on=node2", "", "outside-node-pool"),
        (
            "kubernetes.io/hostname",
            "hangzhou",
            true,
            "2 on=node1; 9; 3 on=node2",
            "2",
            "endpoint-without-node not-on-node",
        ),
        ("openyurt.io/nodepool", "hangzhou", true, "5 on=node3; 9", "5", "endpoint-without-node"),
        ("kubernetes.io/hostname", "hangzhou", true, "", "", ""),
    ] {
        let (known, pools) = (node(pool), pools());
        let at = Viewpoint { name: "node1", node: Some(&known) };
        let service: Service = read(json!({
            "metadata": { "namespace": "ns", "name": "web", "annotations": { "openyurt.io/topologyKeys": annotation } },
        }));
        let yurt = YurtView::new(at, &pools, pool_topology);
        let view = PrunedView::of_yurt(&yurt, &[service], &[read(slice("web-1", endpoints))]);
        let of = |ip: &str| ip.rsplit('.').next().unwrap().to_owned();
        let got: Vec<String> = view.endpoint_slices[0].endpoints.iter().map(|e| of(&e.addresses[0])).collect();
        let codes: Vec<&str> = view.reasons.iter().map(|f| f.code.code()).collect();
        assert_eq!(
            (got.join(" ").as_str(), codes.join(" ").as_str()),
            (left, reasons),
            "{annotation} {pool}: {endpoints}"
        );
    }
}

#[test]
fn services_of_the_cloud_are_hidden() {
    let known = node("foo");
    for (namespace, name, kind, annotations, want) in [
        ("ns", "web", "LoadBalancer", json!({ "svc.openyurt.io/discard": "true" }), Some("cloud-service")),
        ("ns", "web", "LoadBalancer", json!({ "svc.openyurt.io/discard": "false" }), None),
        ("ns", "web", "ClusterIP", json!({ "svc.openyurt.io/discard": "true" }), None),
        ("kube-system", "x-tunnel-server-internal-svc", "ClusterIP", json!({}), Some("cloud-service")),
        ("ns", "x-tunnel-server-internal-svc", "ClusterIP", json!({}), None),
        ("ns", "web", "NodePort", json!({ "nodeport.openyurt.io/listen": "-foo" }), Some("node-port-isolated")),
        ("ns", "web", "LoadBalancer", json!({ "nodeport.openyurt.io/listen": "" }), Some("node-port-isolated")),
        ("ns", "web", "NodePort", json!({ "nodeport.openyurt.io/listen": "foo" }), None),
        ("ns", "web", "ClusterIP", json!({ "nodeport.openyurt.io/listen": "-foo" }), None),
    ] {
        let service: Service = read(json!({
            "metadata": { "namespace": namespace, "name": name, "annotations": annotations }, "spec": { "type": kind },
        }));
        let yurt = YurtView::new(Viewpoint { name: "node1", node: Some(&known) }, &[], true);
        assert_eq!(yurt.hides(&service).map(Reason::code), want, "{service:?}");
        // The pool of a node that is not known is not known.
        let orphan = YurtView::new(Viewpoint { name: "node1", node: None }, &[], true);
        assert_eq!(orphan.hides(&service).map(Reason::code), want.filter(|why| *why == "cloud-service"));
    }
}
