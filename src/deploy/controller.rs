//! The controller: two replicas, one of which writes.

use roster_engine::model::{installed::CONTROLLER, permission::Permission};
use serde_json::{Value, json};

use super::{
    ManifestFile,
    access::ServiceAccount,
    hardening,
    names::{ADMIN_PORT, IMAGE, NAME, NAMESPACE},
    workload::{disruption_budget, namespace, spread},
};

/// All manifests of the controller, which needs these permissions.
pub(super) fn all(permissions: &[Permission]) -> Vec<ManifestFile> {
    let account = ServiceAccount { name: CONTROLLER, namespace: NAMESPACE, labels };
    let kustomization = json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": ["namespace.yaml", "rbac.yaml", "deployment.yaml"],
        "images": [{ "name": IMAGE, "newTag": env!("CARGO_PKG_VERSION") }],
    });
    vec![
        ManifestFile::new("controller/namespace.yaml", vec![namespace()]),
        ManifestFile::new("controller/rbac.yaml", account.all(permissions)),
        ManifestFile::new("controller/deployment.yaml", vec![deployment(), disruption_budget(CONTROLLER, &meta())]),
        ManifestFile::new("controller/kustomization.yaml", vec![kustomization]),
    ]
}

fn labels() -> Value {
    json!({ "app.kubernetes.io/name": CONTROLLER, "app.kubernetes.io/part-of": NAME })
}

fn meta() -> Value {
    json!({ "name": CONTROLLER, "namespace": NAMESPACE, "labels": labels() })
}

fn deployment() -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": meta(),
        "spec": {
            "replicas": 2,
            "revisionHistoryLimit": 3,
            "selector": { "matchLabels": { "app.kubernetes.io/name": CONTROLLER } },
            "template": { "metadata": { "labels": labels() }, "spec": pod() },
        },
    })
}

fn pod() -> Value {
    json!({
        "serviceAccountName": CONTROLLER,
        "priorityClassName": "system-cluster-critical",
        "terminationGracePeriodSeconds": 30,
        "enableServiceLinks": false,
        // Services work through what it writes.
        "tolerations": [{ "key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule" }],
        "securityContext": hardening::pod(),
        "topologySpreadConstraints":
            [spread(CONTROLLER, "kubernetes.io/hostname"), spread(CONTROLLER, "topology.kubernetes.io/zone")],
        "containers": [container()],
    })
}

fn container() -> Value {
    let probe =
        |path: &str, period: u32, failures: u32| hardening::probe(json!({ "port": "admin" }), path, period, failures);
    json!({
        "name": CONTROLLER,
        "image": IMAGE,
        "args": ["controller", format!("--admin-listen=:{ADMIN_PORT}"), "--log-format=json"],
        "env": [{ "name": "POD_NAMESPACE", "valueFrom": { "fieldRef": { "fieldPath": "metadata.namespace" } } },
                { "name": "POD_NAME", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } }],
        "ports": [{ "name": "admin", "containerPort": ADMIN_PORT, "protocol": "TCP" }],
        "startupProbe": probe("/livez", 1, 60),
        // A follower is ready as well: its copy of the cluster is complete.
        "readinessProbe": probe("/readyz", 5, 1),
        "livenessProbe": probe("/livez", 10, 3),
        "resources": {
            "requests": { "cpu": "100m", "memory": "128Mi" },
            "limits": { "memory": "1Gi" },
        },
        "securityContext": hardening::container(),
    })
}
