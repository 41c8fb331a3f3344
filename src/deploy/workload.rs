//! The Deployment and its Service.

use serde_json::{Value, json};

use super::hardening::{self, Probes};
use super::names::{ADMIN_PORT, IMAGE, NAME, NAMESPACE, SERVICE, WEBHOOK_PORT, labels, meta};

/// The flag of a webhook that issues its certificate.
pub(super) const SELF_SIGNED: &str = "--self-signed";
/// How long a pod still answers after it is asked to stop, until kube-proxy and API servers have noticed.
const PRE_STOP_SECONDS: u32 = 5;
/// Longest drain after that.
const GRACE_SECONDS: u32 = 30;

/// The namespace, with the strictest pod security.
pub(super) fn namespace() -> Value {
    let mut labels = labels();
    labels["pod-security.kubernetes.io/enforce"] = "restricted".into();
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE, "labels": labels } })
}

/// The Deployment.
pub(super) fn deployment() -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": meta(NAME),
        "spec": {
            "replicas": 2,
            "revisionHistoryLimit": 3,
            "selector": { "matchLabels": { "app.kubernetes.io/name": NAME } },
            // A new pod is ready before an old one stops.
            "strategy": { "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 } },
            "template": { "metadata": { "labels": labels() }, "spec": pod() },
        },
    })
}

fn pod() -> Value {
    json!({
        "serviceAccountName": NAME,
        "priorityClassName": "system-cluster-critical",
        "terminationGracePeriodSeconds": PRE_STOP_SECONDS + GRACE_SECONDS,
        "enableServiceLinks": false,
        "securityContext": hardening::pod(),
        "topologySpreadConstraints": [spread(NAME, "kubernetes.io/hostname"), spread(NAME, "topology.kubernetes.io/zone")],
        "containers": [container()],
    })
}

/// Spreads the pods of this name over the values of a node label.
pub(super) fn spread(name: &str, key: &str) -> Value {
    json!({
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": { "matchLabels": { "app.kubernetes.io/name": name } },
        // Pods of an older template do not count: a rollout would end unbalanced.
        "matchLabelKeys": ["pod-template-hash"],
    })
}

fn container() -> Value {
    let probes = Probes::at(json!({ "port": "admin" }));
    json!({
        "name": NAME,
        "image": IMAGE,
        "args": [
            "serve",
            format!("--webhook-listen=:{WEBHOOK_PORT}"),
            format!("--admin-listen=:{ADMIN_PORT}"),
            "--cluster",
            SELF_SIGNED,
            "--log-format=json",
        ],
        "env": [{ "name": "POD_NAMESPACE", "valueFrom": { "fieldRef": { "fieldPath": "metadata.namespace" } } },
                { "name": "POD_NAME", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } }],
        "ports": [
            { "name": "webhook", "containerPort": WEBHOOK_PORT, "protocol": "TCP" },
            { "name": "admin", "containerPort": ADMIN_PORT, "protocol": "TCP" },
        ],
        // Readiness depends on the caBundles, which may take a while to write; a restart would not help.
        "startupProbe": probes.startup(),
        "readinessProbe": probes.readiness(),
        "livenessProbe": probes.liveness(),
        // The image has no shell.
        "lifecycle": { "preStop": { "sleep": { "seconds": PRE_STOP_SECONDS } } },
        "resources": {
            "requests": { "cpu": "50m", "memory": "64Mi" },
            "limits": { "memory": "512Mi" },
        },
        "securityContext": hardening::container(),
    })
}

/// At most one pod of this name is evicted at a time.
pub(super) fn disruption_budget(name: &str, meta: &Value) -> Value {
    json!({
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": meta,
        "spec": {
            "maxUnavailable": 1,
            // A pod that is not ready does not serve, and would block a drain.
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": { "matchLabels": { "app.kubernetes.io/name": name } },
        },
    })
}

/// The Service that API servers call.
pub(super) fn service() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": meta(SERVICE),
        "spec": {
            "selector": { "app.kubernetes.io/name": NAME },
            "ports": [{ "name": "webhook", "port": 443, "protocol": "TCP", "targetPort": "webhook" }],
        },
    })
}
