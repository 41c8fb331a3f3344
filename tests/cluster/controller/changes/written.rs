//! What users and other programs do to Endpoints and slices.

use serde_json::{Value, json};

use super::{Changes, NAMESPACE, NODES, named, object};
use crate::api::ApiServer;

const SERVICE: &str = "kubernetes.io/service-name";
const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
const CONTROLLERS: [&str; 2] = ["endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io"];

/// All slices of the namespace.
pub(crate) fn slices(cluster: &ApiServer) -> Vec<Value> {
    let path = format!("/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices");
    cluster.get(&path).body["items"].take().as_array().unwrap().clone()
}

fn slice(name: &str) -> Value {
    named("discovery.k8s.io/v1", "EndpointSlice", name)
}

/// Deletes the slices of a Service that was deleted: those that it owns, as the garbage collector does, and what another
/// program has handed to its controllers.
pub(crate) fn delete_slices_of(cluster: &ApiServer, service: &Value) {
    let Value::String(name) = &service["metadata"]["name"] else { return };
    for found in slices(cluster) {
        let meta = &found["metadata"];
        if meta["ownerReferences"][0]["uid"] == service["metadata"]["uid"] || meta["name"] == format!("handed-{name}") {
            cluster.remove(&slice(meta["name"].as_str().unwrap()));
        }
    }
}

/// A slice that a controller has written for a Service.
struct Written {
    service: String,
    controller: &'static str,
    /// Its place among those of the controller and the Service, which come in an order that all clusters have.
    n: usize,
}

impl Written {
    fn find(&self, cluster: &ApiServer) -> Option<Value> {
        let mut found = slices(cluster);
        found.retain(|slice| {
            let labels = &slice["metadata"]["labels"];
            labels[SERVICE] == self.service && labels[MANAGED_BY] == self.controller
        });
        found.sort_by_cached_key(|slice| [&slice["addressType"], &slice["ports"]].map(Value::to_string));
        let n = self.n.checked_rem(found.len())?;
        found[n]["metadata"]["name"].as_str().map(slice)
    }
}

impl Changes {
    fn any_name(&mut self) -> String {
        if self.rng.percent(25) { self.by_hand_name() } else { self.service_name() }
    }

    fn any_written(&mut self) -> Written {
        Written { service: self.any_name(), controller: self.rng.pick(&CONTROLLERS), n: self.rng.below(4) }
    }

    fn patch_written(&self, written: &Written, patch: &Value) -> u16 {
        self.anywhere(|cluster| written.find(cluster).map_or(404, |slice| cluster.patch(&slice, patch).status))
    }

    /// Another program takes the endpoints, a label or the whole slice away.
    pub(super) fn edit_slice(&mut self) -> u16 {
        let written = self.any_written();
        match self.rng.below(5) {
            0 | 1 => self.patch_written(&written, &json!({ "endpoints": [] })),
            2 | 3 => self.patch_written(&written, &json!({ "metadata": { "labels": { "team": "edited" } } })),
            _ => self.anywhere(|cluster| written.find(cluster).map_or(404, |slice| cluster.remove(&slice))),
        }
    }

    /// Another program says that a slice of the controllers is its own.
    pub(super) fn take_slice(&mut self) -> u16 {
        let written = self.any_written();
        if !self.was_at_rest(&written.service) {
            return 404;
        }
        self.patch_written(&written, &json!({ "metadata": { "labels": { MANAGED_BY: "someone" } } }))
    }

    /// Another program writes a slice of its own.
    pub(super) fn write_slice(&mut self) -> u16 {
        let service = self.service_name();
        let slice = slice(&format!("foreign-{service}"));
        match self.rng.below(4) {
            0 => self.everywhere(|cluster| cluster.remove(&slice)),
            1 => self.patch(&slice, &json!({ "endpoints": [] })),
            _ => {
                let by = if self.rng.percent(80) { json!("someone") } else { Value::Null };
                self.create_slice(slice, &service, &by)
            }
        }
    }

    /// Another program writes a slice for the controllers, which do not want it.
    pub(super) fn hand_slice(&mut self) -> u16 {
        let service = self.service_name();
        let stored = self.read(&named("v1", "Service", &service));
        let is_written =
            |service: &Value| service["spec"]["type"] != "ExternalName" && !service["spec"]["selector"].is_null();
        if !stored.is_some_and(|stored| is_written(&stored)) {
            return 404;
        }
        self.create_slice(slice(&format!("handed-{service}")), &service, &json!(CONTROLLERS[0]))
    }

    fn create_slice(&mut self, mut slice: Value, service: &str, by: &Value) -> u16 {
        slice["metadata"]["labels"] = json!({ SERVICE: service, MANAGED_BY: by });
        slice["addressType"] = json!("IPv4");
        slice["endpoints"] = json!([{ "addresses": [format!("192.0.2.{}", self.rng.between(1, 9))] }]);
        slice["ports"] = json!([]);
        self.anywhere(|cluster| cluster.create(&slice, "", false).status)
    }

    /// The name of a Service without a selector, whose Endpoints are mirrored. Its Service may come later.
    fn mirrored_name(&mut self) -> Option<String> {
        let name = self.any_name();
        let service = self.read(&named("v1", "Service", &name));
        let is_written = |service: Value| !service["spec"]["selector"].is_null();
        (!service.map_or(!name.starts_with("by-hand"), is_written)).then_some(name)
    }

    pub(super) fn write_endpoints(&mut self) -> u16 {
        let addresses: Vec<Value> = (0..self.rng.below(4))
            .map(|n| {
                let last = 1 + n * 10 + self.rng.below(5);
                let ip = if self.rng.percent(25) { format!("fd00:2::{last:x}") } else { format!("192.0.2.{last}") };
                let node = self.rng.percent(30).then(|| format!("node-{}", self.rng.below(NODES)));
                json!({ "ip": ip, "nodeName": node })
            })
            .collect();
        let which = if self.rng.percent(80) { "addresses" } else { "notReadyAddresses" };
        let subset = json!({ which: addresses, "ports": [{ "name": "http", "port": 8080, "protocol": "TCP" }] });
        let subsets = if addresses.is_empty() { json!([]) } else { json!([subset]) };
        let Some(name) = self.mirrored_name() else { return 404 };
        let endpoints = object("v1", "Endpoints", &name, &json!({ "subsets": subsets }));
        match self.create(&endpoints) {
            409 => self.patch(&endpoints, &json!({ "subsets": endpoints["subsets"] })),
            told => told,
        }
    }

    pub(super) fn label_endpoints(&mut self) -> u16 {
        let skip = if self.rng.percent(40) { json!("true") } else { Value::Null };
        let patch = if self.rng.percent(50) {
            json!({ "labels": { "endpointslice.kubernetes.io/skip-mirror": skip } })
        } else {
            json!({ "labels": { "tier": self.rng.pick(&["a", "b"]) }, "annotations": { "note": self.rng.pick(&["a", "b"]) } })
        };
        let Some(name) = self.mirrored_name() else { return 404 };
        self.patch(&named("v1", "Endpoints", &name), &json!({ "metadata": patch }))
    }

    /// Another program takes the addresses away that a controller has written. The reference does not look.
    pub(super) fn edit_endpoints(&mut self) -> u16 {
        let endpoints = named("v1", "Endpoints", &self.service_name());
        self.anywhere(|cluster| cluster.patch(&endpoints, &json!({ "subsets": [] })).status)
    }
}
