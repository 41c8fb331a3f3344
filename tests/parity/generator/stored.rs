//! What the cluster holds already: the reference's own writes, edits of them by a foreign hand, and
//! objects that no controller ever wrote.

use serde_json::{Value, json};

use super::super::rng::Rng;
use super::pods::{other_notation, v4, v6};
use super::{Mood, NAMESPACE, list, set};

const SLICES: &str = "endpointslice-controller.k8s.io";
const MIRROR: &str = "endpointslicemirroring-controller.k8s.io";
const TRIGGER: &str = "endpoints.kubernetes.io/last-change-trigger-time";

/// Carries an answer's writes out, as the API server would.
pub(crate) fn apply(r: &mut Rng, case: &mut Value, answer: &Value) {
    let whole = case["controller"] == "endpoints";
    for action in answer["actions"].as_array().into_iter().flatten() {
        let mut object = action["object"].clone();
        if object.to_string().contains("\"<nil>\"") {
            continue; // an address that Go could not parse; an API server refuses the object
        }
        if object.is_object() {
            stamp(r, &mut object, &action["name"]);
        }
        if whole {
            set(case, "endpoints", object);
            continue;
        }
        let slices = list(case, "endpointSlices");
        let at = slices.iter().position(|s| s["metadata"]["name"] == action["name"]);
        match (at, object.is_object()) {
            (Some(i), true) => slices[i] = object,
            (Some(i), false) => {
                slices.remove(i);
            }
            (None, true) => slices.push(object),
            (None, false) => {}
        }
    }
    for s in case["endpointSlices"].as_array().into_iter().flatten() {
        assert!(s["metadata"]["name"].is_string(), "a stored slice has no name");
    }
    if case["endpointSlices"].is_null() {
        set(case, "endpointSlices", Value::Null);
    }
}

/// What the API server adds to an object that it stores.
fn stamp(r: &mut Rng, object: &mut Value, name: &Value) {
    let meta = &mut object["metadata"];
    meta["name"] = name.clone();
    meta["namespace"] = NAMESPACE.into();
    if !meta["creationTimestamp"].is_string() {
        meta["creationTimestamp"] = r.time().into();
    }
    if meta["uid"].as_str().is_none_or(|u| u.starts_with("uid-") || u.is_empty()) {
        meta["uid"] = r.uid().into();
    }
    meta["resourceVersion"] = r.between(100, 900).to_string().into();
}

/// Puts objects there that nobody asked for.
pub(crate) fn invent(r: &mut Rng, m: &Mood, case: &mut Value) {
    let name = case["service"]["metadata"]["name"].clone();
    if case["controller"] == "endpoints" {
        let mut service = json!({ "metadata": { "name": name } });
        service = super::endpoints::unmanaged(r, m, &service);
        case["endpoints"] = service;
        return;
    }
    for i in 0..r.between(1, 3) {
        let slice = invented_slice(r, case, i);
        list(case, "endpointSlices").push(slice);
    }
}

fn invented_slice(r: &mut Rng, case: &Value, i: usize) -> Value {
    let (service, mirroring) = (&case["service"], case["controller"] == "mirroring");
    let owner = if mirroring { &case["endpoints"] } else { service };
    let name = service["metadata"]["name"].as_str().unwrap_or("web");
    let six = r.percent(25);
    let endpoints: Vec<Value> = (0..r.below(5))
        .map(|_| {
            let n = r.below(30);
            json!({
                "addresses": [if six { v6(n) } else { v4(n) }],
                "conditions": { "ready": r.percent(80), "serving": true, "terminating": false },
                "nodeName": format!("node-{}", n % 5),
                "targetRef": { "kind": "Pod", "namespace": NAMESPACE, "name": format!("pod-{n}"), "uid": format!("u{n}") },
            })
        })
        .collect();
    let mut slice = json!({
        "addressType": if six { "IPv6" } else { "IPv4" },
        "metadata": {
            "name": format!("{name}-made{i}"), "namespace": NAMESPACE, "uid": r.uid(), "resourceVersion": "55", "generation": 1,
            "creationTimestamp": r.time(),
            "labels": { "kubernetes.io/service-name": name, "endpointslice.kubernetes.io/managed-by": if mirroring { MIRROR } else { SLICES } },
            "ownerReferences": [{
                "apiVersion": "v1", "kind": if mirroring { "Endpoints" } else { "Service" }, "name": name, "uid": owner["metadata"]["uid"],
                "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "endpoints": endpoints,
    });
    let ports = match r.below(7) {
        0..=2 => json!([{ "name": "p0", "port": 8080, "protocol": "TCP" }]),
        3 | 4 => json!([{ "name": "", "port": 80, "protocol": "TCP" }]),
        5 => json!([]),
        _ => Value::Null,
    };
    set(&mut slice, "ports", ports);
    slice
}

/// A foreign hand: up to four edits.
pub(crate) fn edit(r: &mut Rng, case: &mut Value) {
    let mirroring = case["controller"] == "mirroring";
    for _ in 0..r.weighted(&[(55, 1), (25, 2), (20, 4)]) {
        if case["controller"] == "endpoints" {
            if let Some(object) = case.get_mut("endpoints") {
                edit_endpoints(r, object);
            }
        } else if let Some(slices) = case.get_mut("endpointSlices").and_then(Value::as_array_mut) {
            if slices.is_empty() {
                return;
            }
            if r.percent(25) {
                rearrange(r, slices);
            } else {
                let at = r.below(slices.len());
                if r.percent(45) {
                    edit_slice(r, &mut slices[at], mirroring);
                } else {
                    edit_endpoint(r, &mut slices[at]);
                }
            }
        }
    }
}

fn edit_endpoints(r: &mut Rng, object: &mut Value) {
    let meta = &mut object["metadata"];
    match r.below(15) {
        0 => meta["labels"]["extra"] = "1".into(),
        1 => drop_random_key(r, &mut meta["labels"]),
        2 => meta["labels"]["endpoints.kubernetes.io/managed-by"] = "me".into(),
        3 => set(&mut meta["labels"], "service.kubernetes.io/headless", r.pick(&[None, Some(""), Some("x")])),
        4 => {
            meta["annotations"]["endpoints.kubernetes.io/over-capacity"] = r.pick(&["warning", "truncated", ""]).into();
        }
        5 => meta["annotations"][TRIGGER] = r.time().into(),
        6 => meta["annotations"]["example.org/note"] = "keep".into(),
        7 => meta["finalizers"] = json!(["example.org/f"]),
        8 => meta["ownerReferences"] = json!([{ "apiVersion": "v1", "kind": "Service", "name": "x", "uid": "y" }]),
        9 => set(object, "subsets", Value::Null),
        10 => {
            let subsets = list(object, "subsets");
            r.shuffle(subsets);
        }
        11 => {
            // Half of a subset moves into a second one of the same ports.
            let subsets = list(object, "subsets");
            if let Some(mut half) = subsets.first().cloned()
                && let Some(all) = subsets[0]["addresses"].as_array_mut()
                && all.len() > 1
            {
                half["addresses"] = all.split_off(all.len() / 2).into();
                set(&mut half, "notReadyAddresses", Value::Null);
                subsets.push(half);
            }
        }
        12 => set(&mut meta["annotations"], TRIGGER, Value::Null),
        _ => {
            for subset in list(object, "subsets") {
                edit_addresses(r, subset);
            }
        }
    }
}

fn drop_random_key(r: &mut Rng, map: &mut Value) {
    if let Some(map) = map.as_object_mut()
        && !map.is_empty()
    {
        let key = map.keys().nth(r.below(map.len())).cloned().unwrap_or_default();
        map.remove(&key);
    }
}

fn edit_addresses(r: &mut Rng, subset: &mut Value) {
    let key = if r.percent(70) { "addresses" } else { "notReadyAddresses" };
    let Some(all) = subset.get_mut(key).and_then(Value::as_array_mut) else { return };
    if all.is_empty() {
        return;
    }
    let at = r.below(all.len());
    match r.below(9) {
        0 => {
            all.remove(at);
        }
        1 => all.push(json!({ "ip": "10.9.9.9", "targetRef": { "kind": "Pod", "namespace": NAMESPACE, "name": "gone", "uid": "gone" } })),
        2 => all.push(all[at].clone()),
        3 => all[at]["targetRef"]["resourceVersion"] = "1".into(),
        4 => all[at]["targetRef"]["uid"] = "other".into(),
        5 => set(&mut all[at], "nodeName", r.pick(&[None, Some("node-9"), Some("")])),
        6 => set(&mut all[at], "hostname", r.pick(&[None, Some("h9")])),
        7 => r.shuffle(all),
        _ => {
            let moved = all.remove(at);
            let other = if key == "addresses" { "notReadyAddresses" } else { "addresses" };
            list(subset, other).push(moved);
        }
    }
    for key in ["addresses", "notReadyAddresses"] {
        if subset[key].as_array().is_some_and(Vec::is_empty) || subset[key].is_null() {
            set(subset, key, Value::Null);
        }
    }
}

/// Edits that concern how endpoints lie in slices.
fn rearrange(r: &mut Rng, slices: &mut Vec<Value>) {
    let at = r.below(slices.len());
    match r.below(6) {
        0 => {
            slices.remove(at);
        }
        1 | 2 => {
            // One slice becomes two; a packing that no controller would choose.
            let mut half = slices[at].clone();
            if let Some(all) = slices[at]["endpoints"].as_array_mut()
                && all.len() > 1
            {
                half["endpoints"] = all.split_off(r.between(1, all.len() - 1)).into();
                rename(r, &mut half);
                slices.push(half);
            }
        }
        3 => {
            let mut copy = slices[at].clone();
            rename(r, &mut copy);
            slices.push(copy);
        }
        4 => {
            let mut empty = slices[at].clone();
            empty["endpoints"] = json!([]);
            if r.percent(50) {
                empty["ports"] = json!([]);
            }
            rename(r, &mut empty);
            slices.push(empty);
        }
        _ => {
            // An endpoint also stands in another slice.
            let to = r.below(slices.len());
            if let Some(e) = slices[at]["endpoints"].get(0).cloned() {
                list(&mut slices[to], "endpoints").push(e);
            }
        }
    }
}

fn rename(r: &mut Rng, slice: &mut Value) {
    let name = format!("{}-{:x}", slice["metadata"]["name"].as_str().unwrap_or("s"), r.below(0xf_ffff));
    slice["metadata"]["name"] = name.into();
    slice["metadata"]["uid"] = r.uid().into();
}

fn edit_slice(r: &mut Rng, slice: &mut Value, mirroring: bool) {
    let meta = &mut slice["metadata"];
    match r.below(19) {
        0 => meta["labels"]["extra"] = "1".into(),
        1 => drop_random_key(r, &mut meta["labels"]),
        2 => meta["labels"]["endpointslice.kubernetes.io/managed-by"] = r.pick(&[SLICES, MIRROR, "me"]).into(),
        3 => meta["labels"]["kubernetes.io/service-name"] = "elsewhere".into(),
        4 => set(&mut meta["labels"], "service.kubernetes.io/headless", r.pick(&[None, Some(""), Some("x")])),
        5 => first_owner(meta)["uid"] = "another".into(),
        6 => set(meta, "ownerReferences", Value::Null),
        7 => first_owner(meta)["kind"] = "Pod".into(),
        8 => first_owner(meta)["apiVersion"] = "v2".into(),
        9 => {
            let owner = json!({ "apiVersion": "v1", "kind": if mirroring { "Endpoints" } else { "Service" }, "name": "x", "uid": "another" });
            let owners = list(meta, "ownerReferences");
            owners.insert(r.below(owners.len() + 1), owner);
        }
        10 => first_owner(meta)["controller"] = false.into(),
        11 | 12 => {
            meta["deletionTimestamp"] = r.time().into();
            meta["finalizers"] = json!(["example.org/f"]);
        }
        13 => meta["annotations"]["example.org/note"] = "keep".into(),
        14 => set(&mut meta["annotations"], TRIGGER, r.pick(&[None, Some("2026-02-03T04:05:06Z")])),
        15 => set(slice, "ports", if r.percent(50) { Value::Null } else { json!([]) }),
        16 => {
            let ports = list(slice, "ports");
            ports.reverse();
            if let Some(p) = ports.get_mut(0)
                && r.percent(50)
            {
                p["port"] = 1.into();
            }
        }
        17 => slice["addressType"] = r.pick(&["FQDN", "IPv6", "IPv4"]).into(),
        _ => meta["finalizers"] = json!(["example.org/f"]),
    }
}

fn first_owner(meta: &mut Value) -> &mut Value {
    let owners = list(meta, "ownerReferences");
    if owners.is_empty() {
        owners.push(json!({ "apiVersion": "v1", "kind": "Service", "name": "x", "uid": "another" }));
    }
    &mut owners[0]
}

fn edit_endpoint(r: &mut Rng, slice: &mut Value) {
    let all = list(slice, "endpoints");
    if all.is_empty() {
        all.push(json!({ "addresses": ["10.9.9.9"], "conditions": { "ready": true } }));
        return;
    }
    let at = r.below(all.len());
    let e = &mut all[at];
    match r.below(19) {
        0 => set(e, "conditions", r.pick(&[None, Some(())]).map_or(Value::Null, |()| json!({}))),
        1 => drop_random_key(r, &mut e["conditions"]),
        2 => e["conditions"]["ready"] = r.percent(50).into(),
        3 => e["hints"] = json!({ "forZones": [{ "name": r.pick(&["a", "b", "zz"]) }] }),
        4 => e["hints"] = json!({ "forZones": [{ "name": "a" }, { "name": "b" }] }),
        5 => {
            e["hints"] =
                json!({ "forNodes": [{ "name": r.pick(&["node-1", "node-2"]) }], "forZones": [{ "name": "a" }] });
        }
        6 => set(e, "hints", r.pick(&[None, Some(())]).map_or(Value::Null, |()| json!({}))),
        7 => set(e, "nodeName", r.pick(&[None, Some("node-9"), Some("node-1")])),
        8 => set(e, "zone", r.pick(&[None, Some("z9"), Some("a")])),
        9 => set(e, "hostname", r.pick(&[None, Some("h1"), Some("")])),
        10 => e["targetRef"]["uid"] = "other".into(),
        11 => set(e, "targetRef", Value::Null),
        12 => e["targetRef"]["resourceVersion"] = "1".into(),
        13 => e["targetRef"]["name"] = "renamed".into(),
        14 => e["deprecatedTopology"] = json!({ "example.org/rack": "7" }),
        15 => e["addresses"] = json!([other_notation(r, at)]),
        16 => list(e, "addresses").push(v4(77).into()),
        17 => {
            all.remove(at);
        }
        _ => {
            let copy = all[at].clone();
            all.push(copy);
        }
    }
}
