//! What an API server refuses of pods and pod templates: labels, and names and ports of containers.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{
    faults::{Faults, quoted},
    object_meta::{self, Metadata, check_labels, check_map},
    service::one_of,
    values::{is_port, lenient, not_port_name},
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
    template: Template,
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
    template: Template,
}

/// A pod template, or a pod.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Template {
    #[serde(deserialize_with = "lenient")]
    metadata: Metadata,
    #[serde(deserialize_with = "lenient")]
    spec: PodSpec,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PodSpec {
    #[serde(deserialize_with = "lenient")]
    restart_policy: String,
    #[serde(deserialize_with = "lenient")]
    containers: Option<Vec<Container>>,
    #[serde(deserialize_with = "lenient")]
    init_containers: Vec<Container>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Container {
    #[serde(deserialize_with = "lenient")]
    name: String,
    #[serde(deserialize_with = "lenient")]
    ports: Vec<ContainerPortSpec>,
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
    #[serde(deserialize_with = "lenient")]
    protocol: String,
}

/// Checks the pod or the pod template of an object, if its kind has one.
pub(super) fn check(object: &RawValue, kind: &str, faults: &mut Faults<'_>) {
    if kind == "Pod" {
        if let Ok(pod) = serde_json::from_str::<Template>(object.get()) {
            // Its labels are those of the object.
            check_pod(&pod.spec, &Pointer::At("/spec"), &["Always", "OnFailure", "Never"], faults);
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
    let root = object_meta::at(path);
    let root = Pointer::At(&root);
    check_labels(&template.metadata, &Pointer::Key(&root, "metadata"), faults);
    let spec = Pointer::Key(&root, "spec");
    check_pod(&template.spec, &spec, policies, faults);
    if policies.len() == 2 && template.spec.restart_policy.is_empty() && template.spec.containers.is_some() {
        let message = "the pods of a Job need restartPolicy: OnFailure or Never";
        faults.add(Reason::MissingField, Pointer::Key(&spec, "restartPolicy"), message);
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
    let mut names = BTreeSet::new();
    let containers = pod.containers.as_deref().unwrap_or_default();
    for (list, containers) in [("initContainers", pod.init_containers.as_slice()), ("containers", containers)] {
        let list = Pointer::Key(at, list);
        for (i, container) in containers.iter().enumerate() {
            let at = Pointer::Index(&list, i);
            check_container(container, &at, faults);
            if !container.name.is_empty() && !names.insert(container.name.as_str()) {
                let message = format!("the container name {} is repeated", quoted(&container.name));
                faults.add(Reason::InvalidValue, Pointer::Key(&at, "name"), message);
            }
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
