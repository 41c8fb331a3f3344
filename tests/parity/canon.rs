//! What it means that a recorded answer, in which Go's map order had a say, equals ours.
//!
//! An answer is brought into a canonical form, and the forms are compared as they are. The form keeps
//! labels, annotations, finalizers, owners, subsets, ports, endpoints, the kind and number of writes,
//! and events. It lets go of the following and of nothing else, each because Go's map order, a hash order
//! or the API server decides it, not the controller:
//!
//! * names, uids, versions, generations and creation times of written objects (the server's);
//! * nulls, empty lists and empty maps, which the API's serialisation does not tell from absence;
//! * the order of lists;
//! * `targetRef.resourceVersion`, which no comparison of the controllers looks at either;
//! * which endpoint lies in which slice of the same address type and ports: the endpoints of all of them
//!   and their sizes are kept, and so are the metadata of all of them;
//! * which endpoint carries which zone hint where `topology-mode: Auto` allocates them: the number of
//!   hints per zone is kept;
//! * the text of an error and of the `FailedTo…` event that repeats it: an aggregate lists its parts in any
//!   order. That there was an error is kept;
//! * of Endpoints cut down to 1000 addresses in several subsets, which subset gave up how many: a hash order
//!   decides; the totals are kept. Subsets that were left without an address do not count, as an API server
//!   would refuse them.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

const HINTS: [&str; 2] = ["service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode"];

/// The canonical form of `answer` to `case`.
pub(crate) fn canon(case: &Value, answer: &Value) -> Value {
    let actions = items(&answer["actions"]);
    let failed = answer["error"].as_str().is_some_and(|e| !e.is_empty());
    let mut events: Vec<String> =
        items(&answer["events"]).iter().map(|e| event_form(e.as_str().unwrap_or_default())).collect();
    events.sort();
    if case["controller"] == "endpoints" {
        let writes: Vec<Value> = actions
            .iter()
            .map(|a| json!({ "verb": a["verb"], "object": if a["object"].is_object() { endpoints_form(&a["object"]) } else { Value::Null } }))
            .collect();
        return json!({ "failed": failed, "events": events, "writes": writes });
    }
    let mut verbs: BTreeMap<&str, usize> = BTreeMap::new();
    for a in actions {
        *verbs.entry(a["verb"].as_str().unwrap_or_default()).or_default() += 1;
    }
    // What is on its way out counts for neither side.
    let stored = items(&case["endpointSlices"]).iter().filter(|o| !is_set(&o["metadata"]["deletionTimestamp"]));
    let state = slices_form(&final_state(stored, actions), &case["service"]);
    json!({ "failed": failed, "events": events, "verbs": verbs, "state": state })
}

fn items(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

fn is_set(v: &Value) -> bool {
    !v.is_null() && v != ""
}

/// Without nulls, empty lists and empty maps, and with sorted keys.
fn clean(v: &Value) -> Value {
    match v {
        Value::Object(map) => {
            let kept: BTreeMap<&String, Value> =
                map.iter().map(|(k, v)| (k, clean(v))).filter(|(_, v)| !is_empty(v)).collect();
            kept.into_iter().map(|(k, v)| (k.clone(), v)).collect::<Map<_, _>>().into()
        }
        Value::Array(list) => list.iter().map(clean).collect(),
        other => other.clone(),
    }
}

fn is_empty(v: &Value) -> bool {
    match v {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}

/// Sorted texts of a list's items; the items are clean, so that equal ones have equal texts.
fn keys<'a>(list: impl IntoIterator<Item = &'a Value>) -> Vec<String> {
    let mut keys: Vec<String> = list.into_iter().map(Value::to_string).collect();
    keys.sort();
    keys
}

fn without_pod_version(mut endpoint: Value) -> Value {
    if let Some(target) = endpoint.get_mut("targetRef").and_then(Value::as_object_mut) {
        target.remove("resourceVersion");
    }
    endpoint
}

fn meta_form(object: &Value) -> Value {
    let meta = &object["metadata"];
    let or_empty = |key: &str, empty: Value| if meta[key].is_null() { empty } else { meta[key].clone() };
    json!({
        "labels": or_empty("labels", json!({})), "annotations": or_empty("annotations", json!({})),
        "finalizers": or_empty("finalizers", json!([])), "owners": keys(items(&meta["ownerReferences"])),
    })
}

fn endpoints_form(object: &Value) -> Value {
    let object = clean(object);
    let addresses = |s: &Value, key: &str| {
        let list: Vec<Value> = items(&s[key]).iter().cloned().map(without_pod_version).collect();
        keys(&list)
    };
    let mut subsets: Vec<Value> = Vec::new();
    let (mut ready, mut not_ready) = (0, 0);
    for s in items(&object["subsets"]) {
        let (a, b) = (addresses(s, "addresses"), addresses(s, "notReadyAddresses"));
        if a.is_empty() && b.is_empty() {
            continue;
        }
        ready += a.len();
        not_ready += b.len();
        subsets.push(json!({ "addresses": a, "notReady": b, "ports": keys(items(&s["ports"])) }));
    }
    let meta = meta_form(&object);
    let name = &object["metadata"]["name"];
    if meta["annotations"]["endpoints.kubernetes.io/over-capacity"] == "truncated" && subsets.len() > 1 {
        return json!({ "name": name, "meta": meta, "truncated": [ready, not_ready] });
    }
    subsets.sort_by_cached_key(Value::to_string);
    json!({ "name": name, "meta": meta, "subsets": subsets })
}

fn endpoint_form(endpoint: &Value, keep_hints: bool) -> String {
    let mut e = endpoint.clone();
    let mut addresses = items(&e["addresses"]).to_vec();
    addresses.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
    e["addresses"] = addresses.into();
    if !keep_hints && let Some(e) = e.as_object_mut() {
        e.remove("hints");
    }
    without_pod_version(clean_keys(e)).to_string()
}

/// Sorts the keys of one object again, after one was added at the end.
fn clean_keys(object: Value) -> Value {
    match object {
        Value::Object(map) => map.into_iter().collect::<BTreeMap<_, _>>().into_iter().collect::<Map<_, _>>().into(),
        other => other,
    }
}

/// Slices of one address type and one list of ports.
#[derive(Default)]
struct Group {
    sizes: Vec<usize>,
    endpoints: Vec<String>,
    meta: Vec<String>,
}

fn slices_form(slices: &[&Value], service: &Value) -> Value {
    let notes = &service["metadata"]["annotations"];
    let asked = HINTS.iter().find_map(|key| notes.get(key)).and_then(Value::as_str);
    let exact_hints = !matches!(asked, Some("Auto" | "auto"));
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    let mut hinted: BTreeMap<String, usize> = BTreeMap::new();
    for slice in slices {
        let slice = clean(slice);
        let key = json!([slice["addressType"], keys(items(&slice["ports"]))]).to_string();
        let group = groups.entry(key).or_default();
        let endpoints = items(&slice["endpoints"]);
        group.sizes.push(endpoints.len());
        group.meta.push(meta_form(&slice).to_string());
        for e in endpoints {
            group.endpoints.push(endpoint_form(e, exact_hints));
            if !exact_hints {
                for zone in items(&e["hints"]["forZones"]) {
                    *hinted.entry(zone["name"].as_str().unwrap_or_default().to_owned()).or_default() += 1;
                }
            }
        }
    }
    let groups: Map<String, Value> = groups
        .into_iter()
        .map(|(key, mut g)| {
            g.sizes.sort_unstable();
            g.endpoints.sort();
            g.meta.sort();
            (key, json!({ "sizes": g.sizes, "endpoints": g.endpoints, "meta": g.meta }))
        })
        .collect();
    json!({ "groups": groups, "hints": hinted })
}

/// The slices after the writes.
fn final_state<'a>(stored: impl Iterator<Item = &'a Value>, actions: &'a [Value]) -> Vec<&'a Value> {
    let mut objects: BTreeMap<String, &Value> =
        stored.map(|o| (o["metadata"]["name"].as_str().unwrap_or_default().to_owned(), o)).collect();
    for (i, action) in actions.iter().enumerate() {
        let name = action["name"].as_str().unwrap_or_default();
        match action["verb"].as_str() {
            Some("create") => {
                objects.insert(format!("new-{i}"), &action["object"]);
            }
            Some("update") => {
                objects.insert(name.to_owned(), &action["object"]);
            }
            Some("delete") => {
                objects.remove(name);
            }
            Some("delete-collection") => objects.clear(),
            _ => {}
        }
    }
    objects.into_values().collect()
}

fn event_form(event: &str) -> String {
    let mut parts = event.splitn(3, ' ');
    let (kind, reason, text) =
        (parts.next().unwrap_or_default(), parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    format!("{kind} {reason} {}", if reason.starts_with("FailedTo") { "" } else { text })
}
