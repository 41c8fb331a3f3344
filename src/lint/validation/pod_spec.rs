//! What an API server refuses of pods and pod templates: labels, and names and ports of containers.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{
    faults::{Faults, quoted},
    object_meta::{self, Metadata, check_labels, check_map},
    values::{is_port, lenient, not_port_name, one_of},
};
use crate::{
    engine::reason::Reason,
    model::{dns, json::pointer::Pointer},
};

/// An object with a pod template somewhere: of a pod itself, of a workload, or of the Jobs of a CronJob.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Manifest {
    #[serde(deserialize_with = "lenient")]
    spec: Spec,
}

/// The spec of a workload, and of a pod.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    #[serde(deserialize_with = "lenient")]
    replicas: i64,
    #[serde(deserialize_with = "lenient")]
    selector: Value,
    #[serde(deserialize_with = "lenient")]
    template: Option<Template>,
    #[serde(deserialize_with = "lenient")]
    job_template: JobTemplate,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct JobTemplate {
    #[serde(deserialize_with = "lenient")]
    spec: JobSpec,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct JobSpec {
    #[serde(deserialize_with = "lenient")]
    template: Option<Template>,
}

/// A pod template, or a pod.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Template {
    #[serde(deserialize_with = "lenient")]
    metadata: Metadata,
    #[serde(deserialize_with = "lenient")]
    spec: Option<PodSpec>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PodSpec {
    #[serde(deserialize_with = "lenient")]
    restart_policy: String,
    #[serde(deserialize_with = "lenient")]
    dns_policy: String,
    #[serde(deserialize_with = "lenient")]
    dns_config: Option<Value>,
    #[serde(deserialize_with = "lenient")]
    hostname: String,
    #[serde(deserialize_with = "lenient")]
    subdomain: String,
    #[serde(deserialize_with = "lenient")]
    host_network: bool,
    #[serde(deserialize_with = "lenient")]
    containers: Option<Vec<Container>>,
    #[serde(deserialize_with = "lenient")]
    init_containers: Vec<Container>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Container {
    #[serde(deserialize_with = "lenient")]
    name: String,
    #[serde(deserialize_with = "lenient")]
    image: Value,
    #[serde(deserialize_with = "lenient")]
    image_pull_policy: String,
    #[serde(deserialize_with = "lenient")]
    readiness_probe: Option<Probe>,
    #[serde(deserialize_with = "lenient")]
    liveness_probe: Option<Probe>,
    #[serde(deserialize_with = "lenient")]
    startup_probe: Option<Probe>,
    #[serde(deserialize_with = "lenient")]
    ports: Vec<ContainerPortSpec>,
}

/// A probe: one of its handlers is given.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Probe {
    #[serde(deserialize_with = "lenient")]
    exec: Option<Value>,
    #[serde(deserialize_with = "lenient")]
    grpc: Option<Value>,
    #[serde(deserialize_with = "lenient")]
    http_get: Option<ProbedPort>,
    #[serde(deserialize_with = "lenient")]
    tcp_socket: Option<ProbedPort>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ProbedPort {
    #[serde(deserialize_with = "lenient")]
    port: Value,
    #[serde(deserialize_with = "lenient")]
    scheme: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ContainerPortSpec {
    #[serde(deserialize_with = "lenient")]
    name: String,
    #[serde(deserialize_with = "lenient")]
    container_port: Option<i64>,
    #[serde(deserialize_with = "lenient")]
    host_port: i64,
    #[serde(rename = "hostIP", deserialize_with = "lenient")]
    host_ip: String,
    #[serde(deserialize_with = "lenient")]
    protocol: String,
}

/// Checks the pod or the pod template of an object, if its kind has one.
pub(super) fn check(object: &RawValue, kind: &str, faults: &mut Faults<'_>) {
    if kind == "Pod" {
        if let Ok(pod) = serde_json::from_str::<Template>(object.get()) {
            // Its labels are those of the object.
            let spec = pod.spec.unwrap_or_default();
            check_pod(&spec, &Pointer::At("/spec"), &["Always", "OnFailure", "Never"], faults);
        }
        return;
    }
    let policies: &[&str] = match kind {
        "Job" | "CronJob" => &["OnFailure", "Never"],
        "Deployment" | "ReplicaSet" | "ReplicationController" | "StatefulSet" | "DaemonSet" => &["Always"],
        _ => return,
    };
    let Ok(Manifest { spec }) = serde_json::from_str::<Manifest>(object.get()) else { return };
    if spec.replicas < 0 {
        faults.add(Reason::InvalidValue, "/spec/replicas", "it is negative");
    }
    check_selector(&spec.selector, faults);
    let (template, path) = if kind == "CronJob" {
        (&spec.job_template.spec.template, &["spec", "jobTemplate", "spec", "template"][..])
    } else {
        (&spec.template, &["spec", "template"][..])
    };
    // The schema reports a template that is missing.
    let Some(template) = template else { return };
    let root = object_meta::at(path);
    let root = Pointer::At(&root);
    check_labels(&template.metadata, &Pointer::Key(&root, "metadata"), faults);
    let at = Pointer::Key(&root, "spec");
    let Some(spec) = &template.spec else {
        faults.add(Reason::MissingField, at, "the template has no spec");
        return;
    };
    check_pod(spec, &at, policies, faults);
    if policies.len() == 2 && spec.restart_policy.is_empty() && spec.containers.is_some() {
        let message = "the pods of a Job need restartPolicy: OnFailure or Never";
        faults.add(Reason::MissingField, Pointer::Key(&at, "restartPolicy"), message);
    }
}

/// A selector with `matchLabels`, or the plain one of a ReplicationController.
fn check_selector(selector: &Value, faults: &mut Faults<'_>) {
    let root = Pointer::At("/spec/selector");
    let labels = Pointer::Key(&root, "matchLabels");
    let (map, at) = match selector.get("matchLabels") {
        Some(labels_) => (labels_, &labels),
        None if selector.get("matchExpressions").is_none() => (selector, &root),
        None => return,
    };
    let map: BTreeMap<String, Value> = serde_json::from_value(map.clone()).unwrap_or_default();
    check_map(&map, at, faults);
}

fn check_pod(pod: &PodSpec, at: &Pointer<'_>, policies: &[&str], faults: &mut Faults<'_>) {
    one_of(&pod.restart_policy, policies, Pointer::Key(at, "restartPolicy"), faults);
    if pod.containers.as_ref().is_some_and(Vec::is_empty) {
        faults.add(Reason::MissingField, Pointer::Key(at, "containers"), "a pod needs a container");
    }
    one_of(
        &pod.dns_policy,
        &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"],
        Pointer::Key(at, "dnsPolicy"),
        faults,
    );
    if pod.dns_policy == "None" && pod.dns_config.is_none() {
        faults.add(Reason::MissingField, Pointer::Key(at, "dnsConfig"), "dnsPolicy: None needs a dnsConfig");
    }
    for (field, name) in [("hostname", &pod.hostname), ("subdomain", &pod.subdomain)] {
        if !name.is_empty() && !dns::is_label(name.as_bytes()) {
            let message = format!("{} does not consist of lower case letters, digits and '-'", quoted(name));
            faults.add(Reason::InvalidValue, Pointer::Key(at, field), message);
        }
    }
    let (mut names, mut host_ports) = (BTreeSet::new(), BTreeSet::new());
    let containers = pod.containers.as_deref().unwrap_or_default();
    for (list, is_init, containers) in
        [("initContainers", true, pod.init_containers.as_slice()), ("containers", false, containers)]
    {
        let list = Pointer::Key(at, list);
        for (i, container) in containers.iter().enumerate() {
            let at = Pointer::Index(&list, i);
            check_container(container, &at, faults);
            // An init container may repeat a port.
            let of_container = if is_init { &mut BTreeSet::new() } else { &mut host_ports };
            check_host_ports(container, pod.host_network, &Pointer::Key(&at, "ports"), of_container, faults);
            if !container.name.is_empty() && !names.insert(container.name.as_str()) {
                let message = format!("the container name {} is repeated", quoted(&container.name));
                faults.add(Reason::InvalidValue, Pointer::Key(&at, "name"), message);
            }
        }
    }
}

/// Ports of the host: in its network, they are those of the container. `taken` has those of the containers before.
fn check_host_ports<'c>(
    container: &'c Container,
    host_network: bool,
    list: &Pointer<'_>,
    taken: &mut BTreeSet<(&'c str, &'c str, i64)>,
    faults: &mut Faults<'_>,
) {
    for (i, port) in container.ports.iter().enumerate().filter(|(_, port)| port.host_port != 0) {
        let at = Pointer::Index(list, i);
        let field = Pointer::Key(&at, "hostPort");
        let protocol = if port.protocol.is_empty() { "TCP" } else { port.protocol.as_str() };
        if host_network && port.container_port.is_some_and(|n| n != port.host_port) {
            let message = "with hostNetwork, it is the containerPort";
            faults.add(Reason::InvalidValue, field, message);
        } else if !taken.insert((protocol, &port.host_ip, port.host_port)) {
            faults.add(Reason::InvalidValue, field, format!("the host port {}/{protocol} is repeated", port.host_port));
        }
    }
}

/// Checks the handler of a probe at the pointer `at`, and its port. The container may have no port of that name.
fn check_probe(probe: &Probe, at: &Pointer<'_>, faults: &mut Faults<'_>) {
    let handlers = [
        ("exec", probe.exec.is_some()),
        ("grpc", probe.grpc.is_some()),
        ("httpGet", probe.http_get.is_some()),
        ("tcpSocket", probe.tcp_socket.is_some()),
    ];
    let given: Vec<&str> = handlers.iter().filter(|(_, given)| *given).map(|(name, _)| *name).collect();
    if given.is_empty() {
        faults.add(Reason::MissingField, at, "the probe has neither exec, grpc, httpGet nor tcpSocket");
    } else if given.len() > 1 {
        faults.add(Reason::InvalidValue, at, format!("the probe has {}; one is allowed", given.join(" and ")));
    }
    for (field, handler) in [("httpGet", &probe.http_get), ("tcpSocket", &probe.tcp_socket)] {
        let Some(handler) = handler else { continue };
        let at = Pointer::Key(at, field);
        one_of(&handler.scheme, &["HTTP", "HTTPS"], Pointer::Key(&at, "scheme"), faults);
        let port = Pointer::Key(&at, "port");
        if let Some(number) = handler.port.as_i64().filter(|n| !is_port(*n)) {
            faults.add(Reason::InvalidPort, port, format!("port {number} is not from 1 to 65535"));
        } else if let Some((name, why)) = handler.port.as_str().and_then(|name| Some((name, not_port_name(name)?))) {
            faults.add(
                Reason::InvalidValue,
                port,
                format!("{} is not the name of a container port: {why}", quoted(name)),
            );
        }
    }
}

fn check_container(container: &Container, at: &Pointer<'_>, faults: &mut Faults<'_>) {
    if !container.name.is_empty() && !dns::is_label(container.name.as_bytes()) {
        let message = format!(
            "{} is not the name of a container: it consists of at most 63 lower case letters, digits and '-'",
            quoted(&container.name)
        );
        faults.add(Reason::InvalidValue, Pointer::Key(at, "name"), message);
    }
    if container.image.is_null() || container.image.as_str().is_some_and(str::is_empty) {
        faults.add(Reason::MissingField, Pointer::Key(at, "image"), "the container has no image");
    }
    let policies = ["Always", "IfNotPresent", "Never"];
    one_of(&container.image_pull_policy, &policies, Pointer::Key(at, "imagePullPolicy"), faults);
    for (field, probe) in [
        ("readinessProbe", &container.readiness_probe),
        ("livenessProbe", &container.liveness_probe),
        ("startupProbe", &container.startup_probe),
    ] {
        if let Some(probe) = probe {
            check_probe(probe, &Pointer::Key(at, field), faults);
        }
    }
    let list = Pointer::Key(at, "ports");
    let mut names = BTreeSet::new();
    for (i, port) in container.ports.iter().enumerate() {
        let at = Pointer::Index(&list, i);
        one_of(&port.protocol, &["TCP", "UDP", "SCTP"], Pointer::Key(&at, "protocol"), faults);
        let number = port.container_port.filter(|n| !is_port(*n));
        let host_port = Some(port.host_port).filter(|n| *n != 0 && !is_port(*n));
        for (field, number) in [("containerPort", number), ("hostPort", host_port)] {
            if let Some(number) = number {
                let message = format!("port {number} is not from 1 to 65535");
                faults.add(Reason::InvalidPort, Pointer::Key(&at, field), message);
            }
        }
        if port.name.is_empty() {
            continue;
        }
        if let Some(why) = not_port_name(&port.name) {
            let message = format!("{} is not the name of a container port: {why}", quoted(&port.name));
            faults.add(Reason::InvalidValue, Pointer::Key(&at, "name"), message);
        } else if !names.insert(port.name.as_str()) {
            let message = format!("the port name {} is repeated in the container", quoted(&port.name));
            faults.add(Reason::InvalidValue, Pointer::Key(&at, "name"), message);
        }
    }
}
