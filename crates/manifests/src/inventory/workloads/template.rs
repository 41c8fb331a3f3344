//! The pod template of a workload: what all of its pods have in common.

use std::{collections::BTreeSet, sync::Arc};

use roster_engine::model::{
    ContainerPort, Labels, RawContainerPort, RawSchedulingGate, TargetPort, Text,
    wire::{lenient, nullable},
};
use serde::{Deserialize, Deserializer, de::IgnoredAny};
use smol_str::ToSmolStr;

use super::{
    requests::{ContainerRequests, RawResources},
    scheduling::{NodeTerm, Scheduling, Toleration},
};

/// A pod template. Its name and namespace are ignored, as the controllers ignore them.
#[derive(Clone, Debug, Default)]
pub struct PodTemplate {
    /// `metadata.labels`.
    pub labels: Labels,
    /// `spec.hostname`.
    pub hostname: Text,
    /// `spec.subdomain`.
    pub subdomain: Text,
    /// `spec.hostNetwork`.
    pub host_network: bool,
    /// What a pod asks of its node.
    pub scheduling: Scheduling,
    /// Ports in look-up order, as in [`Pod`](roster_engine::model::Pod).
    pub ports: Arc<[ContainerPort]>,
    /// The containers and sidecars, and whether they ask for CPU and memory.
    pub requests: Vec<ContainerRequests>,
    /// Whether the pod itself asks for something (`spec.resources`), beside its containers.
    pub has_pod_requests: bool,
    /// Ports of the init containers that end before the containers start.
    pub init_ports: Vec<ContainerPort>,
    /// Names of the containers that have no readiness probe, without init containers.
    pub unprobed: Vec<Text>,
    /// How many containers there are, without init containers.
    pub containers: usize,
    /// The numbers that may be ports on which containers listen: those of probes, arguments and variables.
    pub suggested_ports: BTreeSet<i32>,
    /// Whether containers read files or variables that are objects of their own, which may name any port.
    pub is_configured: bool,
    /// A port that containers have twice in the network of the host. An API server refuses every such pod: it copies
    /// `containerPort` to `hostPort`, in the pod and not in the template. Init containers may repeat a port.
    pub repeated_host_port: Option<i32>,
    /// The first probe that can never succeed, because its container does not have the port.
    pub lost_probe: Option<Box<LostProbe>>,
    /// The first probe that asks a number that nothing in the template mentions beside it, though its container declares ports.
    pub undeclared_probe: Option<Box<LostProbe>>,
}

/// A probe that asks a port that its container does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostProbe {
    /// The name of the container.
    pub container: Text,
    /// `readinessProbe` or `startupProbe`.
    pub probe: &'static str,
    /// The name of the port, or its number.
    pub port: Text,
    /// The path of the probe in the pod spec, as of a JSON pointer.
    pub path: String,
}

impl<'de> Deserialize<'de> for PodTemplate {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        RawTemplate::deserialize(d).map(Self::from)
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawTemplate {
    #[serde(deserialize_with = "nullable")]
    metadata: RawMeta,
    #[serde(deserialize_with = "nullable")]
    spec: RawSpec,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawMeta {
    #[serde(deserialize_with = "nullable")]
    labels: Labels,
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
    #[serde(deserialize_with = "lenient")]
    volumes: Vec<RawVolume>,
    #[serde(deserialize_with = "nullable")]
    node_selector: Labels,
    #[serde(deserialize_with = "nullable")]
    affinity: RawAffinity,
    #[serde(deserialize_with = "nullable")]
    tolerations: Vec<Toleration>,
    #[serde(deserialize_with = "nullable")]
    scheduling_gates: Vec<RawSchedulingGate>,
    #[serde(deserialize_with = "lenient")]
    resources: RawResources,
}

impl RawSpec {
    fn repeated_host_port(&self) -> Option<i32> {
        let ports = self.containers.iter().flat_map(|c| &c.ports).filter(|_| self.host_network);
        let mut seen = BTreeSet::new();
        ports.map(RawContainerPort::of_host).find(|port| !seen.insert(*port)).map(|(_, _, number)| number)
    }
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawContainer {
    #[serde(deserialize_with = "nullable")]
    name: Text,
    #[serde(deserialize_with = "nullable")]
    restart_policy: Text,
    #[serde(deserialize_with = "nullable")]
    readiness_probe: Option<RawProbe>,
    #[serde(deserialize_with = "nullable")]
    startup_probe: Option<RawProbe>,
    #[serde(deserialize_with = "lenient")]
    liveness_probe: Option<RawProbe>,
    #[serde(deserialize_with = "lenient")]
    command: Vec<Text>,
    #[serde(deserialize_with = "lenient")]
    args: Vec<Text>,
    #[serde(deserialize_with = "lenient")]
    env: Vec<RawVariable>,
    #[serde(deserialize_with = "lenient")]
    env_from: Vec<IgnoredAny>,
    #[serde(deserialize_with = "nullable")]
    ports: Vec<RawContainerPort>,
    #[serde(deserialize_with = "lenient")]
    resources: RawResources,
}

/// A volume, as far as it may hold the configuration of a program.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawVolume {
    config_map: Option<IgnoredAny>,
    projected: Option<IgnoredAny>,
}

impl RawVolume {
    fn has_files(&self) -> bool {
        self.config_map.is_some() || self.projected.is_some()
    }
}

/// An environment variable.
#[derive(Deserialize, Default)]
#[serde(default)]
struct RawVariable {
    #[serde(deserialize_with = "lenient")]
    value: Text,
}

/// A probe, as far as it asks a port.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawProbe {
    #[serde(deserialize_with = "nullable")]
    http_get: RawHandler,
    #[serde(deserialize_with = "nullable")]
    tcp_socket: RawHandler,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawHandler {
    #[serde(deserialize_with = "nullable")]
    port: TargetPort,
}

impl RawContainer {
    /// Whether it keeps running, if it is an init container.
    fn is_sidecar(&self) -> bool {
        self.restart_policy == "Always"
    }

    fn requests(&self) -> ContainerRequests {
        let name = self.name.clone();
        ContainerRequests { name, cpu: self.resources.has("cpu"), memory: self.resources.has("memory") }
    }

    /// The numbers in its arguments and its variables.
    fn mentioned_numbers(&self) -> impl Iterator<Item = i32> {
        let texts = self.command.iter().chain(&self.args).chain(self.env.iter().map(|variable| &variable.value));
        let numbers = texts.flat_map(|text| text.split(|c: char| !c.is_ascii_digit()));
        numbers.filter_map(|number| number.parse::<u16>().ok()).map(i32::from)
    }

    /// The numbers that may be ports on which it listens: those of its probes, its arguments and its variables.
    fn suggested_ports(&self) -> impl Iterator<Item = i32> {
        let probes = [&self.readiness_probe, &self.startup_probe, &self.liveness_probe].into_iter().flatten();
        let asked = probes.flat_map(|probe| [&probe.http_get.port, &probe.tcp_socket.port]);
        let asked = asked.filter_map(|port| match port {
            TargetPort::Number(number) => Some(*number),
            TargetPort::Name(_) => None,
        });
        self.mentioned_numbers().chain(asked)
    }

    /// A probe that asks a port by a name that the container does not have.
    fn lost_probe(&self, index: usize) -> Option<LostProbe> {
        let has = |name: &Text| self.ports.iter().any(|p| p.of_container(false).name == *name);
        self.probe_of(index, |port| match port {
            TargetPort::Name(name) if !name.is_empty() && !has(name) => Some(name.clone()),
            _ => None,
        })
    }

    /// A probe that asks a number that no container declares, and that neither arguments nor variables mention, though the
    /// container declares ports.
    fn undeclared_probe(&self, index: usize, known: &BTreeSet<i32>) -> Option<LostProbe> {
        if self.ports.is_empty() {
            return None;
        }
        self.probe_of(index, |port| match port {
            TargetPort::Number(number) if *number != 0 && !known.contains(number) => Some(number.to_smolstr()),
            _ => None,
        })
    }

    /// The first of the probes that hold a pod back whose port is `wrong`.
    fn probe_of(&self, index: usize, wrong: impl Fn(&TargetPort) -> Option<Text>) -> Option<LostProbe> {
        let probes = [("startupProbe", &self.startup_probe), ("readinessProbe", &self.readiness_probe)];
        probes.into_iter().find_map(|(probe, given)| {
            let given = given.as_ref()?;
            let port = [&given.http_get.port, &given.tcp_socket.port].into_iter().find_map(&wrong)?;
            Some(LostProbe { container: self.name.clone(), probe, port, path: format!("/containers/{index}/{probe}") })
        })
    }
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawAffinity {
    #[serde(deserialize_with = "nullable")]
    node_affinity: RawNodeAffinity,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawNodeAffinity {
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    required: Option<RawNodeSelector>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct RawNodeSelector {
    #[serde(deserialize_with = "nullable")]
    node_selector_terms: Vec<NodeTerm>,
}

impl From<RawTemplate> for PodTemplate {
    fn from(RawTemplate { metadata, spec }: RawTemplate) -> Self {
        let (sidecars, init): (Vec<_>, Vec<_>) = spec.init_containers.iter().partition(|c| c.is_sidecar());
        let containers = || spec.containers.iter().map(|c| (c, false)).chain(sidecars.iter().map(|c| (*c, true)));
        let repeated_host_port = spec.repeated_host_port();
        let declared = containers().flat_map(|(c, _)| c.ports.iter().map(|port| port.of_container(false).number));
        let known: BTreeSet<i32> = declared.chain(containers().flat_map(|(c, _)| c.mentioned_numbers())).collect();
        let undeclared = spec.containers.iter().enumerate().find_map(|(i, c)| c.undeclared_probe(i, &known));
        Self {
            undeclared_probe: undeclared.map(Box::new),
            labels: metadata.labels,
            hostname: spec.hostname,
            subdomain: spec.subdomain,
            host_network: spec.host_network,
            requests: containers().map(|(c, _)| c.requests()).collect(),
            has_pod_requests: !spec.resources.is_empty(),
            ports: containers().flat_map(|(c, sidecar)| c.ports.iter().map(move |p| p.of_container(sidecar))).collect(),
            init_ports: init.into_iter().flat_map(|c| &c.ports).map(|p| p.of_container(false)).collect(),
            unprobed: spec.containers.iter().filter(|c| c.readiness_probe.is_none()).map(|c| c.name.clone()).collect(),
            containers: spec.containers.len(),
            is_configured: spec.volumes.iter().any(RawVolume::has_files)
                || containers().any(|(c, _)| !c.env_from.is_empty()),
            suggested_ports: containers().flat_map(|(c, _)| c.suggested_ports()).collect(),
            repeated_host_port,
            lost_probe: spec.containers.iter().enumerate().find_map(|(i, c)| c.lost_probe(i)).map(Box::new),
            scheduling: Scheduling {
                node_name: spec.node_name,
                node_selector: spec.node_selector,
                required: spec.affinity.node_affinity.required.map(|r| r.node_selector_terms),
                tolerations: spec.tolerations,
                gates: spec.scheduling_gates.into_iter().map(|gate| gate.name).collect(),
            },
        }
    }
}
