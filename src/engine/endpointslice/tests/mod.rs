//! Whole syncs, as tables: a state in JSON, and what becomes of it.

mod hints;
mod packing;
mod reasons;

use serde_json::{Value, json};

use crate::{
    engine::{
        plan::{PlanRequest, plan_recorded},
        record::{Discard, Record, Recorder},
        state::{Controller, Plan},
    },
    model::EndpointSlice,
};

/// The Service `ns/web` with one port.
fn service() -> Value {
    json!({
        "metadata": {"name": "web", "namespace": "ns", "uid": "u-web", "labels": {"team": "x"}},
        "spec": {"selector": {"app": "web"}, "clusterIP": "10.96.0.1", "ipFamilies": ["IPv4"],
                 "ports": [{"name": "http", "protocol": "TCP", "port": 80, "targetPort": 8080}]},
    })
}

/// A ready pod of the Service: `p7` has the address 10.0.0.7.
fn pod(number: usize, node: &str) -> Value {
    json!({
        "metadata": {"name": format!("p{number}"), "namespace": "ns", "uid": format!("u{number}"), "labels": {"app": "web"}},
        "spec": {"nodeName": node},
        "status": {"podIP": format!("10.0.0.{number}"), "podIPs": [{"ip": format!("10.0.0.{number}")}],
                   "conditions": [{"type": "Ready", "status": "True"}]},
    })
}

/// A ready node in a zone; without a zone where that is empty.
fn node(name: &str, zone: &str, cpu: &str) -> Value {
    let labels = if zone.is_empty() { json!({}) } else { json!({"topology.kubernetes.io/zone": zone}) };
    json!({
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": {"cpu": cpu}, "conditions": [{"type": "Ready", "status": "True"}]},
    })
}

/// The slice that the newest release makes for [`service`] and these pods on node `n`.
fn slice(name: &str, pods: &[usize]) -> Value {
    let endpoint = |n: &usize| {
        json!({
            "addresses": [format!("10.0.0.{n}")],
            "conditions": {"ready": true, "serving": true, "terminating": false},
            "targetRef": {"kind": "Pod", "namespace": "ns", "name": format!("p{n}"), "uid": format!("u{n}")},
            "nodeName": "n", "zone": "z",
        })
    };
    json!({
        "metadata": {
            "name": name, "namespace": "ns", "uid": format!("u-{name}"), "resourceVersion": "1",
            "labels": {"team": "x", "kubernetes.io/service-name": "web",
                       "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"},
            "ownerReferences": [{"apiVersion": "v1", "kind": "Service", "name": "web", "uid": "u-web"}],
        },
        "addressType": "IPv4",
        "ports": [{"name": "http", "protocol": "TCP", "port": 8080}],
        "endpoints": pods.iter().map(endpoint).collect::<Vec<_>>(),
    })
}

/// [`service`], these pods on node `n`, and these slices.
fn state(pods: impl IntoIterator<Item = usize>, slices: &[Value]) -> Value {
    json!({
        "service": service(),
        "pods": pods.into_iter().map(|n| pod(n, "n")).collect::<Vec<_>>(),
        "nodes": [node("n", "z", "1")],
        "endpointSlices": slices,
        "options": {},
    })
}

fn request(state: &Value) -> PlanRequest {
    serde_json::from_value(state.clone()).unwrap()
}

/// What the controller does.
fn plan(state: &Value) -> Plan {
    let request = request(state);
    request.with_state(|s, _| plan_recorded(s, &[Controller::EndpointSlices], &request.options, &mut Discard))
}

/// Everything that is written down.
struct Notes(Vec<Record>);

impl Recorder for Notes {
    fn open(&self) -> bool {
        true
    }

    fn record(&mut self, record: impl FnOnce() -> Record) {
        self.0.push(record());
    }
}

/// What the controller writes down.
fn notes(state: &Value) -> Vec<Record> {
    let request = request(state);
    let mut notes = Notes(Vec::new());
    request.with_state(|s, _| plan_recorded(s, &[Controller::EndpointSlices], &request.options, &mut notes));
    notes.0
}

/// A plan in short: `+` create, `~` update, `-` delete, `=` unchanged, and the pods of each slice.
fn short(plan: &Plan) -> String {
    let pods = |s: &EndpointSlice| {
        let names = s.endpoints.iter().filter_map(|e| e.target_ref.as_ref().map(|t| t.name.trim_start_matches('p')));
        names.collect::<Vec<_>>().join(" ")
    };
    let changes = &plan.endpoint_slices;
    let create = changes.create.iter().map(|s| format!("+ {}", pods(s)));
    let update = changes.update.iter().map(|s| format!("~{} {}", s.meta.name, pods(s)));
    let delete = changes.delete.iter().map(|name| format!("-{name}"));
    let unchanged = changes.unchanged.iter().map(|name| format!("={name}"));
    create.chain(update).chain(delete).chain(unchanged).map(|s| s.trim_end().to_owned()).collect::<Vec<_>>().join(", ")
}
