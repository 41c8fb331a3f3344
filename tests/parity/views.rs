//! The view of a node against recorded answers of kube-proxy, SuperEdge's application-grid-wrapper and OpenYurt's yurthub.

use std::collections::BTreeMap;

use roster_engine::{
    model::{EndpointSlice, Endpoints, Family, NodePool, Nodes, Service, Text},
    view::{GridView, KeyOrder, ProxyView, PrunedView, Viewpoint, YurtView},
};
use serde::Deserialize;
use serde_json::{Value, json};

/// A recorded state. Its last fields are settings of the program that answered.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Case {
    id: String,
    node: Text,
    nodes: Nodes,
    services: Vec<Service>,
    #[serde(default)]
    endpoints: Vec<Endpoints>,
    endpoint_slices: Vec<EndpointSlice>,
    ip_family: Option<Family>,
    node_pools: Option<Vec<NodePool>>,
    #[serde(default)]
    enable_pool_topology: bool,
    #[serde(default)]
    substitute_local_apiserver: bool,
    #[serde(default)]
    health_filter: bool,
    #[serde(default)]
    health: BTreeMap<Text, bool>,
}

#[derive(Deserialize)]
struct Row {
    case: Case,
    answers: [Answer; 1],
}

/// An answer, beside the releases that give it.
#[derive(Deserialize)]
struct Answer {
    #[serde(rename = "versions")]
    _versions: Value,
    #[serde(flatten)]
    lists: Value,
}

/// Compares a row; the difference, if there is one.
pub(crate) fn difference(row: &str) -> Option<String> {
    let Row { case, answers: [answer] } = serde_json::from_str(row).expect("a row of a view");
    let (want, got) = (canonical(answer.lists), canonical(case.answer()));
    (want != got).then(|| format!("{}\n  want {want}\n  got  {got}", case.id))
}

impl Case {
    fn answer(&self) -> Value {
        let at = Viewpoint { name: &self.node, node: self.nodes.get(&self.node) };
        if let Some(family) = self.ip_family {
            let view = ProxyView::of(&self.services, &self.endpoint_slices, family, at, usize::MAX).unwrap();
            return json!({ "ports": view.ports.iter().map(|port| recorded(&json!(port))).collect::<Vec<_>>() });
        }
        if let Some(pools) = &self.node_pools {
            let yurt = YurtView::new(at, pools, self.enable_pool_topology);
            let view = PrunedView::of_yurt(&yurt, &self.services, &self.endpoint_slices);
            return json!({ "endpointSlices": view.endpoint_slices });
        }
        let grid = GridView {
            at,
            nodes: &self.nodes,
            substitutes_api_server: self.substitute_local_apiserver,
            health: self.health_filter.then_some(&self.health),
            order: KeyOrder::AnyKey,
        };
        let view = PrunedView::of_grid(&grid, &self.services, &self.endpoints, &self.endpoint_slices);
        json!({ "endpoints": view.endpoints, "endpointSlices": view.endpoint_slices })
    }
}

/// The fields of a port that are recorded.
fn recorded(port: &Value) -> Value {
    let fields = ["service", "port", "protocol", "cluster", "local", "reachable", "hasAny"];
    fields.into_iter().map(|field| (field.to_owned(), port[field].clone())).collect()
}

/// Without empty lists and nulls in objects, as an API server serialises them; lists of ports, addresses and objects in
/// one order.
fn canonical(answer: Value) -> Value {
    match answer {
        Value::Object(fields) if fields.contains_key("hasAny") => {
            // Null and an empty list differ here.
            fields.into_iter().map(|(name, value)| (name, sorted(value))).collect()
        }
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(name, value)| (name, canonical(value)));
            let is_kept = |value: &Value| !(value.is_null() || *value == json!([]) || *value == json!({}));
            fields.filter(|(name, value)| name != "creationTimestamp" && is_kept(value)).collect()
        }
        Value::Array(list) if list.iter().any(|e| e.get("metadata").is_some() || e.get("hasAny").is_some()) => {
            sorted(list.into_iter().map(canonical).collect())
        }
        Value::Array(list) => list.into_iter().map(canonical).collect(),
        other => other,
    }
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Array(mut list) => {
            list.sort_by_cached_key(ToString::to_string);
            Value::Array(list)
        }
        other => other,
    }
}
