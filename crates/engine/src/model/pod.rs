//! Pods, as the controllers see them.

use std::{collections::BTreeSet, sync::Arc};

use serde::{Deserialize, Deserializer};

use super::{
    Labels, ObjectKey, ObjectRef, OwnerReference, PodIp, Resource, Text, Time, protocol_or_tcp,
    wire::{Present, kind_of, nullable},
};

/// `status.phase`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PodPhase {
    /// It ended successfully.
    Succeeded,
    /// It ended with a failure.
    Failed,
    /// Running, pending, unknown or missing: not ended.
    #[default]
    Live,
}

/// A port of a container, in the order in which named ports are looked up: all containers, then the
/// init containers that keep running (native sidecars).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContainerPort {
    /// Name; empty if it has none.
    pub name: Text,
    /// Protocol, as written.
    pub protocol: Text,
    /// Number.
    pub number: i32,
    /// Whether it belongs to a native sidecar.
    pub sidecar: bool,
}

/// The `Ready` condition of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PodReadiness {
    /// Its status is `True`.
    Ready,
    /// Anything else, with the cause by the status of the pod.
    NotReady(Box<NotReadyDetail>),
}

/// Why a pod is not ready, by its own status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotReadyDetail {
    /// Status of the `Ready` condition; empty where there is none.
    pub status: Text,
    /// Its reason, such as `ContainersNotReady`.
    pub reason: Text,
    /// Whether the pod waits for a node (`PodScheduled` is not true).
    pub unscheduled: bool,
    /// Whether it waits until its scheduling gates are removed: the scheduler does not look for a node before.
    pub scheduling_gated: bool,
    /// The names of its scheduling gates.
    pub scheduling_gates: Vec<Text>,
    /// Containers that are not ready, each with the reason it waits or ended for.
    pub containers: Vec<(Text, Text)>,
    /// Readiness gates whose condition is not true.
    pub gates: Vec<Text>,
}

/// A pod: the fields that decide membership, addresses, ports and readiness.
#[expect(clippy::struct_excessive_bools, reason = "they do not depend on each other")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    /// Kind, namespace, name and uid, in the form in which endpoints refer to the pod: shared, not copied.
    pub reference: Arc<ObjectRef>,
    /// `metadata.resourceVersion`, published by releases up to 1.23.
    pub resource_version: Text,
    /// The owner that is its controller; pods of one workload may share it.
    pub owner: Option<Arc<OwnerReference>>,
    /// `metadata.labels`; pods of one workload may share them.
    pub labels: Arc<Labels>,
    /// Whether it has a deletion timestamp.
    pub deleting: bool,
    /// `spec.nodeName`; empty while not scheduled.
    pub node_name: Text,
    /// `spec.hostNetwork`: its addresses are those of its node.
    pub host_network: bool,
    /// `spec.hostname`.
    pub hostname: Text,
    /// `spec.subdomain`.
    pub subdomain: Text,
    /// Ports in look-up order; pods of one workload may share them.
    pub ports: Arc<[ContainerPort]>,
    /// `status.phase`.
    pub phase: PodPhase,
    /// Whether `status.podIP` is set: enough to be a member, even without `status.podIPs`.
    pub has_pod_ip: bool,
    /// Family of `status.podIP`: decides the family of a headless Service without `ipFamilies`.
    pub pod_ip_family: super::Family,
    /// `status.podIPs`.
    pub ips: smallvec::SmallVec<[PodIp; 1]>,
    /// The `Ready` condition.
    pub readiness: PodReadiness,
    /// When that condition last changed.
    pub readiness_since: Option<Time>,
    /// Whether `status` says something: nothing has run a pod without it.
    pub has_status: bool,
    /// Whether it is a manifest of a hook of Helm, such as a test: most of the time it does not exist.
    pub is_hook: bool,
}

impl Pod {
    /// Namespace.
    pub fn namespace(&self) -> &Text {
        &self.reference.namespace
    }

    /// Name.
    pub fn name(&self) -> &Text {
        &self.reference.name
    }

    /// Whether the first `Ready` condition is true.
    #[inline]
    pub fn ready(&self) -> bool {
        matches!(self.readiness, PodReadiness::Ready)
    }

    /// Whether it waits until its scheduling gates are removed.
    pub fn is_gated(&self) -> bool {
        matches!(&self.readiness, PodReadiness::NotReady(why) if why.scheduling_gated)
    }

    /// Kind, namespace and name.
    pub fn key(&self) -> ObjectKey {
        ObjectKey::new("Pod", self.namespace(), self.name())
    }
}

impl<'de> Deserialize<'de> for Pod {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        RawPod::deserialize(d).map(Self::from)
    }
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawPod {
    #[serde(rename = "kind", deserialize_with = "pod_kind")]
    _kind: (),
    #[serde(deserialize_with = "nullable")]
    metadata: RawMeta,
    #[serde(deserialize_with = "nullable")]
    spec: RawSpec,
    #[serde(deserialize_with = "nullable")]
    status: RawStatus,
}

fn pod_kind<'de, D: Deserializer<'de>>(d: D) -> Result<(), D::Error> {
    kind_of(d, Resource::Pod)
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawMeta {
    #[serde(deserialize_with = "nullable")]
    name: Text,
    #[serde(deserialize_with = "nullable")]
    namespace: Text,
    #[serde(deserialize_with = "nullable")]
    uid: Text,
    #[serde(deserialize_with = "nullable")]
    resource_version: Text,
    #[serde(deserialize_with = "nullable")]
    labels: Labels,
    #[serde(deserialize_with = "nullable")]
    owner_references: Vec<OwnerReference>,
    deletion_timestamp: Present,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawSpec {
    #[serde(deserialize_with = "nullable")]
    node_name: Text,
    #[serde(deserialize_with = "nullable")]
    host_network: bool,
    #[serde(deserialize_with = "nullable")]
    hostname: Text,
    #[serde(deserialize_with = "nullable")]
    subdomain: Text,
    #[serde(deserialize_with = "nullable")]
    containers: Vec<RawContainer>,
    #[serde(deserialize_with = "nullable")]
    init_containers: Vec<RawContainer>,
    #[serde(deserialize_with = "nullable")]
    readiness_gates: Vec<RawGate>,
    #[serde(deserialize_with = "nullable")]
    scheduling_gates: Vec<RawSchedulingGate>,
}

/// A scheduling gate as it is written, in a pod or in the template of a workload.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct RawSchedulingGate {
    /// The name.
    #[serde(deserialize_with = "nullable")]
    pub name: Text,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawContainer {
    #[serde(deserialize_with = "nullable")]
    restart_policy: Text,
    #[serde(deserialize_with = "nullable")]
    ports: Vec<RawContainerPort>,
}

/// A port of a container as it is written, in a pod or in the template of a workload.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct RawContainerPort {
    #[serde(deserialize_with = "nullable")]
    name: Text,
    #[serde(deserialize_with = "nullable")]
    protocol: Text,
    #[serde(deserialize_with = "nullable")]
    container_port: i32,
    #[serde(rename = "hostIP", deserialize_with = "nullable")]
    host_ip: Text,
}

impl RawContainerPort {
    /// What it takes of the host in the network of the host: protocol, address and number.
    pub fn of_host(&self) -> (&str, &str, i32) {
        (protocol_or_tcp(&self.protocol), &self.host_ip, self.container_port)
    }

    /// The port of a container of the pod; `sidecar`: of an init container that keeps running.
    pub fn of_container(&self, sidecar: bool) -> ContainerPort {
        let (name, protocol) = (self.name.clone(), self.protocol.clone());
        ContainerPort { name, protocol, number: self.container_port, sidecar }
    }
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawGate {
    #[serde(deserialize_with = "nullable")]
    condition_type: Text,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawStatus {
    #[serde(deserialize_with = "nullable")]
    phase: Text,
    #[serde(rename = "podIP", deserialize_with = "nullable")]
    pod_ip: Text,
    #[serde(rename = "podIPs", deserialize_with = "nullable")]
    pod_ips: Vec<RawIp>,
    #[serde(deserialize_with = "nullable")]
    conditions: Vec<RawCondition>,
    #[serde(deserialize_with = "nullable")]
    container_statuses: Vec<RawContainerStatus>,
}

impl RawStatus {
    fn is_empty(&self) -> bool {
        let texts = [&self.phase, &self.pod_ip];
        let is_empty = texts.iter().all(|text| text.is_empty());
        is_empty && self.pod_ips.is_empty() && self.conditions.is_empty() && self.container_statuses.is_empty()
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawIp {
    #[serde(deserialize_with = "nullable")]
    ip: Text,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawCondition {
    #[serde(rename = "type", deserialize_with = "nullable")]
    kind: Text,
    #[serde(deserialize_with = "nullable")]
    status: Text,
    #[serde(deserialize_with = "nullable")]
    reason: Text,
    #[serde(deserialize_with = "nullable")]
    last_transition_time: Text,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawContainerStatus {
    #[serde(deserialize_with = "nullable")]
    name: Text,
    #[serde(deserialize_with = "nullable")]
    ready: bool,
    #[serde(deserialize_with = "nullable")]
    state: RawState,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawState {
    #[serde(deserialize_with = "nullable")]
    waiting: RawReason,
    #[serde(deserialize_with = "nullable")]
    terminated: RawReason,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawReason {
    #[serde(deserialize_with = "nullable")]
    reason: Text,
}

impl From<RawPod> for Pod {
    fn from(raw: RawPod) -> Self {
        let RawPod { metadata, spec, status, .. } = raw;
        let ready = status.conditions.iter().find(|c| c.kind == "Ready");
        let has_status = !status.is_empty();
        // A zero time is none.
        let readiness_since = ready.and_then(|c| c.last_transition_time.parse().ok());
        let readiness = if ready.is_some_and(|c| c.status == "True") {
            PodReadiness::Ready
        } else {
            PodReadiness::NotReady(Box::new(why_not_ready(ready, &spec, &status)))
        };
        let sidecars = spec.init_containers.iter().filter(|c| c.restart_policy == "Always");
        let ports = spec.containers.iter().map(|c| (c, false)).chain(sidecars.map(|c| (c, true)));
        let ports: Arc<[ContainerPort]> =
            ports.flat_map(|(c, sidecar)| c.ports.iter().map(move |p| p.of_container(sidecar))).collect();
        Self {
            reference: Arc::new(ObjectRef {
                kind: Text::new_static("Pod"),
                namespace: metadata.namespace,
                name: metadata.name,
                uid: metadata.uid,
                ..ObjectRef::default()
            }),
            resource_version: metadata.resource_version,
            owner: metadata.owner_references.into_iter().find(|o| o.controller == Some(true)).map(Arc::new),
            labels: Arc::new(metadata.labels),
            deleting: metadata.deletion_timestamp.0,
            node_name: spec.node_name,
            host_network: spec.host_network,
            hostname: spec.hostname,
            subdomain: spec.subdomain,
            ports,
            phase: match status.phase.as_str() {
                "Succeeded" => PodPhase::Succeeded,
                "Failed" => PodPhase::Failed,
                _ => PodPhase::Live,
            },
            has_pod_ip: !status.pod_ip.is_empty(),
            pod_ip_family: super::Family::of(&status.pod_ip),
            ips: status.pod_ips.into_iter().map(|i| PodIp::new(i.ip)).collect(),
            readiness,
            readiness_since,
            has_status,
            is_hook: false,
        }
    }
}

fn why_not_ready(ready: Option<&RawCondition>, spec: &RawSpec, status: &RawStatus) -> NotReadyDetail {
    // Both lists may be long.
    let kinds = status.conditions.iter().filter(|c| c.status == "True").map(|c| c.kind.as_str());
    let is_true: BTreeSet<&str> = if spec.readiness_gates.is_empty() { BTreeSet::new() } else { kinds.collect() };
    let scheduled = status.conditions.iter().find(|c| c.kind == "PodScheduled");
    // An API server adds the condition to a new pod with gates.
    let is_new = status.is_empty() && !spec.scheduling_gates.is_empty();
    NotReadyDetail {
        status: ready.map(|c| c.status.clone()).unwrap_or_default(),
        reason: ready.map(|c| c.reason.clone()).unwrap_or_default(),
        unscheduled: is_new || scheduled.is_some_and(|c| c.status != "True"),
        scheduling_gated: is_new || scheduled.is_some_and(|c| c.status != "True" && c.reason == "SchedulingGated"),
        scheduling_gates: spec.scheduling_gates.iter().map(|gate| gate.name.clone()).collect(),
        containers: status
            .container_statuses
            .iter()
            .filter(|c| !c.ready)
            .map(|c| {
                let why = [&c.state.waiting.reason, &c.state.terminated.reason];
                (c.name.clone(), why.into_iter().find(|r| !r.is_empty()).cloned().unwrap_or_default())
            })
            .collect(),
        gates: spec
            .readiness_gates
            .iter()
            .map(|g| &g.condition_type)
            .filter(|g| !is_true.contains(g.as_str()))
            .cloned()
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_of_a_pod_explains_why_it_is_not_ready() {
        let pod: Pod = serde_json::from_str(
            r#"{"metadata":{"name":"a","deletionTimestamp":null},
                "spec":{"readinessGates":[{"conditionType":"lb"}],"containers":[{"ports":null}]},
                "status":{"conditions":[{"type":"Ready","status":"False","reason":"ContainersNotReady"}],
                "containerStatuses":[{"name":"c","ready":false,"state":{"waiting":{"reason":"CrashLoopBackOff"}}}]}}"#,
        )
        .unwrap();
        assert!(!pod.deleting);
        let PodReadiness::NotReady(why) = &pod.readiness else { unreachable!() };
        assert_eq!(why.containers, [("c".into(), "CrashLoopBackOff".into())]);
        assert_eq!(why.gates, ["lb"]);
    }

    #[test]
    fn scheduling_gates_hold_a_pod_until_they_are_removed() {
        let gates = r#""schedulingGates":[{"name":"quota"}]"#;
        let of = |status: &str, reason: &str| {
            let condition = format!(r#"{{"type":"PodScheduled","status":"{status}","reason":"{reason}"}}"#);
            format!(r#"{{"conditions":[{condition}]}}"#)
        };
        for (spec, status, unscheduled, gated) in [
            (gates, "{}".to_owned(), true, true),
            ("", "{}".to_owned(), false, false),
            (r#""schedulingGates":[]"#, "null".to_owned(), false, false),
            (gates, of("False", "SchedulingGated"), true, true),
            ("", of("False", "Unschedulable"), true, false),
            ("", of("True", ""), false, false),
        ] {
            let text = format!(r#"{{"metadata":{{"name":"a"}},"spec":{{{spec}}},"status":{status}}}"#);
            let pod: Pod = serde_json::from_str(&text).unwrap();
            let PodReadiness::NotReady(why) = &pod.readiness else { unreachable!() };
            assert_eq!((why.unscheduled, pod.is_gated()), (unscheduled, gated), "{text}");
        }
    }

    #[test]
    fn a_pod_without_status_is_live_and_has_no_address() {
        let pod: Pod = serde_json::from_str(r#"{"metadata":{"name":"a"}}"#).unwrap();
        assert!(!pod.has_pod_ip && pod.ips.is_empty() && pod.phase == PodPhase::Live && !pod.ready());
    }
}
