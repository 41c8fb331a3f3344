//! Names and metadata of the generated objects.

use serde_json::{Value, json};

pub(super) use roster_engine::model::installed::{
    ADMIN_PORT, CRD, LEASE, NAME, NAMESPACE, SECRET, SERVICE, WEBHOOK_PORT,
};

/// The image, without its tag.
pub(super) const IMAGE: &str = "roster";

/// The labels of all objects.
pub(super) fn labels() -> Value {
    json!({ "app.kubernetes.io/name": NAME, "app.kubernetes.io/part-of": NAME })
}

/// Metadata of a namespaced object.
pub(super) fn meta(name: &str) -> Value {
    json!({ "name": name, "namespace": NAMESPACE, "labels": labels() })
}

/// Metadata of a cluster-scoped object.
pub(super) fn cluster_meta(name: &str) -> Value {
    json!({ "name": name, "labels": labels() })
}
