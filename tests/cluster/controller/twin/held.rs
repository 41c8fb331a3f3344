//! What a cluster holds, in a form in which two clusters can be compared.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::super::changes::{self, NAMESPACE};
use crate::{api::ApiServer, parity::canon::canon};

const TRIGGER_TIME: &str = "endpoints.kubernetes.io/last-change-trigger-time";

/// A part of what is written for a Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Endpoints,
    Slices,
}

/// The canonical form of the Endpoints and the slices of every Service.
pub(super) struct Held(BTreeMap<(String, Part), Value>);

impl Held {
    pub(super) fn of(api: &ApiServer) -> Self {
        let stored = Stored::of(api);
        let mut held = BTreeMap::new();
        for endpoints in stored.endpoints.values() {
            let answer = json!({ "actions": [{ "verb": "create", "object": stored.comparable(endpoints) }] });
            let form = canon(&json!({ "controller": "endpoints" }), &answer)["writes"][0]["object"].take();
            held.insert((text(&endpoints["metadata"]["name"]), Part::Endpoints), form);
        }
        let mut by_service: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for slice in &stored.slices {
            let service = text(&slice["metadata"]["labels"]["kubernetes.io/service-name"]);
            by_service.entry(service).or_default().push(stored.comparable(slice));
        }
        for (name, slices) in by_service {
            let service = stored.services.get(&name).unwrap_or(&Value::Null);
            let case = json!({ "controller": "endpointslices", "service": service, "endpointSlices": slices });
            let form = canon(&case, &json!({ "actions": [] }))["state"].take();
            held.insert((name, Part::Slices), form);
        }
        Self(held)
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = (String, Part)> {
        self.0.keys().cloned()
    }

    pub(super) fn get(&self, key: &(String, Part)) -> &Value {
        self.0.get(key).unwrap_or(&Value::Null)
    }
}

/// Whether slices of this form have hints.
pub(super) fn has_hints(form: &Value) -> bool {
    form["hints"].as_object().is_some_and(|by_zone| !by_zone.is_empty())
}

/// The form of slices with the number of all hints, in place of that of each zone.
pub(super) fn without_zones(form: &Value) -> Value {
    let mut form = form.clone();
    let by_zone = form["hints"].as_object();
    let sum = by_zone.map(|by_zone| by_zone.values().filter_map(Value::as_u64).sum::<u64>());
    form["hints"] = json!(sum);
    form
}

/// The form of slices without those that are empty beside others of their address type.
pub(super) fn without_emptied(form: &Value) -> Value {
    let mut form = form.clone();
    let Some(groups) = form["groups"].as_object_mut() else { return form };
    let family = |key: &str| serde_json::from_str::<Value>(key).unwrap()[0].clone();
    let is_empty = |group: &Value| group["endpoints"].as_array().is_some_and(Vec::is_empty);
    let filled: Vec<Value> = groups.iter().filter(|(_, g)| !is_empty(g)).map(|(key, _)| family(key)).collect();
    groups.retain(|key, group| !is_empty(group) || !filled.contains(&family(key)));
    form
}

/// The objects of the namespace.
struct Stored {
    services: BTreeMap<String, Value>,
    endpoints: BTreeMap<String, Value>,
    slices: Vec<Value>,
    /// The uids of what is there.
    uids: BTreeSet<String>,
}

impl Stored {
    fn of(api: &ApiServer) -> Self {
        let list = |resource: &str| {
            let list = api.get(&format!("/api/v1/namespaces/{NAMESPACE}/{resource}")).body["items"].take();
            let named =
                list.as_array().unwrap().iter().map(|object| (text(&object["metadata"]["name"]), object.clone()));
            named.collect::<BTreeMap<String, Value>>()
        };
        // What owns something is there before it.
        let slices = changes::slices(api);
        let (services, pods, endpoints) = (list("services"), list("pods"), list("endpoints"));
        let objects = services.values().chain(pods.values()).chain(endpoints.values());
        let uids = objects.map(|object| text(&object["metadata"]["uid"])).collect();
        Self { services, endpoints, slices, uids }
    }

    /// Without the time of a change. Of the uid of another object, it is kept whether that is stored.
    fn comparable(&self, object: &Value) -> Value {
        let mut object = object.clone();
        if let Some(annotations) = object["metadata"]["annotations"].as_object_mut() {
            annotations.remove(TRIGGER_TIME);
        }
        self.mark_uids(&mut object);
        object
    }

    fn mark_uids(&self, value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    match value {
                        Value::String(uid) if name == "uid" => {
                            let is_there = self.uids.contains(uid);
                            (if is_there { "of a stored object" } else { "of a deleted object" }).clone_into(uid);
                        }
                        value => self.mark_uids(value),
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.mark_uids(item)),
            _ => {}
        }
    }
}

/// Deletes the slices whose owner is gone. The garbage collector does not run.
pub(super) fn collect_garbage(api: &ApiServer) -> bool {
    let stored = Stored::of(api);
    let mut is_any = false;
    for slice in &stored.slices {
        let owner = &slice["metadata"]["ownerReferences"][0]["uid"];
        if owner.as_str().is_some_and(|owner| !stored.uids.contains(owner)) {
            let mut slice = slice.clone();
            slice["apiVersion"] = json!("discovery.k8s.io/v1");
            slice["kind"] = json!("EndpointSlice");
            is_any |= api.remove(&slice) < 300;
        }
    }
    is_any
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
