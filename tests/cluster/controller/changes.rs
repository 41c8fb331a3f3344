//! Random changes of Services, pods, nodes and of what the controllers write, as users, kubelets and other programs make them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{api::ApiServer, parity::rng::Rng};

pub(super) const NAMESPACE: &str = "shop";
const SERVICES: usize = 8;
const PODS: usize = 24;
const NODES: usize = 3;
const APPS: [&str; 3] = ["web", "api", "db"];

/// The changes of a cluster.
pub(super) struct Changes<'a> {
    api: &'a ApiServer,
    rng: Rng,
    made: BTreeMap<&'static str, usize>,
}

/// A Service that selects no pod.
pub(super) fn probe(name: &str) -> Value {
    object("v1", "Service", name, &json!({ "spec": { "selector": { "app": name }, "ports": [{ "port": 80 }] } }))
}

/// A pod of a node that carries this label.
pub(super) fn pod(name: &str, app: &str) -> Value {
    let spec = json!({ "nodeName": "node-0", "containers": [{ "name": "c", "image": "i" }] });
    object("v1", "Pod", name, &json!({ "metadata": { "labels": { "app": app } }, "spec": spec }))
}

/// Objects about which the controllers send Events: zones without enough endpoints, and Endpoints that cannot all be mirrored.
pub(super) fn with_events() -> Vec<Value> {
    let annotations = json!({ "service.kubernetes.io/topology-mode": "Auto" });
    let spec = json!({ "selector": { "app": "zones" }, "ports": [{ "port": 80 }] });
    let zones = object("v1", "Service", "zones", &json!({ "metadata": { "annotations": annotations }, "spec": spec }));
    let by_hand = object("v1", "Service", "by-hand", &json!({ "spec": { "ports": [{ "port": 80 }] } }));
    let addresses: Vec<Value> =
        (0..1100).map(|n| json!({ "ip": format!("192.0.{}.{}", n / 200, n % 200 + 1) })).collect();
    let subsets = json!([{ "addresses": addresses, "ports": [{ "port": 80 }] }]);
    vec![zones, by_hand, object("v1", "Endpoints", "by-hand", &json!({ "subsets": subsets }))]
}

/// An object of the namespace.
pub(super) fn object(version: &str, kind: &str, name: &str, rest: &Value) -> Value {
    let mut object =
        json!({ "apiVersion": version, "kind": kind, "metadata": { "name": name, "namespace": NAMESPACE } });
    for (field, value) in rest.as_object().unwrap() {
        if field == "metadata" {
            for (key, value) in value.as_object().unwrap() {
                object["metadata"][key] = value.clone();
            }
        } else {
            object[field] = value.clone();
        }
    }
    object
}

fn named(version: &str, kind: &str, name: &str) -> Value {
    object(version, kind, name, &json!({}))
}

impl<'a> Changes<'a> {
    /// The namespace and its nodes.
    pub(super) fn begin(api: &'a ApiServer, seed: u64) -> Self {
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE } });
        assert_eq!(api.create(&namespace, "", false).status, 201);
        for n in 0..NODES {
            let labels = json!({ "topology.kubernetes.io/zone": format!("zone-{n}") });
            let meta = json!({ "name": format!("node-{n}"), "labels": labels });
            let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": meta });
            assert_eq!(api.create(&node, "", false).status, 201);
            let ready = json!([{ "type": "Ready", "status": "True" }]);
            let status = json!({ "status": { "conditions": ready, "allocatable": { "cpu": "4" } } });
            assert_eq!(api.patch_status(&node, &status).status, 200);
        }
        Self { api, rng: Rng::new(seed, 0), made: BTreeMap::new() }
    }

    /// How many of each there were.
    pub(super) fn made(&self) -> &BTreeMap<&'static str, usize> {
        &self.made
    }

    /// Makes one change. What cannot be done because its object is missing, or there already, counts as well.
    pub(super) fn make_one(&mut self) {
        let changes: [(usize, &'static str); 13] = [
            (6, "create a Service"),
            (2, "delete a Service"),
            (3, "change a selector"),
            (2, "label a Service"),
            (2, "change ports"),
            (1, "change a type"),
            (12, "create a pod"),
            (4, "delete a pod"),
            (12, "flip a pod"),
            (3, "label a pod"),
            (2, "end a pod"),
            (3, "write Endpoints by hand"),
            (3, "edit a slice"),
        ];
        let change = self.rng.weighted(&changes);
        let done = match change {
            "create a Service" => self.create_service(),
            "delete a Service" => self.delete_service(),
            "change a selector" => {
                let selector = if self.rng.percent(20) { Value::Null } else { json!({ "app": self.rng.pick(&APPS) }) };
                self.patch_service(&json!({ "spec": { "selector": selector } }))
            }
            "label a Service" => {
                let value = if self.rng.percent(40) { Value::Null } else { json!(self.rng.pick(&APPS)) };
                self.patch_service(&json!({ "metadata": { "labels": { "team": value } } }))
            }
            "change ports" => {
                let (ports, publishes) = (self.ports(), self.rng.percent(30));
                self.patch_service(&json!({ "spec": { "ports": ports, "publishNotReadyAddresses": publishes } }))
            }
            "change a type" => self.change_type(),
            "create a pod" => self.create_pod(),
            "delete a pod" => self.delete_pod(),
            "flip a pod" => {
                let is_ready = self.rng.percent(60);
                self.patch_pod_status(&json!({ "conditions": [ready(is_ready)] }))
            }
            "label a pod" => {
                let pod = named("v1", "Pod", &format!("pod-{}", self.rng.below(PODS)));
                let app = self.rng.pick(&APPS);
                self.api.patch(&pod, &json!({ "metadata": { "labels": { "app": app } } })).status
            }
            "end a pod" => self.end_pod(),
            "write Endpoints by hand" => self.write_endpoints(),
            _ => self.edit_slice(),
        };
        if done < 300 {
            *self.made.entry(change).or_default() += 1;
        } else {
            assert!(matches!(done, 404 | 409 | 422), "{change}: {done}");
        }
    }

    fn service_name(&mut self) -> String {
        format!("service-{}", self.rng.below(SERVICES))
    }

    fn ports(&mut self) -> Value {
        let port = |name: &str, port: u16, target: Value| json!({ "name": name, "port": port, "targetPort": target, "protocol": "TCP" });
        let all =
            [port("http", 80, json!("http")), port("metrics", 9090, json!(9090)), port("admin", 81, json!("admin"))];
        json!(all[..self.rng.between(1, 3)])
    }

    fn create_service(&mut self) -> u16 {
        let name = self.service_name();
        let mut spec = json!({ "ports": self.ports() });
        match self.rng.below(10) {
            0 => spec["clusterIP"] = json!("None"),
            1 => spec["publishNotReadyAddresses"] = json!(true),
            2 => spec["trafficDistribution"] = json!("PreferClose"),
            _ => {}
        }
        if self.rng.percent(80) {
            spec["selector"] = json!({ "app": self.rng.pick(&APPS) });
        }
        // No zones by `topology-mode: Auto`: until the reference has learnt of all nodes after its start, it rewrites them itself.
        let labels = json!({ "app": self.rng.pick(&APPS) });
        let rest = json!({ "metadata": { "labels": labels }, "spec": spec });
        self.api.create(&object("v1", "Service", &name, &rest), "", false).status
    }

    fn delete_service(&mut self) -> u16 {
        let service = named("v1", "Service", &self.service_name());
        let path = crate::api::path(&service);
        let told = self.api.get(&path);
        if told.status != 200 {
            return told.status;
        }
        self.api.delete(&service);
        // The garbage collector does not run.
        let name = service["metadata"]["name"].as_str().unwrap();
        let slices = format!("/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices");
        let selector = format!("?labelSelector=kubernetes.io%2Fservice-name%3D{name}");
        for slice in self.api.get(&format!("{slices}{selector}")).body["items"].as_array().unwrap() {
            if slice["metadata"]["ownerReferences"][0]["uid"] == told.body["metadata"]["uid"] {
                self.api.delete(&named(
                    "discovery.k8s.io/v1",
                    "EndpointSlice",
                    slice["metadata"]["name"].as_str().unwrap(),
                ));
            }
        }
        200
    }

    fn patch_service(&mut self, patch: &Value) -> u16 {
        let service = named("v1", "Service", &self.service_name());
        self.api.patch(&service, patch).status
    }

    fn change_type(&mut self) -> u16 {
        let to_external = json!({ "spec": { "type": "ExternalName", "externalName": "example.com", "clusterIP": null,
            "clusterIPs": null, "ipFamilies": null, "ipFamilyPolicy": null, "internalTrafficPolicy": null } });
        let to_internal = json!({ "spec": { "type": "ClusterIP", "externalName": null } });
        let patch = if self.rng.percent(50) { to_external } else { to_internal };
        self.patch_service(&patch)
    }

    fn create_pod(&mut self) -> u16 {
        let n = self.rng.below(PODS);
        let name = format!("pod-{n}");
        let ports = json!([{ "name": "http", "containerPort": 8080 + self.rng.below(2), "protocol": "TCP" }]);
        let mut spec = json!({ "containers": [{ "name": "c", "image": "i", "ports": ports }] });
        spec["nodeName"] = json!(format!("node-{}", self.rng.below(NODES)));
        if self.rng.percent(20) {
            spec["hostname"] = json!(format!("host-{n}"));
            spec["subdomain"] = json!(self.service_name());
        }
        let rest = json!({ "metadata": { "labels": { "app": self.rng.pick(&APPS) } }, "spec": spec });
        let told = self.api.create(&object("v1", "Pod", &name, &rest), "", false).status;
        if told < 300 {
            let ip = format!("10.0.{}.{}", self.rng.below(200), n + 1);
            let status = json!({ "phase": "Running", "podIP": ip, "podIPs": [{ "ip": ip }],
                "conditions": [ready(self.rng.percent(70))] });
            let pod = named("v1", "Pod", &name);
            assert_eq!(self.api.patch_status(&pod, &json!({ "status": status })).status, 200);
        }
        told
    }

    fn delete_pod(&mut self) -> u16 {
        let pod = named("v1", "Pod", &format!("pod-{}", self.rng.below(PODS)));
        let told = self.api.get(&crate::api::path(&pod)).status;
        if told == 200 {
            self.api.delete_now(&pod);
        }
        told
    }

    /// The reference overlooks that a pod has ended which was not ready.
    fn end_pod(&mut self) -> u16 {
        let pod = named("v1", "Pod", &format!("pod-{}", self.rng.below(PODS)));
        let patch = |status: Value| self.api.patch_status(&pod, &json!({ "status": status })).status;
        match patch(json!({ "conditions": [ready(true)] })) {
            200 => patch(json!({ "phase": "Failed", "conditions": [ready(false)] })),
            missing => missing,
        }
    }

    fn patch_pod_status(&mut self, status: &Value) -> u16 {
        let pod = named("v1", "Pod", &format!("pod-{}", self.rng.below(PODS)));
        self.api.patch_status(&pod, &json!({ "status": status })).status
    }

    /// Endpoints of a Service that has no selector, which are mirrored.
    fn write_endpoints(&mut self) -> u16 {
        let name = self.service_name();
        let service = self.api.get(&crate::api::path(&named("v1", "Service", &name)));
        if service.status != 200 || !service.body["spec"]["selector"].is_null() {
            return 404;
        }
        let addresses: Vec<Value> =
            (0..self.rng.below(4)).map(|n| json!({ "ip": format!("192.0.2.{}", 1 + n + self.rng.below(3)) })).collect();
        let subset = json!({ "addresses": addresses, "ports": [{ "name": "http", "port": 8080, "protocol": "TCP" }] });
        let subsets = if addresses.is_empty() { json!([]) } else { json!([subset]) };
        let endpoints = object("v1", "Endpoints", &name, &json!({ "subsets": subsets }));
        let told = self.api.create(&endpoints, "", false).status;
        if told == 409 { self.api.patch(&endpoints, &json!({ "subsets": endpoints["subsets"] })).status } else { told }
    }

    /// Another program takes an endpoint, or a label, away.
    fn edit_slice(&mut self) -> u16 {
        let path = format!("/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices");
        let list = self.api.get(&path).body;
        let slices = list["items"].as_array().unwrap();
        if slices.is_empty() {
            return 404;
        }
        let slice = &slices[self.rng.below(slices.len())];
        let named = named("discovery.k8s.io/v1", "EndpointSlice", slice["metadata"]["name"].as_str().unwrap());
        let patch = if self.rng.percent(50) {
            json!({ "endpoints": [] })
        } else {
            json!({ "metadata": { "labels": { "team": "edited" } } })
        };
        self.api.patch(&named, &patch).status
    }
}

pub(super) fn ready(is_ready: bool) -> Value {
    json!({ "type": "Ready", "status": if is_ready { "True" } else { "False" } })
}
