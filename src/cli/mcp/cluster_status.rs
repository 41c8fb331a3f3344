//! What the cluster itself says in the objects: failed writes of controllers, warnings of events, and the probes of pods.

use std::collections::BTreeSet;

use roster_engine::model::{ObjectKey, TargetPort, Text, wire::nullable};
use roster_lint::ReviewedObject;
use serde::Deserialize;

/// Most statements of each kind: the others are of no use to a reader.
const MOST: usize = 50;

#[derive(Deserialize)]
struct WithStatus {
    #[serde(default, deserialize_with = "nullable")]
    status: Status,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    #[serde(deserialize_with = "nullable")]
    conditions: Vec<Condition>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Condition {
    #[serde(rename = "type", deserialize_with = "nullable")]
    kind: Text,
    #[serde(deserialize_with = "nullable")]
    status: Text,
    #[serde(deserialize_with = "nullable")]
    reason: Text,
    #[serde(deserialize_with = "nullable")]
    message: String,
}

/// An event, in either of its versions.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Event {
    #[serde(rename = "type", deserialize_with = "nullable")]
    kind: Text,
    #[serde(deserialize_with = "nullable")]
    reason: Text,
    #[serde(deserialize_with = "nullable")]
    message: String,
    #[serde(deserialize_with = "nullable")]
    note: String,
    #[serde(deserialize_with = "nullable")]
    involved_object: Involved,
    #[serde(deserialize_with = "nullable")]
    regarding: Involved,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Involved {
    #[serde(deserialize_with = "nullable")]
    kind: Text,
    #[serde(deserialize_with = "nullable")]
    namespace: Text,
    #[serde(deserialize_with = "nullable")]
    name: Text,
}

/// What controllers and the kubelet say: each statement once.
pub(super) fn statements(objects: &[ReviewedObject<'_>]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let all = objects.iter().flat_map(|object| match object.key.kind.as_str() {
        "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet" | "Job" => failed_writes(object),
        "Event" => warning(object).into_iter().collect(),
        _ => Vec::new(),
    });
    all.filter(|statement| seen.insert(statement.clone())).take(MOST).collect()
}

/// Why a controller cannot make pods.
fn failed_writes(object: &ReviewedObject<'_>) -> Vec<String> {
    let Ok(WithStatus { status }) = serde_json::from_str(object.document.raw.get()) else { return Vec::new() };
    let failed = status.conditions.into_iter().filter(|c| c.kind == "ReplicaFailure" && c.status == "True");
    failed.map(|c| format!("{}: {}: {}", object.key, c.reason, c.message)).collect()
}

fn warning(object: &ReviewedObject<'_>) -> Option<String> {
    let event: Event = serde_json::from_str(object.document.raw.get()).ok()?;
    if event.kind != "Warning" {
        return None;
    }
    let about = if event.involved_object.name.is_empty() { event.regarding } else { event.involved_object };
    let about = ObjectKey::new(&about.kind, &about.namespace, &about.name);
    let message = if event.message.is_empty() { event.note } else { event.message };
    Some(format!("{about}: {}: {message}", event.reason))
}

#[derive(Deserialize)]
struct ProbedPod {
    #[serde(default, deserialize_with = "nullable")]
    spec: ProbedSpec,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ProbedSpec {
    #[serde(deserialize_with = "nullable")]
    containers: Vec<ProbedContainer>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ProbedContainer {
    #[serde(deserialize_with = "nullable")]
    name: Text,
    #[serde(deserialize_with = "nullable")]
    ports: Vec<DeclaredPort>,
    readiness_probe: Option<Probe>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct DeclaredPort {
    #[serde(deserialize_with = "nullable")]
    name: Text,
    #[serde(deserialize_with = "nullable")]
    container_port: i32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Probe {
    http_get: Option<Handler>,
    tcp_socket: Option<Handler>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Handler {
    #[serde(deserialize_with = "nullable")]
    path: Text,
    #[serde(deserialize_with = "nullable")]
    port: TargetPort,
}

/// What the readiness probes of a pod ask, if it is among the objects.
pub(super) fn probes(objects: &[ReviewedObject<'_>], namespace: &Text, pod: &Text) -> Vec<String> {
    let is_it = |object: &&ReviewedObject<'_>| {
        object.key.kind == "Pod" && object.key.name == *pod && object.key.namespace == *namespace
    };
    let Some(object) = objects.iter().find(is_it) else { return Vec::new() };
    let Ok(ProbedPod { spec }) = serde_json::from_str(object.document.raw.get()) else { return Vec::new() };
    spec.containers.iter().filter_map(ProbedContainer::probe).take(MOST).collect()
}

impl ProbedContainer {
    fn probe(&self) -> Option<String> {
        let probe = self.readiness_probe.as_ref()?;
        let (action, handler) = match (&probe.http_get, &probe.tcp_socket) {
            (Some(get), _) => (format!("httpGet {}", if get.path.is_empty() { "/" } else { &get.path }), get),
            (None, Some(socket)) => ("tcpSocket".to_owned(), socket),
            (None, None) => return None,
        };
        let (port, is_declared) = match &handler.port {
            TargetPort::Number(number) => {
                (number.to_string(), self.ports.iter().any(|port| port.container_port == *number))
            }
            TargetPort::Name(name) => (name.to_string(), self.ports.iter().any(|port| port.name == *name)),
        };
        let declared: Vec<String> = self.ports.iter().map(|port| port.container_port.to_string()).collect();
        let note = match declared.as_slice() {
            _ if is_declared => String::new(),
            [] => ", and the container declares no port".to_owned(),
            ports => format!(", which the container does not declare: it declares {}", ports.join(", ")),
        };
        Some(format!("container {}: {action} on port {port}{note}", self.name))
    }
}
