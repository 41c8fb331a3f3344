//! A slice with the address of a pod that has ended: it is tolerated while nobody reaches the address by it.

use serde_json::{Value, json};

use super::{
    api::{ApiServer, Told},
    assets, kubectl, start_without_controllers, wait,
    webhook::register,
};

const ADDRESS: &str = "10.244.0.7";

fn policy() -> Value {
    json!({
        "apiVersion": "roster.dev/v1", "kind": "EndpointPolicy", "metadata": { "name": "pods-only" },
        "spec": { "rules": [{ "name": "address-provenance", "mode": "enforce" }] },
    })
}

fn pod() -> Value {
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "job", "namespace": "shop" },
        "spec": { "nodeName": "n", "containers": [{ "name": "c", "image": "i" }] } })
}

fn slice(name: &str, ready: bool) -> Value {
    json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": { "name": name, "namespace": "shop", "labels": { "kubernetes.io/service-name": "a" } },
        "addressType": "IPv4",
        "endpoints": [{ "addresses": [ADDRESS], "conditions": { "ready": ready } }],
        "ports": [{ "name": "http", "port": 80, "protocol": "TCP" }],
    })
}

/// Updates of a slice that is not ready, and whether they are stored. An API server sends no update without a change.
fn updates() -> Vec<(&'static str, Value, bool)> {
    let port = |name: &str, port: u16| json!({ "name": name, "port": port, "protocol": "TCP" });
    let ready = |ready: bool| json!([{ "addresses": [ADDRESS], "conditions": { "ready": ready } }]);
    let service = |name: &str| json!({ "labels": { "kubernetes.io/service-name": name } });
    let note = |text: &str| json!({ "annotations": { "note": text } });
    vec![
        ("another port", json!({ "ports": [port("http", 10250)] }), false),
        ("another name of the port", json!({ "ports": [port("admin", 80)] }), false),
        ("one more port", json!({ "ports": [port("http", 80), port("admin", 10250)] }), false),
        ("another Service", json!({ "metadata": service("b") }), false),
        ("another Service and port", json!({ "metadata": service("b"), "ports": [port("http", 10250)] }), false),
        ("ready", json!({ "endpoints": ready(true) }), false),
        ("an annotation", json!({ "metadata": note("a") }), true),
        ("the same port", json!({ "metadata": note("b"), "ports": [port("http", 80)] }), true),
        (
            "the same Service",
            json!({ "metadata": { "annotations": { "note": "c" }, "labels": { "team": "x" } } }),
            true,
        ),
        ("still not ready", json!({ "metadata": note("d"), "endpoints": ready(false) }), true),
    ]
}

#[test]
#[ignore = "needs the programs of a control plane: cargo xtask test cluster"]
fn the_address_of_an_ended_pod_gets_no_other_traffic() {
    let assets = assets();
    let dir = tempfile::tempdir().unwrap();
    let plane = start_without_controllers(&assets, dir.path());
    let api = ApiServer::of(&plane);
    let create = |object: &Value| {
        let answer = api.create(object, "", false);
        assert_eq!(answer.status, 201, "{answer:?}");
    };
    let _server = register(&plane, dir.path());
    assert!(kubectl(&plane, "create namespace shop", "").0);
    create(&pod());
    let status = |phase: &str| json!({ "status": { "phase": phase, "podIP": ADDRESS, "podIPs": [{ "ip": ADDRESS }] } });
    assert_eq!(api.patch_status(&pod(), &status("Running")).status, 200);
    create(&policy());
    let foreign = {
        let mut slice = slice("foreign", true);
        slice["endpoints"][0]["addresses"] = json!(["10.244.7.9"]);
        slice
    };
    wait("the policy is in force", || (api.create(&foreign, "", true).status == 403).then_some(()));

    // Both are stored while the pod is running.
    for (name, ready) in [("idle", false), ("used", true)] {
        let slice = slice(name, ready);
        wait("the webhook knows the pod", || (api.create(&slice, "", false).status == 201).then_some(()));
    }
    assert_eq!(api.patch_status(&pod(), &status("Succeeded")).status, 200);
    let new = slice("new", false);
    wait("the webhook knows that the pod has ended", || (api.create(&new, "", true).status == 403).then_some(()));

    let idle = slice("idle", false);
    for (name, patch, is_stored) in updates() {
        check(name, &api.patch(&idle, &patch), is_stored);
    }
    // What was ready before may stay ready, but not get another port.
    let used = slice("used", true);
    check("ready as before", &api.patch(&used, &json!({ "metadata": { "annotations": { "note": "x" } } })), true);
    let mut moved = used.clone();
    moved["ports"][0]["port"] = 10250.into();
    check("replaced with another port", &api.replace(&moved, false), false);
    check("replaced with the same port, without its annotation", &api.replace(&used, false), true);
}

/// An update is stored with a warning, or refused because of what it changes.
fn check(name: &str, answer: &Told, is_stored: bool) {
    let why = format!("{ADDRESS} is not the address of a pod in namespace shop");
    if is_stored {
        assert_eq!(answer.status, 200, "{name}: {answer:?}");
        assert!(answer.warnings.iter().any(|warning| warning.contains(&why)), "{name}: {answer:?}");
    } else {
        assert_eq!(answer.status, 403, "{name}: {answer:?}");
        let message = answer.body["message"].as_str().unwrap();
        assert!(message.contains(&format!("{why}; the update sends other traffic to it")), "{name}: {answer:?}");
    }
}
