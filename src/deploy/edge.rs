//! The node proxy on each node: a `DaemonSet`, and the role of its service account.

use roster_engine::model::permission::Permission;
use serde_json::{Value, json};

use super::{
    ManifestFile,
    access::ServiceAccount,
    hardening::{self, Probes},
    kustomization,
    names::{IMAGE, NAME},
};

/// The namespace, and the name of everything in it.
pub(super) const EDGE: &str = "roster-edge";
/// The Secret with the certificate of the proxies, for 127.0.0.1.
pub(super) const TLS: &str = "roster-edge-tls";
/// The `ConfigMap` with the CA of clients that have certificates.
pub(super) const CLIENT_CA: &str = "roster-edge-client-ca";
/// The role of proxies whose clients have certificates.
pub(super) const CLIENT_CERTIFICATES: &str = "roster-edge-client-certificates";
/// The folder of that CA in a container.
pub(super) const CLIENT_CA_FOLDER: &str = "/etc/roster-clients";
/// Ports of the host, on loopback only.
const PORT: u16 = 51006;
const ADMIN_PORT: u16 = 51007;

/// All manifests of the node proxy, which needs these permissions.
pub(super) fn all(permissions: &[Permission]) -> Vec<ManifestFile> {
    let account = account(EDGE);
    let mut rbac = vec![namespace()];
    rbac.extend(account.cluster_wide(permissions));
    let mut kustomization = kustomization(&["rbac.yaml", "daemonset.yaml"]);
    // An address that every node reaches without kube-proxy.
    kustomization["configMapGenerator"] = json!([{
        "name": EDGE,
        "namespace": EDGE,
        "literals": ["host=api.example.com", "port=6443"],
    }]);
    vec![
        ManifestFile::new("edge/rbac.yaml", rbac),
        ManifestFile::new("edge/daemonset.yaml", vec![daemon_set()]),
        ManifestFile::new("edge/kustomization.yaml", vec![kustomization]),
    ]
}

/// The overlay for clients with certificates, about which the proxy asks the API server as itself.
pub(super) fn client_certificates(permissions: &[Permission]) -> Vec<ManifestFile> {
    let operations = json!([
        { "op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": client_ca_flag() },
        { "op": "add", "path": "/spec/template/spec/containers/0/volumeMounts/-",
          "value": { "name": "client-ca", "mountPath": CLIENT_CA_FOLDER, "readOnly": true } },
        { "op": "add", "path": "/spec/template/spec/volumes/-",
          "value": { "name": "client-ca", "configMap": { "name": CLIENT_CA } } },
    ]);
    let kustomization = json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": ["../../edge", "rbac.yaml"],
        "patches": [{ "target": { "kind": "DaemonSet", "name": EDGE }, "patch": operations.to_string() }],
    });
    let account = account(EDGE);
    let role = account.another_role(CLIENT_CERTIFICATES, permissions);
    vec![
        ManifestFile::new("overlays/edge-client-certificates/rbac.yaml", role),
        ManifestFile::new("overlays/edge-client-certificates/kustomization.yaml", vec![kustomization]),
    ]
}

/// The account of the proxies.
pub(super) fn account(namespace: &'static str) -> ServiceAccount {
    ServiceAccount { name: EDGE, namespace, labels }
}

/// The flag that accepts clients with certificates of that CA.
pub(super) fn client_ca_flag() -> String {
    format!("--client-ca-file={CLIENT_CA_FOLDER}/ca.crt")
}

fn labels() -> Value {
    json!({ "app.kubernetes.io/name": EDGE, "app.kubernetes.io/part-of": NAME })
}

/// The network of the host is not allowed by a stricter level.
fn namespace() -> Value {
    let mut labels = labels();
    labels["pod-security.kubernetes.io/enforce"] = "privileged".into();
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": EDGE, "labels": labels } })
}

pub(super) fn daemon_set() -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": { "name": EDGE, "namespace": EDGE, "labels": labels() },
        "spec": {
            "selector": { "matchLabels": { "app.kubernetes.io/name": EDGE } },
            // Two proxies cannot listen on the same port of a node. Meanwhile kube-proxy keeps its rules.
            "updateStrategy": { "type": "RollingUpdate", "rollingUpdate": { "maxUnavailable": "10%" } },
            "template": { "metadata": { "labels": labels() }, "spec": pod() },
        },
    })
}

fn pod() -> Value {
    json!({
        "serviceAccountName": EDGE,
        "priorityClassName": "system-node-critical",
        "enableServiceLinks": false,
        // The clients are on the host, and the proxy must work before there are Services.
        "hostNetwork": true,
        "dnsPolicy": "Default",
        "tolerations": [{ "operator": "Exists" }],
        "terminationGracePeriodSeconds": 30,
        "securityContext": hardening::pod(),
        "containers": [container()],
        "volumes": [
            { "name": "tls", "secret": { "secretName": TLS, "defaultMode": 0o440 } },
            // It outlives restarts of the container and of the node, but not the pod.
            { "name": "state", "emptyDir": { "sizeLimit": "512Mi" } },
        ],
    })
}

fn container() -> Value {
    let probes = Probes::at(json!({ "host": "127.0.0.1", "port": ADMIN_PORT }));
    let from_config = |name: &str, key: &str| json!({ "name": name, "valueFrom": { "configMapKeyRef": { "name": EDGE, "key": key } } });
    json!({
        "name": "edge",
        "image": IMAGE,
        "args": [
            "edge",
            "--scheme=superedge",
            format!("--listen=127.0.0.1:{PORT}"),
            format!("--admin-listen=127.0.0.1:{ADMIN_PORT}"),
            "--tls-cert-file=/etc/roster/tls.crt",
            "--tls-private-key-file=/etc/roster/tls.key",
            "--state-file=/var/lib/roster/edge/edge.state",
            "--log-format=json",
        ],
        "env": [
            { "name": "NODE_NAME", "valueFrom": { "fieldRef": { "fieldPath": "spec.nodeName" } } },
            // The address of the Service `kubernetes` works only after kube-proxy, which waits for this proxy.
            from_config("KUBERNETES_SERVICE_HOST", "host"),
            from_config("KUBERNETES_SERVICE_PORT", "port"),
            // Freed memory returns to the system at once: a tenth of what a proxy takes, and edge nodes are small.
            { "name": "MIMALLOC_PURGE_DELAY", "value": "0" },
        ],
        "startupProbe": probes.startup(),
        // Without the API server it is ready from its saved state.
        "readinessProbe": probes.readiness(),
        "livenessProbe": probes.liveness(),
        "resources": {
            "requests": { "cpu": "20m", "memory": "64Mi" },
            "limits": { "memory": "512Mi" },
        },
        "securityContext": hardening::container(),
        "volumeMounts": [
            { "name": "tls", "mountPath": "/etc/roster", "readOnly": true },
            { "name": "state", "mountPath": "/var/lib/roster" },
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a15_s4_the_proxy_has_no_privileges() {
        let spec = pod();
        let container = &spec["containers"][0];
        let of_pod = &spec["securityContext"];
        assert_eq!((&of_pod["runAsNonRoot"], &of_pod["runAsUser"]), (&json!(true), &json!(65532)));
        let want = json!({ "allowPrivilegeEscalation": false, "capabilities": { "drop": ["ALL"] }, "readOnlyRootFilesystem": true });
        assert_eq!(container["securityContext"], want);
        let volumes = spec["volumes"].as_array().unwrap();
        assert!(volumes.iter().all(|volume| volume.get("hostPath").is_none()), "{volumes:?}");
        assert_eq!((spec.get("hostPID"), spec.get("hostIPC")), (None, None));
    }
}
