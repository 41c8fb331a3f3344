//! The REST API in a cluster: stateless replicas behind a Service, which read no cluster.

use serde_json::{Value, json};

use super::{
    ManifestFile,
    hardening::{self, Probes},
    kustomization,
    names::{ADMIN_PORT, IMAGE, NAME, NAMESPACE},
    workload::{disruption_budget, namespace, spread},
};

/// The name of everything of it.
pub(super) const REST: &str = "roster-rest";
/// The port of the Service and of its pods.
pub(super) const PORT: u16 = 8080;

/// All manifests of the REST API.
pub(super) fn all() -> Vec<ManifestFile> {
    let kustomization = kustomization(&["namespace.yaml", "deployment.yaml", "service.yaml"]);
    vec![
        ManifestFile::new("rest/namespace.yaml", vec![namespace()]),
        ManifestFile::new("rest/deployment.yaml", vec![account(), deployment(), disruption_budget(REST, &meta())]),
        ManifestFile::new("rest/service.yaml", vec![service()]),
        ManifestFile::new("rest/kustomization.yaml", vec![kustomization]),
    ]
}

fn labels() -> Value {
    json!({ "app.kubernetes.io/name": REST, "app.kubernetes.io/part-of": NAME })
}

/// Metadata of each of its objects.
pub(super) fn meta() -> Value {
    json!({ "name": REST, "namespace": NAMESPACE, "labels": labels() })
}

/// An account without permissions.
pub(super) fn account() -> Value {
    json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta(), "automountServiceAccountToken": false })
}

/// The Deployment.
pub(super) fn deployment() -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": meta(),
        "spec": {
            "replicas": 2,
            "revisionHistoryLimit": 3,
            "selector": { "matchLabels": { "app.kubernetes.io/name": REST } },
            "template": { "metadata": { "labels": labels() }, "spec": pod() },
        },
    })
}

fn pod() -> Value {
    json!({
        "serviceAccountName": REST,
        "automountServiceAccountToken": false,
        // As long as it takes to be taken out of the Service, and to answer open requests.
        "terminationGracePeriodSeconds": 30,
        "enableServiceLinks": false,
        "securityContext": hardening::pod(),
        "topologySpreadConstraints": [spread(REST, "kubernetes.io/hostname"), spread(REST, "topology.kubernetes.io/zone")],
        "containers": [container()],
    })
}

fn container() -> Value {
    let probes = Probes::at(json!({ "port": "admin" }));
    json!({
        "name": REST,
        "image": IMAGE,
        "args": ["serve", format!("--listen=:{PORT}"), format!("--admin-listen=:{ADMIN_PORT}"), "--log-format=json"],
        "ports": [
            { "name": "http", "containerPort": PORT, "protocol": "TCP" },
            { "name": "admin", "containerPort": ADMIN_PORT, "protocol": "TCP" },
        ],
        "startupProbe": probes.startup(),
        "readinessProbe": probes.readiness(),
        "livenessProbe": probes.liveness(),
        "resources": {
            "requests": { "cpu": "50m", "memory": "64Mi" },
            // What bodies, objects and answers may take together.
            "limits": { "memory": "1Gi" },
        },
        "securityContext": hardening::container(),
    })
}

/// The Service.
pub(super) fn service() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": meta(),
        "spec": {
            "selector": { "app.kubernetes.io/name": REST },
            "ports": [{ "name": "http", "port": PORT, "protocol": "TCP", "targetPort": "http" }],
        },
    })
}
