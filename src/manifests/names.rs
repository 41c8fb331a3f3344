//! What things are called in a cluster.

use serde_json::{Value, json};

/// The namespace.
pub(super) const NAMESPACE: &str = "roster-system";
/// The Deployment, its ServiceAccount, and the configurations.
pub(super) const NAME: &str = "roster";
/// The Service that API servers call.
pub(super) const SERVICE: &str = "roster-webhook";
/// The Secret of the CA and the certificate.
pub(super) const SECRET: &str = "roster-webhook-tls";
/// The Lease of whoever makes certificates.
pub(super) const LEASE: &str = "roster-certificates";
/// The image, without its tag.
pub(super) const IMAGE: &str = "ghcr.io/roster-dev/roster";
/// Port of the webhook in a pod: private clusters let API servers reach 10250 without a further firewall rule.
pub(super) const WEBHOOK_PORT: u16 = 10250;
/// Port of health and metrics in a pod.
pub(super) const ADMIN_PORT: u16 = 8081;

/// Labels of everything.
pub(super) fn labels() -> Value {
    json!({ "app.kubernetes.io/name": NAME, "app.kubernetes.io/part-of": NAME })
}

/// Metadata of an object in the namespace.
pub(super) fn meta(name: &str) -> Value {
    json!({ "name": name, "namespace": NAMESPACE, "labels": labels() })
}

/// Metadata of an object of the cluster.
pub(super) fn cluster_meta(name: &str) -> Value {
    json!({ "name": name, "labels": labels() })
}
