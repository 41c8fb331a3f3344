//! Random pods and the nodes they run on.

use serde_json::{Value, json};

use super::super::rng::Rng;
use super::service::PORT_NAMES;
use super::{Mood, NAMESPACE, set};

/// Texts that look like an address and are none. Rare: what upstream makes of them is refused by the API.
const JUNK: [&str; 6] = ["junk", "10.0.0.256", "10.0.0", "fe80::1%eth0", "10.0.0.1/32", ""];
/// What a quantity of CPU may look like.
const CPUS: [&str; 14] =
    ["4", "4", "2", "8", "100m", "1500m", "1.5", "2k", "0.3333", "1e1", "250000u", ".5", "1Ki", "0"];

pub(crate) fn pods(r: &mut Rng, m: &Mood, service: &Value) -> Vec<Value> {
    let n = r.between(m.pods.0, m.pods.1);
    (0..n).map(|i| pod(r, m, service, i)).collect()
}

pub(crate) fn pod(r: &mut Rng, m: &Mood, service: &Value, i: usize) -> Value {
    let big = m.pods.1 > 900;
    let mut meta = json!({ "name": format!("pod-{i}"), "namespace": NAMESPACE, "uid": r.uid(), "resourceVersion": r.between(1, 9999).to_string() });
    if r.percent(m.odd / 2) {
        meta["namespace"] = "other".into();
    }
    meta["labels"] = json!({ "app": r.weighted(&[(92, "x"), (8, "y")]) });
    if r.percent(40) {
        meta["labels"]["tier"] = r.pick(&["y", "z"]).into();
    }
    if r.percent(if big { 1 } else { 8 }) {
        meta["deletionTimestamp"] = r.time().into();
    }
    let mut spec = json!({ "containers": containers(r, m) });
    if !m.uniform && r.percent(22) {
        let mut side = json!({ "name": "side", "image": "i", "ports": [container_port(r, m, "side")] });
        if r.percent(40) {
            let name = r.pick(&PORT_NAMES);
            side["ports"].as_array_mut().unwrap().push(container_port(r, m, name));
        }
        set(&mut side, "restartPolicy", r.weighted(&[(70, Some("Always")), (30, None)]));
        spec["initContainers"] = json!([{ "name": "init", "image": "i" }, side]);
    }
    set(&mut spec, "nodeName", node_name(r, m));
    if r.percent(15 + m.odd) {
        spec["hostname"] = format!("h{}", r.below(12)).into();
    }
    if r.percent(20 + m.odd) {
        spec["subdomain"] = if r.percent(65) { service["metadata"]["name"].clone() } else { "elsewhere".into() };
    }
    let status = status(r, m, i);
    json!({ "metadata": meta, "spec": spec, "status": status })
}

fn node_name(r: &mut Rng, m: &Mood) -> Value {
    if r.percent(m.odd / 3) {
        return if r.percent(50) { Value::Null } else { "".into() };
    }
    // Nodes 6 and 7 are often not there.
    let n = if r.percent(2 + m.odd) { r.between(6, 7) } else { r.below(6) };
    format!("node-{n}").into()
}

fn containers(r: &mut Rng, m: &Mood) -> Vec<Value> {
    if m.uniform {
        // One container with every name, so that all pods agree.
        let ports: Vec<Value> = PORT_NAMES[..4]
            .iter()
            .enumerate()
            .map(|(i, n)| json!({ "name": n, "containerPort": 8080 + i, "protocol": "TCP" }))
            .collect();
        return vec![json!({ "name": "c", "image": "i", "ports": ports })];
    }
    let n = r.weighted(&[(70, 1), (25, 2), (5, 0)]);
    (0..n)
        .map(|i| {
            let mut container = json!({ "name": format!("c{i}"), "image": "i" });
            let mut ports: Vec<Value> = Vec::new();
            for name in PORT_NAMES {
                if r.percent(60) {
                    ports.push(container_port(r, m, name));
                }
            }
            if !ports.is_empty() {
                container["ports"] = ports.into();
            }
            container
        })
        .collect()
}

fn container_port(r: &mut Rng, m: &Mood, name: &str) -> Value {
    let number = r.weighted(&[(70, 8080), (15, 8081), (10, 53), (5, 9090)]);
    let mut port = json!({ "name": name, "containerPort": number, "protocol": r.weighted(&[(85, "TCP"), (12, "UDP"), (3, "SCTP")]) });
    if r.percent(m.odd / 3) {
        port.as_object_mut().unwrap().remove("name");
    }
    port
}

pub(crate) fn status(r: &mut Rng, m: &Mood, i: usize) -> Value {
    let mut status = json!({});
    let calm = m.zones || m.packing;
    set(
        &mut status,
        "phase",
        r.weighted(&[
            (if calm { 900 } else { 220 }, Some("Running")),
            (20, Some("Pending")),
            (8, Some("Succeeded")),
            (8, Some("Failed")),
            (5, Some("Unknown")),
            (2, None),
        ]),
    );
    addresses(r, m, i, &mut status);
    set(&mut status, "conditions", conditions(r, calm));
    status
}

pub(crate) fn conditions(r: &mut Rng, calm: bool) -> Value {
    let ready = |r: &mut Rng, status: &str| {
        let mut c = json!({ "type": "Ready", "status": status });
        match r.below(20) {
            0..=13 => c["lastTransitionTime"] = r.time().into(),
            14 => c["lastTransitionTime"] = Value::Null,
            15 => c["lastTransitionTime"] = "2026-05-06T14:50:12+02:00".into(),
            _ => {}
        }
        c
    };
    let truth = r.weighted(&[
        (if calm { 90 } else { 65 }, "True"),
        (if calm { 8 } else { 25 }, "False"),
        (4, "Unknown"),
        (4, "-"),
    ]);
    let mut list = Vec::new();
    if r.percent(30) {
        list.push(json!({ "type": "Initialized", "status": "True", "lastTransitionTime": r.time() }));
    }
    if truth != "-" {
        list.push(ready(r, truth));
    }
    if r.percent(2) {
        // The first one counts.
        list.push(ready(r, if truth == "True" { "False" } else { "True" }));
    }
    if r.percent(20) {
        list.push(json!({ "type": "ContainersReady", "status": "True" }));
    }
    if list.is_empty() && r.percent(50) { Value::Null } else { list.into() }
}

pub(crate) fn v4(i: usize) -> String {
    format!("10.{}.{}.{}", i / 60000 % 200, i / 240 % 250, i % 240 + 1)
}

pub(crate) fn v6(i: usize) -> String {
    format!("fd00::{:x}:{:x}", i / 4000 + 1, i % 4000 + 10)
}

/// The same address in another notation: parsable, not canonical.
pub(crate) fn other_notation(r: &mut Rng, i: usize) -> String {
    let four = v4(i);
    match r.below(6) {
        0 => format!("0{four}"),
        1 => four.replace('.', ".0"),
        2 => format!("::ffff:{four}"),
        3 => format!("::FFFF:{four}"),
        4 => v6(i).to_uppercase(),
        _ => format!("fd00:0:0:0::00{:x}", i % 200 + 16),
    }
}

#[expect(clippy::many_single_char_names, reason = "a, b and c are addresses")]
fn addresses(r: &mut Rng, m: &Mood, i: usize, status: &mut Value) {
    // Some numbers return, so that pods share an address.
    let i = if r.percent(m.odd / 2) { r.below(6) } else { i + 10 };
    let (a, b) = (v4(i), v6(i));
    let (first, all): (Value, Value) = if r.percent(m.odd * 2) {
        let c = v4(i + 3000);
        match r.below(14) {
            0 => (a.into(), Value::Null),
            1 => (b.into(), Value::Null),
            2 => (Value::Null, json!([{ "ip": a }])),
            3 => (Value::Null, json!([{ "ip": b }, { "ip": a }])),
            4 => (a.clone().into(), json!([{ "ip": a }, { "ip": c }])),
            5 => (c.into(), json!([{ "ip": a }, { "ip": b }])),
            6 => (b.clone().into(), json!([{ "ip": b }, { "ip": v6(i + 3000) }, { "ip": a }])),
            7 => (a.clone().into(), json!([{ "ip": a }, { "ip": a }])),
            8 | 9 => (Value::Null, Value::Null),
            10..=12 => {
                let odd = other_notation(r, i);
                (odd.clone().into(), json!([{ "ip": odd }]))
            }
            _ if r.percent(25) => {
                let junk = r.pick(&JUNK);
                (junk.into(), json!([{ "ip": junk }, { "ip": a }]))
            }
            _ => (a.into(), json!([])),
        }
    } else {
        match r.below(10) {
            0..=3 => (a.clone().into(), json!([{ "ip": a }])),
            4..=6 => (a.clone().into(), json!([{ "ip": a }, { "ip": b }])),
            7 | 8 => (b.clone().into(), json!([{ "ip": b }, { "ip": a }])),
            _ => (b.clone().into(), json!([{ "ip": b }])),
        }
    };
    set(status, "podIP", first);
    set(status, "podIPs", all);
}

pub(crate) fn nodes(r: &mut Rng, m: &Mood) -> Vec<Value> {
    let zones = if m.zones { r.between(2, 4) } else { r.between(1, 4) };
    let n = if m.zones { r.between(zones, 8) } else { r.weighted(&[(75, 6), (10, 8), (10, 3), (5, 0)]) };
    (0..n).map(|i| node(r, m, i, zones)).collect()
}

pub(crate) fn node(r: &mut Rng, m: &Mood, i: usize, zones: usize) -> Value {
    let name = format!("node-{i}");
    let mut labels = json!({ "kubernetes.io/hostname": name });
    // Every zone has a node before any has two.
    let zone = ["a", "b", "c", "d"][if i < zones { i } else { r.below(zones) }];
    if !r.percent(m.odd) {
        labels["topology.kubernetes.io/zone"] = zone.into();
    } else if r.percent(30) {
        labels["topology.kubernetes.io/zone"] = "".into();
    }
    if r.percent(3) {
        labels[r.pick(&["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"])] =
            r.pick(&["", "true"]).into();
    }
    let mut status = json!({});
    let cpu = if m.zones && r.percent(60) { "4" } else { r.pick(&CPUS) };
    if !r.percent(m.odd) {
        status["allocatable"] = json!({ "cpu": cpu, "memory": "8Gi" });
    } else if r.percent(50) {
        status["allocatable"] = json!({ "memory": "8Gi" });
    }
    let ready = r.weighted(&[(90, "True"), (4, "False"), (3, "Unknown"), (3, "-")]);
    if ready != "-" {
        status["conditions"] =
            json!([{ "type": "MemoryPressure", "status": "False" }, { "type": "Ready", "status": ready }]);
    }
    json!({ "metadata": { "name": name, "uid": r.uid(), "resourceVersion": "3", "labels": labels }, "status": status })
}
