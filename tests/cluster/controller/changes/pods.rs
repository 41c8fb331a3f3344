//! What users and kubelets do to pods.

use serde_json::{Value, json};

use super::{APPS, Changes, NODES, PODS, named, object, ready};

impl Changes {
    fn pod(&mut self) -> Value {
        named("v1", "Pod", &format!("pod-{}", self.rng.below(PODS)))
    }

    /// The condition, since now.
    fn ready_now(&self, is_ready: bool) -> Value {
        let mut condition = ready(is_ready);
        let (hours, minutes, seconds) = (self.tried / 3600, self.tried / 60 % 60, self.tried % 60);
        condition["lastTransitionTime"] = json!(format!("2026-06-01T{hours:02}:{minutes:02}:{seconds:02}Z"));
        condition
    }

    pub(super) fn create_pod(&mut self) -> u16 {
        let n = self.rng.below(PODS);
        let name = format!("pod-{n}");
        let port = |name: &str, port: usize| json!({ "name": name, "containerPort": port, "protocol": "TCP" });
        let mut ports = vec![port("http", 8080 + self.rng.below(2))];
        if self.rng.percent(30) {
            ports.push(port("admin", 9000));
        }
        let mut spec = json!({ "containers": [{ "name": "c", "image": "i", "ports": ports }] });
        spec["nodeName"] = json!(format!("node-{}", self.rng.below(NODES)));
        if self.rng.percent(20) {
            spec["hostname"] = json!(format!("host-{n}"));
            spec["subdomain"] = json!(self.service_name());
        }
        let rest = json!({ "metadata": { "labels": { "app": self.rng.pick(&APPS) } }, "spec": spec });
        let (place, is_ready, has_both) = (self.rng.below(200), self.rng.percent(70), self.rng.percent(60));
        let told = self.create(&object("v1", "Pod", &name, &rest));
        if told < 300 {
            let ip = format!("10.0.{place}.{}", n + 1);
            let mut ips = vec![json!({ "ip": ip })];
            if has_both {
                ips.push(json!({ "ip": format!("fd00::{place:x}:{:x}", n + 1) }));
            }
            let status =
                json!({ "phase": "Running", "podIP": ip, "podIPs": ips, "conditions": [self.ready_now(is_ready)] });
            assert_eq!(self.patch_status(&named("v1", "Pod", &name), &status), 200);
        }
        told
    }

    pub(super) fn delete_pod(&mut self) -> u16 {
        let pod = self.pod();
        self.everywhere(|cluster| {
            let told = cluster.get(&crate::api::path(&pod)).status;
            if told == 200 {
                cluster.delete_now(&pod);
            }
            told
        })
    }

    /// Its containers are asked to end, which nobody runs: it stays until it is deleted.
    pub(super) fn terminate_pod(&mut self) -> u16 {
        let pod = self.pod();
        if self.read(&pod).is_none_or(|pod| !pod["metadata"]["deletionTimestamp"].is_null()) {
            return 404;
        }
        self.everywhere(|cluster| cluster.delete_with_grace(&pod).status)
    }

    pub(super) fn flip_pod(&mut self) -> u16 {
        let (pod, is_ready) = (self.pod(), self.rng.percent(60));
        self.patch_status(&pod, &json!({ "conditions": [self.ready_now(is_ready)] }))
    }

    pub(super) fn label_pod(&mut self) -> u16 {
        let (pod, app) = (self.pod(), self.rng.pick(&APPS));
        self.patch(&pod, &json!({ "metadata": { "labels": { "app": app } } }))
    }

    /// The reference overlooks that a pod has ended which was not ready.
    pub(super) fn end_pod(&mut self) -> u16 {
        let pod = self.pod();
        match self.patch_status(&pod, &json!({ "conditions": [self.ready_now(true)] })) {
            200 => self.patch_status(&pod, &json!({ "phase": "Failed", "conditions": [self.ready_now(false)] })),
            missing => missing,
        }
    }

    pub(super) fn end_pod_unnoticed(&mut self) -> u16 {
        let pod = self.pod();
        self.patch_status(&pod, &json!({ "phase": "Succeeded" }))
    }
}
