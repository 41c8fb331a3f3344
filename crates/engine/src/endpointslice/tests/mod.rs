//! Whole syncs as tables: states and the resulting writes.

mod hints;
mod packing;
mod reasons;

use serde_json::{Value, json};

use crate::{
    model::{EndpointSlice, builders},
    plan::{PlanRequest, plan_recorded},
    record::{Discard, Record, Recorder},
    state::{Controller, Plan},
};

/// The Service `ns/web` with one port.
fn service() -> Value {
    let web = builders::service("web").port("http", 80, 8080).selector(json!({"app": "web"}));
    json!(web.with("/metadata/uid", json!("u-web")).with("/metadata/labels", json!({"team": "x"})))
}

/// A ready pod of the Service: `p7` has the address 10.0.0.7.
fn pod(number: usize, node: &str) -> Value {
    let pod = builders::pod(&format!("p{number}")).uid(&format!("u{number}")).labels(json!({"app": "web"}));
    json!(pod.node(node).ip(&format!("10.0.0.{number}")).ready())
}

/// A ready node in a zone; without a zone if that is empty.
fn node(name: &str, zone: &str, cpu: &str) -> Value {
    let node = builders::node(name).cpu(cpu);
    json!(if zone.is_empty() { node } else { node.zone(zone) })
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

/// The plan of the controller.
fn plan(state: &Value) -> Plan {
    let request = request(state);
    request.with_state(|s, _| plan_recorded(s, &[Controller::EndpointSlices], &request.options, &mut Discard))
}

/// All records of a sync.
struct Records(Vec<Record>);

impl Recorder for Records {
    fn open(&self) -> bool {
        true
    }

    fn record(&mut self, record: impl FnOnce() -> Record) {
        self.0.push(record());
    }
}

/// The records of the controller.
fn records(state: &Value) -> Vec<Record> {
    let request = request(state);
    let mut records = Records(Vec::new());
    request.with_state(|s, _| plan_recorded(s, &[Controller::EndpointSlices], &request.options, &mut records));
    records.0
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
