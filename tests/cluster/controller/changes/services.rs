//! What users do to Services.

use serde_json::{Value, json};

use super::{APPS, BY_HAND, Changes, SERVICES, named, object, written};
use crate::wait;

const ZONES: &str = "service.kubernetes.io/topology-mode";

impl Changes {
    pub(super) fn service_name(&mut self) -> String {
        format!("service-{}", self.rng.below(SERVICES))
    }

    pub(super) fn by_hand_name(&mut self) -> String {
        format!("by-hand-{}", self.rng.below(BY_HAND))
    }

    fn patch_service(&mut self, patch: &Value) -> u16 {
        let service = named("v1", "Service", &self.service_name());
        self.patch(&service, patch)
    }

    /// A Service whose controllers are at rest.
    fn patch_resting_service(&mut self, patch: &Value) -> u16 {
        let name = self.service_name();
        if self.was_at_rest(&name) { self.patch(&named("v1", "Service", &name), patch) } else { 404 }
    }

    fn ports(&mut self) -> Value {
        let port = |name: &str, port: u16, target: Value| json!({ "name": name, "port": port, "targetPort": target, "protocol": "TCP" });
        let all =
            [port("http", 80, json!("http")), port("metrics", 9090, json!(9090)), port("admin", 81, json!("admin"))];
        json!(all[..self.rng.between(1, 3)])
    }

    fn traffic(&mut self) -> Value {
        json!(self.rng.pick(&["PreferClose", "PreferSameZone", "PreferSameNode"]))
    }

    pub(super) fn create_service(&mut self) -> u16 {
        let name = self.service_name();
        let mut spec = json!({ "ports": self.ports(), "selector": { "app": self.rng.pick(&APPS) } });
        match self.rng.below(12) {
            0 => spec["clusterIP"] = json!("None"),
            1 => spec["publishNotReadyAddresses"] = json!(true),
            2 | 3 => spec["trafficDistribution"] = self.traffic(),
            4 => spec["ipFamilyPolicy"] = json!("PreferDualStack"),
            5 => spec["ipFamilies"] = json!(["IPv6"]),
            6 => {
                spec["clusterIP"] = json!("None");
                spec["ports"] = json!([]);
            }
            _ => {}
        }
        let labels = json!({ "app": self.rng.pick(&APPS) });
        let rest = json!({ "metadata": { "labels": labels }, "spec": spec });
        self.create(&object("v1", "Service", &name, &rest))
    }

    pub(super) fn delete_service(&mut self) -> u16 {
        let service = named("v1", "Service", &self.service_name());
        self.everywhere(|cluster| {
            let told = cluster.get(&crate::api::path(&service));
            if told.status == 200 {
                cluster.delete(&service);
                // The garbage collector does not run.
                written::delete_slices_of(cluster, &told.body);
            }
            told.status
        })
    }

    pub(super) fn change_selector(&mut self) -> u16 {
        let app = self.rng.pick(&APPS);
        let name = self.service_name();
        self.patch(&named("v1", "Service", &name), &json!({ "spec": { "selector": { "app": app } } }))
    }

    pub(super) fn label_service(&mut self) -> u16 {
        let value = if self.rng.percent(40) { Value::Null } else { json!(self.rng.pick(&APPS)) };
        self.patch_service(&json!({ "metadata": { "labels": { "team": value } } }))
    }

    pub(super) fn change_ports(&mut self) -> u16 {
        let (ports, publishes) = (self.ports(), self.rng.percent(30));
        self.patch_service(&json!({ "spec": { "ports": ports, "publishNotReadyAddresses": publishes } }))
    }

    pub(super) fn change_families(&mut self) -> u16 {
        let policy = self.rng.pick(&["SingleStack", "PreferDualStack", "RequireDualStack"]);
        self.patch_service(&json!({ "spec": { "ipFamilyPolicy": policy } }))
    }

    pub(super) fn distribute_traffic(&mut self) -> u16 {
        let traffic = if self.rng.percent(40) { Value::Null } else { self.traffic() };
        self.patch_service(&json!({ "spec": { "trafficDistribution": traffic } }))
    }

    pub(super) fn ask_for_zones(&mut self) -> u16 {
        let mode = if self.rng.percent(30) { Value::Null } else { json!("Auto") };
        self.patch_service(&json!({ "metadata": { "annotations": { ZONES: mode } } }))
    }

    /// Its Endpoints and slices stay. The Endpoints are mirrored from now on.
    pub(super) fn take_selector(&mut self) -> u16 {
        self.patch_resting_service(&json!({ "spec": { "selector": null } }))
    }

    pub(super) fn change_type(&mut self) -> u16 {
        let to_external = json!({ "spec": { "type": "ExternalName", "externalName": "example.com", "clusterIP": null,
            "clusterIPs": null, "ipFamilies": null, "ipFamilyPolicy": null, "internalTrafficPolicy": null } });
        let to_internal = json!({ "spec": { "type": "ClusterIP", "externalName": null } });
        let patch = if self.rng.percent(50) { to_external } else { to_internal };
        self.patch_resting_service(&patch)
    }

    pub(super) fn create_by_hand(&mut self) -> u16 {
        let name = self.by_hand_name();
        let ports = self.ports();
        if !self.was_at_rest(&name) {
            return 404;
        }
        self.create(&object("v1", "Service", &name, &json!({ "spec": { "ports": ports } })))
    }

    /// The controllers delete its Endpoints. If the Service came back at once, they might be quick enough or not.
    pub(super) fn delete_by_hand(&mut self) -> u16 {
        let name = self.by_hand_name();
        let [service, endpoints] = ["Service", "Endpoints"].map(|kind| named("v1", kind, &name));
        if !self.was_at_rest(&name) || self.read(&service).is_none() || self.read(&endpoints).is_none() {
            return 404;
        }
        self.everywhere(|cluster| {
            cluster.delete(&service);
            let path = crate::api::path(&endpoints);
            wait("the Endpoints go with their Service", || (cluster.get(&path).status == 404).then_some(()));
            200
        })
    }
}
