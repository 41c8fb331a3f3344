//! Random Endpoints that a user keeps by hand: the input of the mirroring controller.

use serde_json::{Map, Value, json};

use super::super::rng::Rng;
use super::pods::{other_notation, v4, v6};
use super::{Mood, NAMESPACE, set};

const INVALID: [&str; 7] = ["junk", "", "10.0.0.256", "10.0.0", "fe80::1%eth0", "1.2.3.4.5", "example.org"];

pub(crate) fn unmanaged(r: &mut Rng, m: &Mood, service: &Value) -> Value {
    let mut meta = json!({
        "name": service["metadata"]["name"], "namespace": NAMESPACE, "uid": r.uid(),
        "resourceVersion": "100", "creationTimestamp": r.time(),
    });
    set(&mut meta, "labels", labels(r, m));
    set(&mut meta, "annotations", annotations(r));
    if r.percent(2) {
        meta["deletionTimestamp"] = r.time().into();
        meta["finalizers"] = json!(["example.org/f"]);
    }
    let mut object = json!({ "apiVersion": "v1", "kind": "Endpoints", "metadata": meta });
    set(&mut object, "subsets", subsets(r, m));
    object
}

pub(crate) fn labels(r: &mut Rng, m: &Mood) -> Value {
    let mut labels = Map::new();
    for key in ["app", "team"] {
        if r.percent(35) {
            labels.insert(key.into(), r.pick(&["v", "w"]).into());
        }
    }
    if r.percent(6) {
        labels.insert(
            "endpointslice.kubernetes.io/skip-mirror".into(),
            r.pick(&["true", "true", "True", "false", ""]).into(),
        );
    }
    if r.percent(m.odd) {
        let (key, value) = r.pick(&[
            ("endpointslice.kubernetes.io/managed-by", "me"),
            ("endpointslice.kubernetes.io/managed-by", "endpointslicemirroring-controller.k8s.io"),
            ("kubernetes.io/service-name", "spoof"),
            ("service.kubernetes.io/headless", ""),
            ("endpoints.kubernetes.io/managed-by", "endpoint-controller"),
        ]);
        labels.insert(key.into(), value.into());
    }
    if labels.is_empty() { Value::Null } else { labels.into() }
}

pub(crate) fn annotations(r: &mut Rng) -> Value {
    let mut notes = Map::new();
    if r.percent(35) {
        notes.insert("example.org/a".into(), r.pick(&["b", "c", ""]).into());
    }
    if r.percent(12) {
        notes.insert("endpoints.kubernetes.io/last-change-trigger-time".into(), r.time().into());
    }
    if r.percent(8) {
        notes.insert("kubectl.kubernetes.io/last-applied-configuration".into(), "{}".into());
    }
    if r.percent(4) {
        notes.insert("control-plane.alpha.kubernetes.io/leader".into(), r.pick(&["{}", ""]).into());
    }
    if r.percent(4) {
        notes.insert("endpoints.kubernetes.io/over-capacity".into(), "truncated".into());
    }
    if notes.is_empty() { Value::Null } else { notes.into() }
}

pub(crate) fn subsets(r: &mut Rng, m: &Mood) -> Value {
    let n = r.weighted(&[(6, 0), (46, 1), (26, 2), (12, 3), (10, 5)]);
    let many = r.percent(8);
    let subsets: Vec<Value> = (0..n).map(|_| subset(r, m, many)).collect();
    if n == 0 && r.percent(60) { Value::Null } else { subsets.into() }
}

fn subset(r: &mut Rng, m: &Mood, many: bool) -> Value {
    let mut subset = json!({});
    // Few numbers, so that addresses meet again in another subset or on the other side.
    let pool = if many { 150 } else { r.weighted(&[(50, 60), (30, 12), (20, 4)]) };
    let top = if many { 120 } else { 7 };
    for (key, chance) in [("addresses", 88), ("notReadyAddresses", 35)] {
        if r.percent(chance) {
            let n = r.below(top);
            let list: Vec<Value> = (0..n).map(|_| address(r, m, pool)).collect();
            subset[key] = list.into();
        }
    }
    let n = r.weighted(&[(8, 0), (57, 1), (25, 2), (10, 3)]);
    let ports: Vec<Value> = (0..n).map(|i| port(r, i, n)).collect();
    if n > 0 || r.percent(40) {
        subset["ports"] = ports.into();
    }
    subset
}

fn port(r: &mut Rng, i: usize, of: usize) -> Value {
    let mut port = json!({ "port": r.pick(&[80, 80, 443, 8080]), "protocol": r.weighted(&[(80, "TCP"), (20, "UDP")]) });
    if of > 1 || r.percent(60) {
        port["name"] = ["a", "b", "c"][i].into();
    }
    if r.percent(15) {
        port["appProtocol"] = r.pick(&["http", "kubernetes.io/h2c"]).into();
    }
    port
}

pub(crate) fn address(r: &mut Rng, m: &Mood, pool: usize) -> Value {
    let i = r.below(pool);
    let ip = if r.percent(2 + m.odd / 2) {
        if r.percent(50) { r.pick(&INVALID).to_owned() } else { other_notation(r, i) }
    } else if r.percent(20) {
        v6(i)
    } else {
        v4(i)
    };
    let mut address = json!({ "ip": ip });
    if r.percent(15) {
        address["hostname"] = format!("h{}", r.below(3)).into();
    }
    if r.percent(30) {
        address["nodeName"] = format!("node-{}", r.below(3)).into();
    }
    match r.below(12) {
        0..=2 => {
            address["targetRef"] =
                json!({ "kind": "Pod", "namespace": NAMESPACE, "name": format!("pod-{i}"), "uid": format!("u{i}") });
        }
        3 => {
            address["targetRef"] = json!({ "kind": "Pod", "namespace": NAMESPACE, "name": format!("pod-{}", i % 3), "uid": format!("u{i}"), "resourceVersion": "5" });
        }
        4 => address["targetRef"] = json!({ "kind": "Node", "name": format!("node-{i}") }),
        _ => {}
    }
    address
}
