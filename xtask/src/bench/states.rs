//! The measured states: a Service with two ports, one of them named, and 100 to 50 000 pods.

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// The largest state that the Go controllers are measured on.
pub(crate) const LARGEST_FOR_GO: usize = 5_000;
/// The largest state, which shows whether the engine is linear.
pub(crate) const LARGEST: usize = 50_000;

const SIZES: [usize; 5] = [10, 100, 1_000, LARGEST_FOR_GO, LARGEST];

/// A state to measure.
pub(crate) struct State {
    pub controller: &'static str,
    /// `create`, or `at rest`: nothing to do.
    pub name: &'static str,
    pub pods: usize,
    /// The state in JSON: the largest has 40 MB, and is sent many times.
    pub case: String,
}

/// All states. `ask` runs the reference: a state at rest has the objects that the reference wrote.
pub(crate) fn all(mut ask: impl FnMut(&str) -> Result<Value>) -> Result<Vec<State>> {
    let mut states = Vec::new();
    for controller in ["endpoints", "endpointslices"] {
        for pods in SIZES {
            let case = create(controller, pods);
            let stored = at_rest(&case, &ask(&case.to_string())?).context("the objects that the reference wrote")?;
            states.push(State { controller, name: "create", pods, case: case.to_string() });
            states.push(State { controller, name: "at rest", pods, case: stored.to_string() });
        }
    }
    states.sort_by_key(|s| (s.controller, s.name));
    Ok(states)
}

fn create(controller: &str, pods: usize) -> Value {
    let zones = ["a", "b", "c"];
    let nodes: Vec<Value> = (0..60)
        .map(|i| {
            let zone = zones.get(i % zones.len()).copied().unwrap_or_default();
            json!({
                "metadata": { "name": format!("node-{i}"), "labels": { "topology.kubernetes.io/zone": zone } },
                "status": { "allocatable": { "cpu": "16" }, "conditions": [{ "type": "Ready", "status": "True" }] },
            })
        })
        .collect();
    let pods: Vec<Value> = (0..pods).map(pod).collect();
    json!({
        "id": format!("{controller}-{}", pods.len()),
        "controller": controller,
        "maxEndpointsPerSlice": 100,
        "service": {
            "metadata": {
                "name": "web", "namespace": "shop", "uid": "5faee18e-365b-4081-a5fd-ae4aa0329875", "resourceVersion": "7",
                "creationTimestamp": "2026-02-27T19:59:42Z", "labels": { "app": "web", "team": "checkout" },
            },
            "spec": {
                "type": "ClusterIP", "clusterIP": "10.96.0.5", "clusterIPs": ["10.96.0.5"], "ipFamilies": ["IPv4"],
                "ipFamilyPolicy": "SingleStack", "selector": { "app": "web" },
                "ports": [
                    { "name": "http", "port": 80, "protocol": "TCP", "targetPort": "http" },
                    { "name": "metrics", "port": 9090, "protocol": "TCP", "targetPort": 9090 },
                ],
            },
        },
        "nodes": nodes,
        "pods": pods,
    })
}

/// A pod; one in thirty is not ready.
fn pod(i: usize) -> Value {
    let ip = format!("10.{}.{}.{}", 1 + i / 62_500, i / 250 % 250, i % 250 + 1);
    json!({
        "metadata": {
            "name": format!("web-6d4cf56db6-{i:05}"), "namespace": "shop", "uid": format!("5380d4e9-c0b0-4b31-ab1a-{i:012}"),
            "resourceVersion": (1000 + i).to_string(), "creationTimestamp": "2026-05-15T15:55:35Z",
            "labels": { "app": "web", "pod-template-hash": "6d4cf56db6", "tier": "front" },
        },
        "spec": {
            "nodeName": format!("node-{}", i % 60),
            "containers": [
                { "name": "web", "image": "web:1", "ports": [
                    { "name": "http", "containerPort": 8080, "protocol": "TCP" },
                    { "name": "metrics", "containerPort": 9090, "protocol": "TCP" },
                ] },
                { "name": "proxy", "image": "proxy:1", "ports": [{ "name": "admin", "containerPort": 15000, "protocol": "TCP" }] },
            ],
        },
        "status": {
            "phase": "Running", "podIP": ip, "podIPs": [{ "ip": ip }],
            "conditions": [
                { "type": "Initialized", "status": "True", "lastTransitionTime": "2026-05-15T15:55:36Z" },
                { "type": "Ready", "status": if i % 30 == 7 { "False" } else { "True" }, "lastTransitionTime": "2026-05-15T15:55:40Z" },
            ],
        },
    })
}

/// The same state, with the written objects stored.
fn at_rest(case: &Value, answer: &Value) -> Option<Value> {
    let mut stored = case.clone();
    let mut slices = Vec::new();
    for action in answer.get("actions")?.as_array()? {
        let mut object = action.get("object")?.clone();
        let meta = object.get_mut("metadata")?.as_object_mut()?;
        meta.insert("name".to_owned(), action.get("name")?.clone());
        meta.insert("namespace".to_owned(), "shop".into());
        meta.insert("uid".to_owned(), format!("stored-{}", slices.len()).into());
        meta.insert("resourceVersion".to_owned(), "100".into());
        slices.push(object);
    }
    let all = stored.as_object_mut()?;
    if case.get("controller")? == "endpoints" {
        all.insert("endpoints".to_owned(), slices.pop()?);
    } else {
        all.insert("endpointSlices".to_owned(), slices.into());
    }
    Some(stored)
}
