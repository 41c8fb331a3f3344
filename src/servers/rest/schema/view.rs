//! Views of a node: what is posted, and what comes back.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use utoipa::ToSchema;

use super::query::{DefaultsName, FamilyName};
use super::{
    answer::FindingSchema,
    k8s::{EndpointSliceSchema, EndpointsSchema, NodeSchema, ServiceSchema},
    object::KubernetesObject,
    request::service_example,
};

/// A node, and what its proxy sees.
#[derive(ToSchema)]
#[schema(as = ViewRequest, rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct ViewBody {
    /// The name of the node.
    #[schema(min_length = 1)]
    node: String,
    #[schema(required = false, nullable = false)]
    scheme: Option<ViewSchemeSchema>,
    /// The address family of kube-proxy; default: IPv4.
    #[schema(required = false, nullable = false)]
    ip_family: Option<FamilyName>,
    /// Nodes. The scheme `kube-proxy` reads only the one that is viewed from.
    #[schema(required = false)]
    nodes: Vec<NodeSchema>,
    /// Services.
    #[schema(required = false)]
    services: Vec<ServiceSchema>,
    /// Endpoints: only the scheme `superedge` reads them.
    #[schema(required = false)]
    endpoints: Vec<EndpointsSchema>,
    /// Slices.
    #[schema(required = false)]
    endpoint_slices: Vec<EndpointSliceSchema>,
    /// `NodePool` objects of OpenYurt.
    #[schema(required = false)]
    node_pools: Vec<KubernetesObject>,
    #[schema(required = false, nullable = false)]
    options: Option<ViewOptionsSchema>,
}

/// The program whose view is taken; default: `kube-proxy`.
#[derive(ToSchema)]
#[schema(as = ViewScheme, rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum ViewSchemeSchema {
    #[schema(rename = "kube-proxy")]
    KubeProxy,
    SuperEdge,
    OpenYurt,
}

/// Settings of the programs.
#[derive(ToSchema)]
#[schema(as = ViewOptions, rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct ViewOptionsSchema {
    /// `superedge`: the endpoints of the API server are replaced by the address in their annotations
    /// (`--wrapper-in-cluster`).
    #[schema(required = false)]
    substitute_local_apiserver: bool,
    /// `superedge`: endpoints on unhealthy nodes are removed (`--service-autonomy-enhancement`).
    #[schema(required = false)]
    health_filter: bool,
    /// `superedge`: the health of nodes by their names; others are healthy.
    #[schema(required = false)]
    health: BTreeMap<String, bool>,
    #[schema(required = false, nullable = false)]
    topology_mode: Option<TopologyModeSchema>,
    /// `openyurt`: traffic may be confined to node pools (`--enable-pool-service-topology`, `--enable-node-pool`).
    #[schema(required = false)]
    pool_topology: bool,
    /// Which objects get the defaults that an API server fills in, as in a plan.
    #[schema(required = false, nullable = false)]
    defaults: Option<DefaultsName>,
    /// The address families of the cluster, the first one first; default, also for an empty list: IPv4 alone.
    #[schema(required = false, max_items = 2)]
    ip_families: BTreeSet<FamilyName>,
}

/// `superedge`: how several topology keys are read. `any`: an endpoint stays if its node agrees in any of them. `ordered`: the
/// first key for which there is a ready endpoint decides; where none has one, all endpoints stay. Default: `any`.
#[derive(ToSchema)]
#[schema(as = TopologyMode, rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum TopologyModeSchema {
    Any,
    Ordered,
}

/// What a node uses. The scheme decides which of `ports`, `endpoints` and `endpointSlices` are there.
#[derive(ToSchema)]
#[schema(as = View, rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct ViewAnswer {
    node: String,
    scheme: ViewSchemeSchema,
    #[schema(required = false, nullable = false)]
    ip_family: Option<FamilyName>,
    /// `kube-proxy`: the ports of the Services that it serves.
    #[schema(required = false)]
    ports: Vec<PortViewSchema>,
    /// `superedge`: what is left of the Endpoints.
    #[schema(required = false)]
    endpoints: Vec<EndpointsSchema>,
    /// `superedge` and `openyurt`: what is left of the slices.
    #[schema(required = false)]
    endpoint_slices: Vec<EndpointSliceSchema>,
    /// What was decided, and why.
    reasons: Vec<FindingSchema>,
    /// Findings about the input.
    problems: Vec<FindingSchema>,
}

/// The endpoints of a Service port as kube-proxy sorts them.
#[derive(ToSchema)]
#[schema(as = PortView, rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct PortViewSchema {
    #[schema(example = "shop/web")]
    service: String,
    /// The name of the port.
    port: String,
    #[schema(example = "TCP")]
    protocol: String,
    /// For traffic with the policy `Cluster`; null if there is none, or no endpoint at all.
    #[schema(required = true)]
    cluster: Option<Vec<String>>,
    /// For traffic with the policy `Local`; null if there is none, or no such endpoint.
    #[schema(required = true)]
    local: Option<Vec<String>>,
    /// All endpoints that the node uses.
    #[schema(required = true)]
    reachable: Option<Vec<String>>,
    /// Whether any endpoint of the cluster takes traffic.
    has_any: bool,
    /// What becomes of connections to the cluster IP.
    internal: VerdictSchema,
    /// What becomes of connections from outside; null if the port has no node port, external IP or load balancer.
    #[schema(required = true)]
    external: Option<VerdictSchema>,
    topology: TopologySchema,
    /// Every endpoint, with the reason if it is not used.
    endpoints: Vec<ViewedEndpointSchema>,
}

/// What becomes of a connection.
#[derive(ToSchema)]
#[schema(as = Verdict, rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum VerdictSchema {
    Forwarded,
    Dropped,
    Rejected,
}

/// The hints that are followed.
#[derive(ToSchema)]
#[schema(as = Topology, rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum TopologySchema {
    SameNode,
    SameZone,
    Everywhere,
}

/// An endpoint, and what the node uses it for.
#[derive(ToSchema)]
#[schema(as = ViewedEndpoint, rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct ViewedEndpointSchema {
    #[schema(example = "10.0.1.5:8080")]
    address: String,
    /// The slice that has it.
    slice: String,
    #[schema(required = false, nullable = false, example = "Pod/web-1")]
    target: Option<String>,
    #[schema(required = false, nullable = false)]
    node: Option<String>,
    #[schema(required = false, nullable = false)]
    zone: Option<String>,
    /// Whether it gets traffic with the policy `Cluster`.
    cluster: bool,
    /// Whether it gets traffic with the policy `Local`.
    local: bool,
    /// Why it is not used, or is used although it is not ready; see docs/reference/reasons.md.
    #[schema(required = false, nullable = false, example = "hinted-elsewhere")]
    reason: Option<String>,
}

impl ViewBody {
    /// Two endpoints with hints for their zones, seen from one of these.
    pub(crate) fn example() -> Value {
        let mut service = service_example();
        service["spec"]["clusterIPs"] = json!(["10.96.0.10"]);
        // Clients from outside reach it, so that the answer shows what becomes of them.
        service["spec"]["type"] = json!("NodePort");
        service["spec"]["ports"][0]["nodePort"] = json!(30080);
        let node = |name: &str, zone: &str| {
            json!({ "apiVersion": "v1", "kind": "Node",
                "metadata": { "name": name, "labels": { "topology.kubernetes.io/zone": zone } } })
        };
        let endpoint = |address: &str, node: &str, zone: &str| {
            json!({ "addresses": [address], "conditions": { "ready": true }, "nodeName": node, "zone": zone,
                "hints": { "forZones": [{ "name": zone }] } })
        };
        json!({
            "node": "node-1",
            "scheme": "kube-proxy",
            "nodes": [node("node-1", "zone-a"), node("node-2", "zone-b")],
            "services": [service],
            "endpointSlices": [{
                "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
                "metadata": {
                    "name": "web-abc12", "namespace": "shop", "labels": { "kubernetes.io/service-name": "web" },
                },
                "ports": [{ "name": "http", "protocol": "TCP", "port": 8080 }],
                "endpoints": [endpoint("10.0.1.5", "node-1", "zone-a"), endpoint("10.0.2.7", "node-2", "zone-b")],
            }],
        })
    }
}
