//! The controller: two replicas, one of which writes; and the controller in shadow.

use roster_engine::model::{
    installed::{CONTROLLER, SHADOW},
    permission::Permission,
};
use serde_json::{Value, json};

use super::{
    ManifestFile, ShadowPermissions,
    access::ServiceAccount,
    hardening::{self, Probes},
    kustomization,
    names::{ADMIN_PORT, IMAGE, NAME, NAMESPACE},
    workload::{disruption_budget, namespace, spread},
};

/// The flag of a shadow that compares only, and of one that sends Events as well.
pub(super) const ONLY_COMPARES: &str = "--shadow";
pub(super) const SENDS_EVENTS: &str = "--shadow-events";
/// How old a difference is before it is healed.
pub(super) const HEAL_AFTER: &str = "30s";

/// The files of a kustomization.
const FILES: [&str; 3] = ["namespace.yaml", "rbac.yaml", "deployment.yaml"];

/// The account of a controller that writes.
pub(super) fn account() -> ServiceAccount {
    ServiceAccount { name: CONTROLLER, namespace: NAMESPACE, labels: || labels(CONTROLLER) }
}

/// The account of a controller in shadow.
pub(super) fn shadow_account() -> ServiceAccount {
    ServiceAccount { name: SHADOW, namespace: NAMESPACE, labels: || labels(SHADOW) }
}

/// All manifests of the controller, which needs these permissions.
pub(super) fn all(permissions: &[Permission]) -> Vec<ManifestFile> {
    let account = account();
    let workload = vec![deployment(CONTROLLER, 2, &[]), disruption_budget(CONTROLLER, &meta(CONTROLLER))];
    vec![
        ManifestFile::new("controller/namespace.yaml", vec![namespace()]),
        ManifestFile::new("controller/rbac.yaml", account.all(permissions)),
        ManifestFile::new("controller/deployment.yaml", workload),
        ManifestFile::new("controller/kustomization.yaml", vec![kustomization(&FILES)]),
        ManifestFile::new("controller/podmonitor.yaml", vec![pod_monitor(&meta(CONTROLLER))]),
    ]
}

/// The controller in shadow, which only watches; and what it takes to let it send Events, or heal.
pub(super) fn shadow(permissions: &ShadowPermissions) -> Vec<ManifestFile> {
    let account = shadow_account();
    let mut all = vec![
        ManifestFile::new("shadow/namespace.yaml", vec![namespace()]),
        ManifestFile::new("shadow/rbac.yaml", account.cluster_wide(&permissions.watching)),
        ManifestFile::new("shadow/deployment.yaml", vec![deployment(SHADOW, 1, &[ONLY_COMPARES])]),
        ManifestFile::new("shadow/kustomization.yaml", vec![kustomization(&FILES)]),
    ];
    for (does, flag, base, permissions) in [
        ("events", SENDS_EVENTS.to_owned(), "../../shadow", &permissions.events),
        ("healing", format!("--heal-after={HEAL_AFTER}"), "../shadow-events", &permissions.healing),
    ] {
        let name = format!("{SHADOW}-{does}");
        let flag = json!([{ "op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": flag }]);
        let kustomization = json!({
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "resources": [base, "rbac.yaml"],
            "patches": [{ "target": { "kind": "Deployment", "name": SHADOW }, "patch": flag.to_string() }],
        });
        let role = account.another_role(&name, permissions);
        all.push(ManifestFile::new(&format!("overlays/shadow-{does}/rbac.yaml"), role));
        all.push(ManifestFile::new(&format!("overlays/shadow-{does}/kustomization.yaml"), vec![kustomization]));
    }
    all
}

fn labels(name: &str) -> Value {
    json!({ "app.kubernetes.io/name": name, "app.kubernetes.io/part-of": NAME })
}

pub(super) fn meta(name: &str) -> Value {
    json!({ "name": name, "namespace": NAMESPACE, "labels": labels(name) })
}

/// Lets the Prometheus operator scrape each pod of the name in this metadata. The kustomization leaves it out: a cluster
/// without the operator refuses it.
pub(super) fn pod_monitor(meta: &Value) -> Value {
    json!({
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PodMonitor",
        "metadata": meta,
        "spec": {
            "selector": { "matchLabels": { "app.kubernetes.io/name": meta["name"] } },
            "podMetricsEndpoints": [{ "port": "admin", "path": "/metrics" }],
        },
    })
}

/// The controller of this name.
pub(super) fn deployment(name: &str, replicas: u32, args: &[&str]) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": meta(name),
        "spec": {
            "replicas": replicas,
            "revisionHistoryLimit": 3,
            "selector": { "matchLabels": { "app.kubernetes.io/name": name } },
            "template": { "metadata": { "labels": labels(name) }, "spec": pod(name, args) },
        },
    })
}

fn pod(name: &str, args: &[&str]) -> Value {
    json!({
        "serviceAccountName": name,
        "priorityClassName": "system-cluster-critical",
        "terminationGracePeriodSeconds": 30,
        "enableServiceLinks": false,
        // Services work through what it writes.
        "tolerations": [{ "key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule" }],
        "securityContext": hardening::pod(),
        "topologySpreadConstraints":
            [spread(name, "kubernetes.io/hostname"), spread(name, "topology.kubernetes.io/zone")],
        "containers": [container(name, args)],
    })
}

fn container(name: &str, more: &[&str]) -> Value {
    let probes = Probes::at(json!({ "port": "admin" }));
    let listen = format!("--admin-listen=:{ADMIN_PORT}");
    let args = [&["controller", &listen, "--log-format=json"], more].concat();
    json!({
        "name": name,
        "image": IMAGE,
        "args": args,
        "env": [{ "name": "POD_NAMESPACE", "valueFrom": { "fieldRef": { "fieldPath": "metadata.namespace" } } },
                { "name": "POD_NAME", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } }],
        "ports": [{ "name": "admin", "containerPort": ADMIN_PORT, "protocol": "TCP" }],
        "startupProbe": probes.startup(),
        // A follower is ready as well: its copy of the cluster is complete.
        "readinessProbe": probes.readiness(),
        "livenessProbe": probes.liveness(),
        "resources": {
            "requests": { "cpu": "100m", "memory": "128Mi" },
            "limits": { "memory": "1Gi" },
        },
        "securityContext": hardening::container(),
    })
}
