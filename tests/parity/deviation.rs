//! Where Roster differs from the reference on purpose; PARITY.md gives the reasons.
//!
//! Looked at only after the answers were found different, so that a state that merely could deviate is
//! still compared.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::canon::canon;
use crate::exact::exact;

/// The deviation that explains the difference between an answer of the reference and ours, if one does.
pub(crate) fn known(case: &Value, reference: &Value, ours: &Value) -> Option<&'static str> {
    if reference["error"].as_str().is_some_and(|e| e.starts_with("panic:")) {
        return Some("not compared: the reference panics");
    }
    if mixes_up_creations(case, reference, ours) {
        return Some("compared but for creations: the reference creates a mirrored slice under a name that is taken");
    }
    if writes_nil(reference) && rest(case, reference, ours) == rest(case, ours, reference) {
        return Some("compared without it: the reference publishes the address \"<nil>\" for a pod IP that is none");
    }
    None
}

/// What Go prints for an address that cannot be parsed.
const NIL: &str = "<nil>";

/// From 1.33 an address that cannot be parsed is printed as Go prints a missing one. An API server refuses
/// the object, forever; Roster leaves the address out and says so.
fn writes_nil(reference: &Value) -> bool {
    match reference {
        Value::String(text) => text == NIL,
        Value::Array(list) => list.iter().any(writes_nil),
        Value::Object(map) => map.values().any(writes_nil),
        _ => false,
    }
}

/// When it recycles slices, the mirroring controller takes the wrong slice off its list of creations if
/// both address families have some: it then creates one that it also updates, which an API server
/// refuses, and forgets another until the retry. All else is the same, and of what it creates under new names nothing
/// is lost.
fn mixes_up_creations(case: &Value, reference: &Value, ours: &Value) -> bool {
    if case["controller"] != "mirroring" {
        return false;
    }
    let taken = |name: &Value| items(&case["endpointSlices"]).iter().any(|s| s["metadata"]["name"] == *name);
    let creations = || items(&reference["actions"]).iter().filter(|a| a["verb"] == "create");
    let (theirs, ours) = (exact(case, reference), exact(case, ours));
    creations().any(|a| taken(&a["name"]))
        && ["error", "events", "change"].iter().all(|key| theirs[key] == ours[key])
        && creations()
            .zip(items(&theirs["create"]))
            .all(|(a, form)| taken(&a["name"]) || items(&ours["create"]).contains(form))
}

fn items(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

/// What `answer` leads to but for the endpoint `<nil>`, and for what follows from it: that one endpoint more
/// makes a write of none, fills a slice, or moves the allocation of hints.
fn rest(case: &Value, answer: &Value, other: &Value) -> Value {
    let (mut case, mut answer) = (case.clone(), answer.clone());
    for part in [&mut case, &mut answer] {
        leave_out(part);
    }
    let failed = answer["error"].as_str().is_some_and(|e| !e.is_empty());
    let of_hints = |e: &&Value| e.as_str().is_some_and(|e| e.contains("TopologyAwareHints"));
    let events = items(&answer["events"]).iter().filter(|e| !of_hints(e)).count();
    if case["controller"] == "endpoints" {
        // Nothing written leaves what is stored.
        let silent = |answer: &Value| items(&answer["actions"]).is_empty();
        let meta = !silent(&answer) && !silent(other);
        if silent(&answer) {
            answer["actions"] = json!([{ "verb": "update", "object": case["endpoints"] }]);
        }
        let form = canon(&case, &answer);
        let object = &form["writes"][0]["object"];
        // Where 1000 addresses are left of more, others take the place of this one.
        let lists = if object["truncated"].is_null() { by_port(&object["subsets"]) } else { Value::Null };
        let meta = if meta { object["meta"].clone() } else { Value::Null };
        return json!({ "failed": failed, "events": events, "lists": lists, "meta": meta });
    }
    let form = canon(&case, &answer);
    let groups = form["state"]["groups"].as_object().into_iter().flatten();
    let lists: BTreeMap<&String, &Value> =
        groups.map(|(key, g)| (key, &g["endpoints"])).filter(|(_, endpoints)| !items(endpoints).is_empty()).collect();
    json!({ "failed": failed, "events": events, "lists": lists })
}

/// The addresses of each port, however they are put into subsets.
fn by_port(subsets: &Value) -> Value {
    let mut lists: BTreeMap<String, BTreeSet<(&str, bool)>> = BTreeMap::new();
    for subset in items(subsets) {
        let mut ports: Vec<String> = items(&subset["ports"]).iter().map(Value::to_string).collect();
        if ports.is_empty() {
            ports.push(String::new());
        }
        for (key, ready) in [("addresses", true), ("notReady", false)] {
            for address in items(&subset[key]).iter().filter_map(Value::as_str) {
                for port in &ports {
                    lists.entry(port.clone()).or_default().insert((address, ready));
                }
            }
        }
    }
    json!(lists)
}

/// Takes `<nil>` out of all endpoints and addresses, and from endpoints what only lasts while their slice is not
/// written.
fn leave_out(value: &mut Value) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(leave_out),
        Value::Object(map) => {
            for (key, value) in map.iter_mut() {
                leave_out(value);
                let Value::Array(list) = value else { continue };
                match key.as_str() {
                    "addresses" | "notReadyAddresses" => list.retain(|a| a != NIL && a["ip"] != NIL),
                    "endpoints" => {
                        list.retain(|e| !items(&e["addresses"]).is_empty());
                        list.iter_mut().for_each(forget);
                    }
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

fn forget(endpoint: &mut Value) {
    let ready = endpoint["conditions"]["ready"] == true;
    if let Some(endpoint) = endpoint.as_object_mut() {
        endpoint.remove("deprecatedTopology");
        if !ready {
            endpoint.remove("hints");
        }
    }
}
