//! What is published for a Service, without what differs at every run: addresses, uids, generated names, times, and the
//! order and the arrangement of endpoints.

use std::collections::{BTreeMap, BTreeSet};

use roster_engine::model::Pod;
use serde::Serialize;
use serde_json::{Value, json};

/// The workload of a pod. Pods of one workload are alike, but for those of a StatefulSet, which have names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PodOwner {
    pub(super) kind: String,
    namespace: String,
    name: String,
    pod: String,
}

impl PodOwner {
    pub(super) fn of(pod: &Pod) -> Self {
        let owner = pod.owner.as_ref().unwrap();
        let hash = pod.labels.get("pod-template-hash").map(|hash| format!("-{hash}")).unwrap_or_default();
        let is_named = owner.kind == "StatefulSet";
        Self {
            kind: owner.kind.to_string(),
            namespace: pod.namespace().to_string(),
            name: owner.name.strip_suffix(&hash).unwrap_or(&owner.name).to_owned(),
            pod: if is_named { pod.name().to_string() } else { String::new() },
        }
    }
}

/// What is published for a Service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Published {
    /// Labels and subsets of the Endpoints.
    endpoints: Option<(Value, BTreeSet<String>)>,
    /// For each list of ports and address type the labels, and the endpoints with their number.
    slices: BTreeMap<String, (BTreeSet<String>, BTreeMap<String, usize>)>,
}

impl Published {
    /// `owner` knows the workload of a pod.
    pub(super) fn of(endpoints: &Value, slices: &[Value], owner: &dyn Fn(&str) -> Option<PodOwner>) -> Self {
        let mut all = BTreeMap::<String, (BTreeSet<String>, BTreeMap<String, usize>)>::new();
        for slice in slices {
            let ports = sorted(list(&slice["ports"]).iter().map(with_defaults));
            let of_ports = all.entry(format!("{} {ports}", slice["addressType"])).or_default();
            of_ports.0.insert(slice["metadata"]["labels"].to_string());
            for endpoint in list(&slice["endpoints"]) {
                *of_ports.1.entry(place(endpoint, &endpoint["addresses"][0], owner)).or_default() += 1;
            }
        }
        let subset = |subset: &Value| {
            let ports = sorted(list(&subset["ports"]).iter().map(with_defaults));
            let [ready, not_ready] = ["addresses", "notReadyAddresses"]
                .map(|field| sorted(list(&subset[field]).iter().map(|a| json!(place(a, &a["ip"], owner)))));
            format!("{ports}: {ready}, not ready {not_ready}")
        };
        let endpoints = (!endpoints.is_null()).then(|| {
            let labels = endpoints["metadata"]["labels"].clone();
            (labels, list(&endpoints["subsets"]).iter().map(subset).collect())
        });
        Self { endpoints, slices: all }
    }
}

/// An endpoint or an address without what differs at every run.
fn place(endpoint: &Value, address: &Value, owner: &dyn Fn(&str) -> Option<PodOwner>) -> String {
    let pod = endpoint["targetRef"]["name"].as_str();
    let who = match pod {
        Some(pod) => json!(owner(pod).map_or_else(|| pod.to_owned(), |o| format!("{} {} {}", o.kind, o.name, o.pod))),
        // Somebody wrote the address by hand.
        None => address.clone(),
    };
    let more = ["hostname", "nodeName", "zone", "hints", "conditions"].map(|field| endpoint[field].clone());
    json!([who, more]).to_string()
}

/// A port with empty fields as the API server answers them.
fn with_defaults(port: &Value) -> Value {
    let mut port = port.clone();
    if port["name"] == "" {
        port["name"] = Value::Null;
    }
    json!([port["name"], port["port"], port["protocol"], port["appProtocol"]])
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn sorted(values: impl Iterator<Item = Value>) -> String {
    let mut texts: Vec<String> = values.map(|v| v.to_string()).collect();
    texts.sort();
    texts.join(" ")
}
