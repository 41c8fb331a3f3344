//! Mirrored slices, as short texts. The parity tests compare with the real controllers; these tests name the cases.

use serde_json::{Value, json};

use crate::{
    plan::PlanRequest,
    state::{Controller, Plan},
};

/// One sync of the Endpoints `ns/web`, whose Service has no selector.
fn mirrored(minor: &str, metadata: &Value, subsets: &Value, slices: &Value) -> Plan {
    let mut request: PlanRequest = serde_json::from_value(json!({
        "service": {"metadata": {"namespace": "ns", "name": "web"}},
        "endpoints": {"metadata": {"namespace": "ns", "name": "web", "uid": "e1", "resourceVersion": "7"}, "subsets": subsets},
        "endpointSlices": slices,
        "options": {"compat": minor, "maxEndpointsPerSubset": 2},
        "controllers": ["mirroring"],
    }))
    .unwrap();
    let given: crate::model::ObjectMeta = serde_json::from_value(metadata.clone()).unwrap();
    let meta = &mut request.endpoints.as_mut().unwrap().meta;
    (meta.labels, meta.annotations) = (given.labels, given.annotations);
    meta.deletion_timestamp = given.deletion_timestamp;
    assert_eq!(request.controllers, Some(vec![Controller::Mirroring]));
    request.plan()
}

/// A plan in short: what is written, then the codes of the problems.
fn short(plan: &Plan) -> String {
    let slice = |verb: &str, s: &crate::model::EndpointSlice| {
        let endpoints = s.endpoints.iter().map(|e| {
            let state = if e.ready() { "" } else { "!" };
            format!(" {state}{}", e.addresses.join("+"))
        });
        let ports = s.ports.iter().flatten().map(|p| format!(" {}", p.port.unwrap_or_default()));
        format!(
            "{verb} {}{} {}:{} @{}",
            s.meta.name,
            s.meta.generate_name,
            s.address_type.as_str(),
            endpoints.collect::<String>(),
            ports.collect::<String>()
        )
    };
    let changes = &plan.endpoint_slices;
    let mut out: Vec<String> = changes.create.iter().map(|s| slice("create", s)).collect();
    out.extend(changes.update.iter().map(|s| slice("update", s)));
    out.extend(changes.delete.iter().map(|n| format!("delete {n}")));
    out.extend(changes.unchanged.iter().map(|n| format!("keep {n}")));
    out.extend(plan.problems.iter().map(|p| p.code.code().to_owned()));
    out.join(", ")
}

/// A mirrored slice named `name` with these endpoints, on port 80.
fn stored(name: &str, endpoints: &[&str]) -> Value {
    let endpoints: Vec<Value> =
        endpoints.iter().map(|ip| json!({"addresses": [ip], "conditions": {"ready": true}})).collect();
    json!({
        "metadata": {
            "namespace": "ns", "name": name, "resourceVersion": "6",
            "labels": {
                "kubernetes.io/service-name": "web",
                "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io",
            },
            "ownerReferences": [{"apiVersion": "v1", "kind": "Endpoints", "name": "web", "uid": "e1"}],
        },
        "addressType": "IPv4",
        "endpoints": endpoints,
        "ports": [{"name": "", "port": 80, "protocol": "TCP"}],
    })
}

fn with(mut slice: Value, pointer: &str, value: Value) -> Value {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    slice.pointer_mut(parent).unwrap()[key] = value;
    slice
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn endpoints_are_mirrored_as_kubernetes_mirrors_them() {
    let port = json!([{"port": 80, "protocol": "TCP"}]);
    let on = |ips: &[&str], ports: &Value| {
        let addresses: Vec<Value> = ips.iter().map(|ip| json!({"ip": ip})).collect();
        json!({"addresses": addresses, "ports": ports})
    };
    let one = json!([on(&["10.0.0.1"], &port)]);
    let two = json!([on(&["10.0.0.1", "10.0.0.2"], &port)]);
    let http = json!([{"name": "a", "port": 80, "protocol": "TCP", "appProtocol": "http"}]);
    let plain = json!({});
    let cases: &[(&str, &str, &Value, Value, Value, &str)] = &[
        (
            "both families, and not ready ones",
            "1.37",
            &plain,
            json!([{"addresses": [{"ip": "fd00:0::1"}], "notReadyAddresses": [{"ip": "010.0.0.1"}], "ports": port}]),
            json!([]),
            "create web- IPv4: !10.0.0.1 @ 80, create web- IPv6: fd00::1 @ 80, address-not-canonical, mirrored",
        ),
        (
            "addresses as written",
            "1.32",
            &plain,
            json!([on(&["010.0.0.1"], &port)]),
            json!([]),
            "create web- IPv4: 010.0.0.1 @ 80, address-not-canonical, mirrored",
        ),
        (
            "leading zeros",
            "1.22",
            &plain,
            json!([on(&["010.0.0.1"], &port)]),
            json!([]),
            "mirror-invalid-address, not-mirrored",
        ),
        ("nothing to do", "1.37", &plain, one.clone(), json!([stored("s", &["10.0.0.1"])]), "keep s, mirrored"),
        (
            "a slice more than one",
            "1.37",
            &plain,
            one.clone(),
            json!([stored("t", &["10.0.0.1"]), stored("s", &["10.0.0.1"])]),
            "delete t, keep s, mirrored",
        ),
        (
            "another port recycles the slice",
            "1.37",
            &plain,
            json!([on(&["10.0.0.1"], &json!([{"port": 81}]))]),
            json!([stored("s", &["10.0.0.1"])]),
            "update sweb- IPv4: 10.0.0.1 @ 81, mirrored",
        ),
        ("no addresses", "1.37", &plain, json!([]), json!([stored("s", &["10.0.0.1"])]), "delete s, not-mirrored"),
        (
            "being deleted: nothing new",
            "1.37",
            &json!({"deletionTimestamp": "2026-01-01T00:00:00Z"}),
            one.clone(),
            json!([]),
            "mirrored",
        ),
        (
            "the label",
            "1.37",
            &json!({"labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}}),
            one.clone(),
            json!([stored("s", &["10.0.0.1"])]),
            "delete s, not-mirrored",
        ),
        (
            "a lock",
            "1.37",
            &json!({"annotations": {"control-plane.alpha.kubernetes.io/leader": "{}"}}),
            one.clone(),
            json!([]),
            "not-mirrored",
        ),
        (
            "too many: ready ones first",
            "1.37",
            &plain,
            json!([{"addresses": [{"ip": "10.0.0.3"}], "notReadyAddresses": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}], "ports": port}]),
            json!([]),
            "create web- IPv4: !10.0.0.1 10.0.0.3 @ 80, mirror-too-many-addresses, mirrored",
        ),
        (
            "a random cut",
            "1.26",
            &plain,
            json!([on(&["10.0.0.1", "10.0.0.2"], &port), on(&["10.0.0.3"], &port)]),
            json!([]),
            "create web- IPv4: 10.0.0.1 10.0.0.2 @ 80, mirrored, mirror-random-cut",
        ),
        (
            "one port twice",
            "1.37",
            &plain,
            json!([on(&["10.0.0.1"], &http), on(&["10.0.0.1"], &http)]),
            json!([]),
            "create web- IPv4: 10.0.0.1 @ 80 80, mirrored, mirror-duplicate-port",
        ),
        (
            "a hidden address",
            "1.37",
            &plain,
            two.clone(),
            json!([stored("s", &["10.0.0.1", "10.0.0.1"])]),
            "keep s, mirrored, mirror-duplicate-hides-address",
        ),
        (
            "a duplicate that hides nothing",
            "1.37",
            &plain,
            one.clone(),
            json!([stored("s", &["10.0.0.1", "10.0.0.1"])]),
            "update s IPv4: 10.0.0.1 @ 80, mirrored",
        ),
        (
            "a dying slice",
            "1.37",
            &plain,
            one.clone(),
            json!([with(stored("s", &["10.0.0.1"]), "/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z"))]),
            "keep s, mirrored, mirror-counts-dying-slice",
        ),
        (
            "a reserved label",
            "1.37",
            &json!({"labels": {"kubernetes.io/service-name": "web"}}),
            one.clone(),
            json!([stored("s", &["10.0.0.1"])]),
            "update s IPv4: 10.0.0.1 @ 80, mirrored, mirror-reserved-label",
        ),
        (
            "a dead owner",
            "1.30",
            &plain,
            one.clone(),
            json!([with(stored("s", &["10.0.0.1"]), "/metadata/ownerReferences/0/uid", json!("e0"))]),
            "keep s, mirrored, mirror-orphan-owner",
        ),
        (
            "a dead owner, replaced",
            "1.31",
            &plain,
            one.clone(),
            json!([with(stored("s", &["10.0.0.1"]), "/metadata/ownerReferences/0/uid", json!("e0"))]),
            "update s IPv4: 10.0.0.1 @ 80, mirrored",
        ),
        (
            "an edit from outside",
            "1.30",
            &plain,
            one.clone(),
            json!([with(stored("s", &["10.0.0.2"]), "/metadata/resourceVersion", json!("8"))]),
            "update s IPv4: 10.0.0.1 @ 80, mirrored, mirror-late-repair",
        ),
        (
            "no list of ports",
            "1.35",
            &plain,
            json!([on(&["10.0.0.1"], &json!([]))]),
            json!([with(stored("s", &["10.0.0.1"]), "/ports", Value::Null)]),
            "update sweb- IPv4: 10.0.0.1 @, mirrored, portless-churn",
        ),
        (
            "no list of ports is the empty list",
            "1.36",
            &plain,
            json!([on(&["10.0.0.1"], &json!([]))]),
            json!([with(stored("s", &["10.0.0.1"]), "/ports", Value::Null)]),
            "keep s, mirrored",
        ),
        (
            "a slice of another controller",
            "1.37",
            &plain,
            json!([]),
            json!([with(stored("s", &[]), "/metadata/labels", json!({"kubernetes.io/service-name": "web"}))]),
            "not-mirrored",
        ),
    ];
    for (name, minor, metadata, subsets, slices, want) in cases {
        assert_eq!(short(&mirrored(minor, metadata, subsets, slices)), *want, "{name}");
    }
}

#[test]
fn events_are_those_of_kubernetes() {
    let subsets = json!([{"addresses": [{"ip": "a"}, {"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}, {"ip": "10.0.0.3"}]}]);
    let plan = mirrored("1.26", &json!({}), &subsets, &json!([]));
    let events: Vec<String> = plan.events.iter().map(|e| format!("{:?} {} {}", e.kind, e.reason, e.message)).collect();
    assert_eq!(
        events,
        [
            "Warning InvalidIPAddress Skipped 1 invalid IP addresses when mirroring to EndpointSlices",
            "Warning TooManyAddressesToMirror A max of 2 addresses can be mirrored to EndpointSlices per Endpoints subset. 2 addresses were skipped",
        ]
    );
}

#[test]
fn slices_that_nobody_owns_any_more_are_deleted() {
    let request = |service: Value| -> PlanRequest {
        let slices = [stored("s", &["10.0.0.1"])];
        serde_json::from_value(json!({"service": service, "endpointSlices": slices, "controllers": ["mirroring"]}))
            .unwrap()
    };
    for service in [
        Value::Null,
        json!({"metadata": {"namespace": "ns", "name": "web"}}),
        json!({"metadata": {"namespace": "ns", "name": "web"}, "spec": {"selector": {}}}),
    ] {
        assert_eq!(short(&request(service.clone()).plan()), "delete s", "{service}");
    }
    let other = json!({"metadata": {"namespace": "ns", "name": "other"}});
    assert_eq!(short(&request(other).plan()), "");
}
