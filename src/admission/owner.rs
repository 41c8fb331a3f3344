//! Whose objects are left alone.

use crate::model::{Labels, names};

/// The users as which kube-controller-manager's controllers write: each its own with
/// `--use-service-account-credentials`, else one for all.
const USERS: [&str; 5] = [
    "system:kube-controller-manager",
    "system:serviceaccount:kube-system:endpoint-controller",
    "system:serviceaccount:kube-system:endpointslice-controller",
    "system:serviceaccount:kube-system:endpointslicemirroring-controller",
    "system:serviceaccount:kube-system:generic-garbage-collector",
];

/// Whether a controller writes.
pub fn is_controller(user: &str) -> bool {
    USERS.contains(&user)
}

/// Whether the labels say that a built-in controller writes the object.
pub fn is_managed(labels: &Labels) -> bool {
    let by = |label: &str, values: &[&str]| labels.get(label).is_some_and(|v| values.contains(&v.as_str()));
    by(names::ENDPOINTS_MANAGED_BY, &["endpoint-controller"])
        || by(names::SLICE_MANAGED_BY, &["endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io"])
}
