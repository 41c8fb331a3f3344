//! Realistic objects with some faults and sometimes too many addresses: a second patch is empty, with and without a
//! cluster.
#![no_main]

use libfuzzer_sys::fuzz_target;
use roster_admission::{AdmissionRequest, KINDS, Nothing, Operation};
use roster_fuzz::{
    reviews::{settle, strict},
    state,
};
use roster_manifests::{
    decode::{self, Source},
    inventory::{Answers, Inventory, Snapshot},
};
use serde_json::{Value, json, value::to_raw_value};

fuzz_target!(|given: (state::Request, u16)| {
    let (state::Request(state), swell) = given;
    let (inventory, settings) = (cluster(&state), strict());
    let slices = state["endpointSlices"].as_array().into_iter().flatten();
    let objects = [("Service", &state["service"]), ("Endpoints", &state["endpoints"])];
    for (kind, object) in objects.into_iter().chain(slices.map(|s| ("EndpointSlice", s))) {
        let mut object = object.clone();
        if !object.is_object() {
            continue;
        }
        // Long lists take long: one in eight.
        if swell % 8 == 0 {
            fill(&mut object, usize::from(swell / 8 % 1500));
        }
        let raw = to_raw_value(&object).expect("it is JSON");
        let row = KINDS.iter().find(|k| k.resource.kind() == kind).expect("it is in the table");
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let request = AdmissionRequest {
            group: row.resource.group().into(),
            version: row.resource.version().into(),
            kind: kind.into(),
            namespace: text("/metadata/namespace").into(),
            name: text("/metadata/name").into(),
            operation: Some(Operation::Create),
            object: Some(&raw),
            ..AdmissionRequest::default()
        };
        settle(&request, &settings, &Nothing);
        settle(&request, &settings, &Answers(Snapshot::of(&inventory)));
    }
});

/// The objects of the state, as a cluster holds them.
fn cluster(state: &Value) -> Inventory {
    let mut items = Vec::new();
    for (field, kind) in [("pods", "Pod"), ("nodes", "Node"), ("endpointSlices", "EndpointSlice")] {
        items.extend(state[field].as_array().into_iter().flatten().map(|o| typed(o, kind)));
    }
    items.push(typed(&state["service"], "Service"));
    let mut inventory = Inventory::default();
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": items }).to_string();
    // Objects that cannot be read are left out.
    let _ = decode::read(list.as_bytes(), &Source::body(), &mut inventory);
    inventory
}

fn typed(object: &Value, kind: &str) -> Value {
    let mut object = object.clone();
    if let Value::Object(map) = &mut object {
        let version = if kind == "EndpointSlice" { "discovery.k8s.io/v1" } else { "v1" };
        map.extend([("apiVersion".to_owned(), version.into()), ("kind".to_owned(), kind.into())]);
    }
    object
}

/// More addresses, in the first list of each subset.
fn fill(object: &mut Value, addresses: usize) {
    for subset in object.get_mut("subsets").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(list) = subset.get_mut("addresses").and_then(Value::as_array_mut) {
            list.extend((0..addresses).map(|i| json!({ "ip": format!("10.1.{}.{}", i / 250, i % 250) })));
        }
    }
}
