//! What the values of a user change in the pods of each part.

use serde_json::{Value, json};

use super::{
    COLLECTOR,
    expression::{items_if, line, more, optional, value, with, with_items, yaml},
};
use crate::deploy::network::limits;

/// A workload whose image, resources, placement and flags are those of the values of a part.
pub(super) fn configured(mut workload: Value, part: &str) -> Value {
    let of = |name: &str| format!(".Values.{part}.{name}");
    let template = &mut workload["spec"]["template"];
    template["metadata"]["labels"][more(&of("podLabels"))] = Value::Null;
    let (key, annotations) = optional(&of("podAnnotations"), "annotations");
    template["metadata"][key] = annotations;
    let pod = &mut template["spec"];
    let container = &mut pod["containers"][0];
    container["image"] = json!(value("include \"roster.image\" ."));
    container["imagePullPolicy"] = json!(value(".Values.image.pullPolicy"));
    container["resources"] = json!(yaml(&of("resources")));
    let traces = [("endpoint", COLLECTOR), ("sampling", ".Values.traces.sampling")]
        .map(|(flag, given)| json!(format!("--otlp-{flag}={}", value(given))));
    push(&mut container["args"], items_if(COLLECTOR, traces));
    push(&mut container["args"], [line(&format!("range {}", of("extraArgs"))), value(". | quote"), line("end")]);
    if container["env"].is_array() {
        push(&mut container["env"], [more(&of("extraEnv"))]);
    } else {
        let (key, variables) = optional(&of("extraEnv"), "env");
        container[key] = variables;
    }
    for name in ["nodeSelector", "tolerations", "affinity"] {
        let (key, given) = optional(&of(name), name);
        pod[key] = given;
    }
    if let Some(pod) = pod.as_object_mut() {
        pod.remove("tolerations");
        pod.remove("priorityClassName");
    }
    let (key, secrets) = optional(".Values.imagePullSecrets", "imagePullSecrets");
    pod[key] = secrets;
    pod[with(&of("priorityClassName"), "priorityClassName")] = json!(value(". | quote"));
    workload
}

/// A policy for pods that connect to the collector too, if there is one.
pub(super) fn limited(meta: &Value, ports: &[(u16, Value)]) -> Value {
    let mut policy = limits(meta, ports);
    let port = json!({ "protocol": "TCP", "port": value("include \"roster.collectorPort\" .") });
    push(&mut policy["spec"]["egress"][0]["ports"], items_if(COLLECTOR, [port]));
    push(&mut policy["spec"]["egress"], with_items(".Values.networkPolicy.egress"));
    policy
}

/// A Deployment with the replicas of the values; of a part that may be scaled automatically, only if it is not.
pub(super) fn replicated(mut deployment: Value, part: &str, may_scale: bool) -> Value {
    let replicas = value(&format!(".Values.{part}.replicas"));
    if let Some(spec) = deployment["spec"].as_object_mut() {
        spec.remove("replicas");
        let key = if may_scale { line(&format!("if not .Values.{part}.autoscaling.enabled")) } else { String::new() };
        spec.insert(key + "replicas", json!(replicas));
    }
    deployment
}

/// Lets a `HorizontalPodAutoscaler` decide about the replicas of a Deployment.
pub(super) fn autoscaler(meta: &Value, part: &str) -> Value {
    let of = |name: &str| value(&format!(".Values.{part}.autoscaling.{name}"));
    let target = json!({ "type": "Utilization", "averageUtilization": of("targetCPUUtilizationPercentage") });
    json!({
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": meta,
        "spec": {
            "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": meta["name"] },
            "minReplicas": of("minReplicas"),
            "maxReplicas": of("maxReplicas"),
            "metrics": [{ "type": "Resource", "resource": { "name": "cpu", "target": target } }],
        },
    })
}

/// Adds items to a list, or makes one of them.
pub(super) fn push<T: Into<Value>>(list: &mut Value, items: impl IntoIterator<Item = T>) {
    if list.is_null() {
        *list = json!([]);
    }
    if let Some(list) = list.as_array_mut() {
        list.extend(items.into_iter().map(Into::into));
    }
}
