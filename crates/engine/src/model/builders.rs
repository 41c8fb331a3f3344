//! Builders of Kubernetes objects for tests, as JSON: `pod("a").ready().ip("10.0.0.1")`.
//!
//! JSON rather than values, so that a test can also change what no builder knows, and goes through the decoder.

use serde::Serialize;
use serde_json::{Value, json};

/// A pod named `name` in the namespace `ns`, with the same text as its uid.
pub(crate) fn pod(name: &str) -> PodBuilder {
    PodBuilder(json!({"metadata": {"name": name, "namespace": "ns", "uid": name}, "spec": {}, "status": {}}))
}

/// See [`pod`].
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub(crate) struct PodBuilder(Value);

impl PodBuilder {
    /// Moves it to another namespace.
    pub(crate) fn namespace(self, namespace: &str) -> Self {
        self.with("/metadata/namespace", json!(namespace))
    }

    /// Sets its uid.
    pub(crate) fn uid(self, uid: &str) -> Self {
        self.with("/metadata/uid", json!(uid))
    }

    /// Sets its labels, a JSON object.
    pub(crate) fn labels(self, labels: Value) -> Self {
        self.with("/metadata/labels", labels)
    }

    /// Schedules it on a node.
    pub(crate) fn node(self, node: &str) -> Self {
        self.with("/spec/nodeName", json!(node))
    }

    /// Adds an address; the first one is also its `status.podIP`.
    pub(crate) fn ip(mut self, ip: &str) -> Self {
        let status = &mut self.0["status"];
        if status["podIPs"].is_null() {
            (status["podIP"], status["podIPs"]) = (json!(ip), json!([]));
        }
        if let Some(list) = status["podIPs"].as_array_mut() {
            list.push(json!({"ip": ip}));
        }
        self
    }

    /// Sets its `Ready` condition to true.
    pub(crate) fn ready(self) -> Self {
        self.condition("True")
    }

    /// Sets its `Ready` condition to false.
    pub(crate) fn not_ready(self) -> Self {
        self.condition("False")
    }

    fn condition(self, status: &str) -> Self {
        self.with("/status/conditions", json!([{"type": "Ready", "status": status}]))
    }

    /// Sets its phase.
    pub(crate) fn phase(self, phase: &str) -> Self {
        self.with("/status/phase", json!(phase))
    }

    /// Adds a container with these TCP ports.
    pub(crate) fn container_ports(self, ports: &[(&str, usize)]) -> Self {
        let port = |(name, number): &(&str, usize)| json!({"name": name, "protocol": "TCP", "containerPort": number});
        let ports: Vec<Value> = ports.iter().map(port).collect();
        self.with("/spec/containers", json!([{"ports": ports}]))
    }

    /// Sets any field of a section.
    pub(crate) fn with(mut self, pointer: &str, value: Value) -> Self {
        set(&mut self.0, pointer, value);
        self
    }
}

/// A Service named `name` in the namespace `ns` with a cluster IP and one address type, which selects every pod.
pub(crate) fn service(name: &str) -> ServiceBuilder {
    ServiceBuilder(json!({
        "metadata": {"name": name, "namespace": "ns", "uid": name},
        "spec": {"selector": {}, "clusterIP": "10.96.0.1", "ipFamilies": ["IPv4"], "ports": []},
    }))
}

/// See [`service`].
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub(crate) struct ServiceBuilder(Value);

impl ServiceBuilder {
    /// Sets its selector, a JSON object.
    pub(crate) fn selector(self, selector: Value) -> Self {
        self.with("/spec/selector", selector)
    }

    /// Adds a TCP port with a number or name as its target.
    pub(crate) fn port(mut self, name: &str, port: usize, target: impl Into<Value>) -> Self {
        if let Some(list) = self.0["spec"]["ports"].as_array_mut() {
            list.push(json!({"name": name, "protocol": "TCP", "port": port, "targetPort": target.into()}));
        }
        self
    }

    /// Sets any field of a section.
    pub(crate) fn with(mut self, pointer: &str, value: Value) -> Self {
        set(&mut self.0, pointer, value);
        self
    }
}

/// A ready node.
pub(crate) fn node(name: &str) -> NodeBuilder {
    NodeBuilder(json!({
        "metadata": {"name": name, "labels": {}},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }))
}

/// See [`node`].
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub(crate) struct NodeBuilder(Value);

impl NodeBuilder {
    /// Labels it with a zone.
    pub(crate) fn zone(mut self, zone: &str) -> Self {
        set(&mut self.0, "/metadata/labels/topology.kubernetes.io~1zone", json!(zone));
        self
    }

    /// Sets its allocatable CPU.
    pub(crate) fn cpu(mut self, cpu: &str) -> Self {
        set(&mut self.0, "/status/allocatable", json!({"cpu": cpu}));
        self
    }
}

/// Sets the field at a pointer, whose parent exists.
fn set(object: &mut Value, pointer: &str, value: Value) {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    object.pointer_mut(parent).unwrap()[key.replace("~1", "/")] = value;
}
