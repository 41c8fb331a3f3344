//! What things are called in a cluster.

use serde_json::{Value, json};

pub(super) use crate::model::installed::{ADMIN_PORT, LEASE, NAME, NAMESPACE, SECRET, SERVICE, WEBHOOK_PORT};

/// The image, without its tag.
pub(super) const IMAGE: &str = "roster";
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
