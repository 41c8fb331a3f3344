//! The bodies of the calls about one Service.
//!
//! They are what a caller should send. The server accepts more, and turns what it cannot read into findings: the API test
//! holds the shapes of that (`tests/schemathesis`).

use std::collections::BTreeSet;

use serde_json::{Value, json};
use utoipa::ToSchema;

use super::k8s::{EndpointSliceSchema, EndpointsSchema, NodeSchema, PodSchema, ServiceSchema};
use super::query::{ControllerName, DefaultsName, FamilyName, MinorSchema};

/// The state of one Service.
#[derive(ToSchema)]
#[schema(as = PlanRequest, rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct PlanBody {
    /// The Service. Missing if it was deleted: `endpoints` or `endpointSlices` are what is left of it.
    #[schema(required = false, nullable = false)]
    service: Option<ServiceSchema>,
    /// Pods; those that the Service does not select are ignored.
    #[schema(required = false)]
    pods: Vec<PodSchema>,
    /// All nodes of the cluster.
    #[schema(required = false)]
    nodes: Vec<NodeSchema>,
    /// The Endpoints that the cluster contains now.
    #[schema(required = false, nullable = false)]
    endpoints: Option<EndpointsSchema>,
    /// The slices that the cluster contains now.
    #[schema(required = false)]
    endpoint_slices: Vec<EndpointSliceSchema>,
    /// The controllers to plan; default, also for an empty list: all three.
    #[schema(required = false)]
    controllers: Vec<ControllerName>,
    #[schema(required = false, nullable = false)]
    options: Option<OptionsSchema>,
}

/// The options of a plan.
#[derive(ToSchema)]
#[schema(as = Options, rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct OptionsSchema {
    #[schema(schema_with = MinorSchema::of_options, required = false)]
    compat: String,
    /// `--max-endpoints-per-slice` of kube-controller-manager; default 100.
    #[schema(required = false, nullable = false, minimum = 1, maximum = 1000)]
    max_endpoints_per_slice: Option<i32>,
    /// `--mirroring-max-endpoints-per-subset` of kube-controller-manager; default: as `maxEndpointsPerSlice` where that is
    /// given, else 1000.
    #[schema(required = false, nullable = false, minimum = 1, maximum = 1000)]
    max_endpoints_per_subset: Option<i32>,
    /// Which objects get the defaults that an API server fills in: those with neither `uid` nor `resourceVersion` (`auto`,
    /// the default), all, or none. What was filled in is reported as `assumed`.
    #[schema(required = false, nullable = false)]
    defaults: Option<DefaultsName>,
    /// The address families of the cluster, the first one first; default, also for an empty list: IPv4, or IPv4 and
    /// IPv6 if a Service needs IPv6 or both.
    #[schema(required = false, max_items = 2)]
    ip_families: BTreeSet<FamilyName>,
}

/// A Service with a ready pod, one that is not ready, and one without a port of the name.
pub(crate) fn example() -> Value {
    json!({
        "service": service_example(),
        "pods": pod_examples(),
        "nodes": [node_example("node-1", "zone-a"), node_example("node-2", "zone-b")],
        "endpointSlices": [],
        "options": { "compat": "1.37" },
    })
}

/// The same as a `kind: List`.
pub(crate) fn list_example() -> Value {
    let example = example();
    let items: Vec<&Value> = [&example["service"]]
        .into_iter()
        .chain(["pods", "nodes"].into_iter().filter_map(|f| example[f].as_array()).flatten())
        .collect();
    json!({ "apiVersion": "v1", "kind": "List", "items": items })
}

/// The same, one object a line.
pub(crate) fn lines_example() -> String {
    let list = list_example();
    let objects: Vec<String> = list["items"].as_array().into_iter().flatten().map(Value::to_string).collect();
    objects.join("\n") + "\n"
}

fn pod_examples() -> [Value; 3] {
    let pod = |name: &str, ip: &str, node: &str, ready: &str, port_name: &str| {
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": { "name": name, "namespace": "shop", "uid": format!("uid-{name}"), "labels": { "app": "web" } },
            "spec": {
                "nodeName": node,
                "containers": [{ "name": "web", "image": "web:1", "ports": [{ "name": port_name, "containerPort": 8080, "protocol": "TCP" }] }],
            },
            "status": {
                "phase": "Running", "podIP": ip, "podIPs": [{ "ip": ip }],
                "conditions": [{ "type": "Ready", "status": ready }],
            },
        })
    };
    [
        pod("web-1", "10.0.1.5", "node-1", "True", "http"),
        pod("web-2", "10.0.2.7", "node-2", "False", "http"),
        pod("web-3", "10.0.2.8", "node-2", "True", "web"),
    ]
}

pub(super) fn service_example() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {
            "name": "web", "namespace": "shop", "uid": "uid-web", "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {
            "selector": { "app": "web" }, "clusterIP": "10.96.0.10", "ipFamilies": ["IPv4"],
            "ports": [{ "name": "http", "protocol": "TCP", "port": 80, "targetPort": "http" }],
        },
    })
}

fn node_example(name: &str, zone: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": { "name": name, "labels": { "topology.kubernetes.io/zone": zone } },
        "status": { "allocatable": { "cpu": "4" }, "conditions": [{ "type": "Ready", "status": "True" }] },
    })
}
