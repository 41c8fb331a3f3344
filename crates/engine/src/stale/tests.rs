//! What is stale in a state, as short texts.

use serde_json::{Value, json};

use super::{KnownTargets, PodNames, find};
use crate::{
    model::{builders, names},
    plan::PlanRequest,
};

/// Two ready pods on two nodes behind a Service, and what the controllers have stored for them.
fn stored() -> Value {
    let pod = |i: usize| {
        json!(
            builders::pod(&format!("web-{i}"))
                .labels(json!({"app": "web"}))
                .node(&format!("n{i}"))
                .ip(&format!("10.0.0.{i}"))
                .ready()
        )
    };
    let mut state = json!({
        "service": builders::service("web").selector(json!({"app": "web"})).port("http", 80, 8080),
        "pods": [pod(1), pod(2)],
        "nodes": [builders::node("n1"), builders::node("n2")],
    });
    let request: PlanRequest = serde_json::from_value(state.clone()).unwrap();
    let plan = request.plan();
    state["endpoints"] = json!(plan.endpoints.object().unwrap());
    state["endpoints"]["metadata"]["resourceVersion"] = json!("7");
    state["endpoints"]["metadata"]["annotations"] = json!({names::TRIGGER_TIME: "2026-01-02T03:04:05Z"});
    state["endpointSlices"] = json!(plan.endpoint_slices.create);
    state["endpointSlices"][0]["metadata"]["name"] = json!("web-abc");
    state
}

/// The state of a Service without selector, with Endpoints that list both pods, and the slice that mirrors them.
fn mirrored() -> Value {
    let mut state = stored();
    state["service"]["spec"]["selector"] = Value::Null;
    state["endpoints"]["metadata"]["labels"] = Value::Null;
    state["endpoints"]["metadata"]["uid"] = json!("e");
    state["endpointSlices"] = json!([]);
    let request: PlanRequest = serde_json::from_value(state.clone()).unwrap();
    state["endpointSlices"] = json!(request.plan().endpoint_slices.create);
    state["endpointSlices"][0]["metadata"]["name"] = json!("web-mirror");
    state
}

/// A slice of the Service that some other program wrote, with an address of a pod on a node.
fn foreign(pod: &str, node: &str) -> Value {
    json!({
        "metadata": {"name": "by-hand", "namespace": "ns", "labels": {"kubernetes.io/service-name": "web"}},
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
        "endpoints": [{"addresses": ["10.0.0.9"], "nodeName": node,
            "targetRef": {"kind": "Pod", "namespace": "ns", "name": pod}}],
    })
}

/// Sets the value at each pointer.
fn edited(mut state: Value, edits: &[(&str, Value)]) -> Value {
    for (pointer, value) in edits {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        match state.pointer_mut(parent).unwrap() {
            Value::Array(list) => match key.parse::<usize>().unwrap() {
                at if at == list.len() => list.push(value.clone()),
                at => list[at] = value.clone(),
            },
            parent => parent[key] = value.clone(),
        }
    }
    state
}

/// The findings, and the number of stale addresses in slices.
fn stale(state: &Value) -> (Vec<String>, usize) {
    let request: PlanRequest = serde_json::from_value(state.clone()).unwrap();
    let plan = request.plan();
    let report = request.with_state(|state, _| {
        let pods: PodNames<'_> = state.pods.iter().copied().collect();
        find(state, &plan, &KnownTargets::of_state(&pods, state.nodes))
    });
    let text = |f: &crate::Finding| format!("{:?} {} {}: {}", f.severity, f.code, f.object, f.message);
    (report.findings.iter().map(text).collect(), report.addresses)
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn stored_objects_are_compared_with_what_exists() {
    let gone_pod = ("/pods", json!([stored()["pods"][0]]));
    let cases: [(&str, Value, &[&str], usize); 16] = [
        ("all is as it should be", stored(), &[], 0),
        ("a mirrored slice is as it should be", mirrored(), &[], 0),
        (
            "a pod is gone",
            edited(stored(), std::slice::from_ref(&gone_pod)),
            &[
                "Warning target-gone Endpoints ns/web: the pod of 1 address does not exist: 10.0.0.2 (web-2); its \
                 controller has not removed it yet",
                "Warning target-gone EndpointSlice ns/web-abc: the pod of 1 address does not exist: 10.0.0.2 (web-2); \
                 its controller has not removed it yet",
                "Warning stored-differs Endpoints ns/web: the controller would write: - 10.0.0.2 (web-2); not written \
                 since the change at 2026-01-02T03:04:05Z",
                "Warning stored-differs EndpointSlice ns/web-abc: the controller would write: - 10.0.0.2 (web-2)",
            ],
            1,
        ),
        (
            "nothing is known of pods in the namespace",
            edited(foreign_state(), &[("/pods", json!([])), ("/service/spec/selector", Value::Null)]),
            &[],
            0,
        ),
        (
            "another pod has the name",
            edited(mirrored(), &[("/pods/1/metadata/uid", json!("other"))]),
            &["Warning target-gone Endpoints ns/web: the pod of 1 address does not exist: 10.0.0.2 (web-2); no \
               controller removes it"],
            1,
        ),
        (
            "a hand-made slice lists a pod that is gone",
            foreign_state(),
            &[
                "Warning target-gone EndpointSlice ns/by-hand: the pod of 1 address does not exist: 10.0.0.9 (web-9); no \
               controller removes it",
            ],
            1,
        ),
        (
            "a hand-made slice lists a node that is gone",
            edited(stored(), &[("/endpointSlices/1", foreign("web-1", "n9"))]),
            &["Warning node-gone EndpointSlice ns/by-hand: the node of 1 address does not exist: 10.0.0.9 (n9); no \
               controller removes it"],
            1,
        ),
        ("nothing is known of nodes", edited(mirrored(), &[("/nodes", json!([]))]), &[], 0),
        (
            "a Service with a mirrored slice gets a selector",
            edited(mirrored(), &[("/service/spec/selector", json!({"app": "web"})), ("/endpoints", Value::Null)]),
            &[
                "Warning leftover-mirror EndpointSlice ns/web-mirror: the slice mirrors Endpoints, but the Service has a \
               selector now; kube-proxy still uses its 2 endpoints",
            ],
            0,
        ),
        (
            "the Endpoints of a mirrored slice are gone",
            edited(mirrored(), &[("/endpoints", Value::Null)]),
            &[
                "Warning leftover-mirror EndpointSlice ns/web-mirror: the slice mirrors Endpoints, but its Endpoints are \
               gone; kube-proxy still uses its 2 endpoints",
            ],
            0,
        ),
        (
            "the Service is gone",
            edited(stored(), &[("/service", Value::Null)]),
            &[
                "Warning endpoints-orphaned Endpoints ns/web: there is no Service of this name; the controller deletes \
                 the Endpoints when it starts again",
                "Warning endpoints-orphaned EndpointSlice ns/web-abc: the Service that the label \
                 kubernetes.io/service-name names does not exist",
            ],
            0,
        ),
        (
            "the Endpoints are a lock",
            edited(
                stored(),
                &[
                    ("/service", Value::Null),
                    ("/endpointSlices", json!([])),
                    ("/endpoints/metadata/annotations", json!({names::LEADER: "{}"})),
                ],
            ),
            &[],
            0,
        ),
        (
            "a pod is not ready any more",
            edited(stored(), &[("/pods/0/status/conditions/0/status", json!("False"))]),
            &[
                "Warning stored-differs Endpoints ns/web: the controller would write: ready -> not ready: 10.0.0.1 \
                 (web-1); not written since the change at 2026-01-02T03:04:05Z",
                "Warning stored-differs EndpointSlice ns/web-abc: the controller would write: ready -> not ready: \
                 10.0.0.1 (web-1)",
            ],
            0,
        ),
        (
            "a label is missing",
            edited(stored(), &[("/endpoints/metadata/labels", json!({}))]),
            &["Info stored-differs Endpoints ns/web: the controller would write: label \
               endpoints.kubernetes.io/managed-by=endpoint-controller; not written since the change at \
               2026-01-02T03:04:05Z"],
            0,
        ),
        (
            "nothing is stored yet",
            edited(stored(), &[("/endpoints", Value::Null), ("/endpointSlices", json!([]))]),
            &[],
            0,
        ),
        (
            "Endpoints that were changed are not mirrored yet",
            edited(mirrored(), &[("/endpoints/subsets/0/addresses/0/ip", json!("10.0.0.7"))]),
            &["Warning stored-differs EndpointSlice ns/web-mirror: the controller would write: + 10.0.0.7 (web-1); - \
               10.0.0.1 (web-1)"],
            0,
        ),
    ];
    for (case, state, want, addresses) in cases {
        let (found, stale_addresses) = stale(&state);
        assert_eq!((found, stale_addresses), (want.iter().map(ToString::to_string).collect(), addresses), "{case}");
    }
}

/// A Service with all that it should have, and a hand-made slice with a pod that is gone.
fn foreign_state() -> Value {
    edited(stored(), &[("/endpointSlices/1", foreign("web-9", "n1"))])
}

/// kube-proxy joins ports by name and protocol.
#[test]
fn ports_that_no_endpoint_has_are_found() {
    let service = |ports: Value| {
        let mut service = json!(builders::service("web").port("pg", 5432, 5432));
        service["spec"]["selector"] = Value::Null;
        service["spec"]["ports"] = ports;
        service
    };
    let endpoints = |ports: Value| {
        let subset = json!({"addresses": [{"ip": "192.0.2.1"}], "ports": ports});
        json!({"metadata": {"name": "web", "namespace": "ns"}, "subsets": [subset]})
    };
    let pg = |name: &str| json!([{"name": name, "port": 5432, "protocol": "TCP"}]);
    let udp = json!([{"name": "pg", "port": 5432, "protocol": "UDP"}]);
    let without_name = json!([{"port": 5432, "protocol": "TCP"}]);
    for (name, ports, subset, want) in [
        ("the same name", pg("pg"), pg("pg"), None),
        ("no names", without_name.clone(), without_name.clone(), None),
        ("another name", pg("pg"), pg("postgres"), Some("the endpoints have named postgres (TCP)")),
        ("another protocol", pg("pg"), udp, Some("the endpoints have named pg (UDP)")),
        ("a name on one side", pg("pg"), without_name, Some("the endpoints have without a name (TCP)")),
        ("no address", pg("pg"), Value::Null, None),
    ] {
        let mut state =
            json!({"service": service(ports), "pods": [], "nodes": [], "endpoints": endpoints(subset.clone())});
        if subset.is_null() {
            state["endpoints"]["subsets"] = json!([]);
        }
        let (found, _) = stale(&state);
        let found: Vec<_> = found.iter().filter(|f| f.contains("endpoint-port-missing")).collect();
        assert_eq!(found.len(), usize::from(want.is_some()), "{name}: {found:?}");
        assert!(found.iter().all(|f| f.ends_with(want.unwrap_or_default())), "{name}: {found:?}");
    }
}

#[test]
fn complete_input_has_all_pods() {
    let state = edited(foreign_state(), &[("/pods", json!([])), ("/service/spec/selector", Value::Null)]);
    let request: PlanRequest = serde_json::from_value(state).unwrap();
    let (plan, none) = (request.plan(), PodNames::default());
    let addresses = |complete| {
        request.with_state(|state, _| {
            let targets = KnownTargets { complete, ..KnownTargets::of_state(&none, state.nodes) };
            find(state, &plan, &targets).addresses
        })
    };
    assert_eq!((addresses(false), addresses(true)), (0, 3));
}
