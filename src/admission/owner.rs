//! Whose objects are left alone.

use crate::model::{Labels, names};

/// The users whose writes are nobody's business here: kube-controller-manager's controllers, each as its own user
/// with `--use-service-account-credentials`, else one for all; and the API server itself, which writes the
/// Endpoints and the slice of `default/kubernetes`, whose addresses are those of no pod.
pub const CONTROLLER_USERS: [&str; 6] = [
    "system:apiserver",
    "system:kube-controller-manager",
    "system:serviceaccount:kube-system:endpoint-controller",
    "system:serviceaccount:kube-system:endpointslice-controller",
    "system:serviceaccount:kube-system:endpointslicemirroring-controller",
    "system:serviceaccount:kube-system:generic-garbage-collector",
];

/// Whether a controller writes.
pub(super) fn is_controller(user: &str) -> bool {
    CONTROLLER_USERS.contains(&user)
}

/// The label that names the writer of Endpoints, and the built-in controller that it may name.
pub(super) const ENDPOINTS: (&str, &[&str]) = (names::ENDPOINTS_MANAGED_BY, &[names::ENDPOINTS_CONTROLLER]);
/// The same for slices.
pub(super) const SLICES: (&str, &[&str]) =
    (names::SLICE_MANAGED_BY, &[names::SLICE_CONTROLLER, names::MIRROR_CONTROLLER]);

/// The built-in controller that the labels name as the writer of the object.
pub(super) fn managed_by<'a>(labels: &'a Labels, (label, controllers): (&str, &[&str])) -> Option<&'a str> {
    labels.get(label).map(AsRef::as_ref).filter(|v| controllers.contains(v))
}
