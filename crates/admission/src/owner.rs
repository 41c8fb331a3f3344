//! Users and owners whose objects the webhook does not touch.

use roster_engine::model::{Labels, names};

/// Users whose writes the webhook does not review. The controllers of kube-controller-manager each have a user of their
/// own with `--use-service-account-credentials`, and share one without it. Roster's controller does their work as a user of its
/// own, and its shadow puts right what they leave wrong as another one. The API server writes the Endpoints and the slice of `default/kubernetes`, whose addresses do not belong to pods.
pub const CONTROLLER_USERS: [&str; 8] = [
    "system:apiserver",
    "system:kube-controller-manager",
    "system:serviceaccount:kube-system:endpoint-controller",
    "system:serviceaccount:kube-system:endpointslice-controller",
    "system:serviceaccount:kube-system:endpointslicemirroring-controller",
    "system:serviceaccount:kube-system:generic-garbage-collector",
    "system:serviceaccount:roster-system:roster-controller",
    "system:serviceaccount:roster-system:roster-shadow",
];

/// Whether a user is one of the controllers or the API server.
pub(super) fn is_controller(user: &str) -> bool {
    CONTROLLER_USERS.contains(&user)
}

/// The user of each built-in controller that names itself in the labels of what it writes.
const USER_OF_CONTROLLER: [(&str, &str); 3] = [
    (names::ENDPOINTS_CONTROLLER, "system:serviceaccount:kube-system:endpoint-controller"),
    (names::SLICE_CONTROLLER, "system:serviceaccount:kube-system:endpointslice-controller"),
    (names::MIRROR_CONTROLLER, "system:serviceaccount:kube-system:endpointslicemirroring-controller"),
];

/// The user who probably wrote a stored object of this kind with these labels: the built-in controller that they name.
pub(super) fn writer_of(kind: &str, labels: &Labels) -> Option<&'static str> {
    let owner = match kind {
        "Endpoints" => ENDPOINTS,
        "EndpointSlice" => SLICES,
        _ => return None,
    };
    let controller = managed_by(labels, owner)?;
    USER_OF_CONTROLLER.iter().find(|(name, _)| *name == controller).map(|(_, user)| *user)
}

/// The label that names the writer of Endpoints, and its value for the built-in controller.
pub(super) const ENDPOINTS: (&str, &[&str]) = (names::ENDPOINTS_MANAGED_BY, &[names::ENDPOINTS_CONTROLLER]);
/// The label that names the writer of a slice, and its values for the built-in controllers.
pub(super) const SLICES: (&str, &[&str]) =
    (names::SLICE_MANAGED_BY, &[names::SLICE_CONTROLLER, names::MIRROR_CONTROLLER]);

/// The built-in controller that writes the object, by its labels.
pub(super) fn managed_by<'a>(labels: &'a Labels, (label, controllers): (&str, &[&str])) -> Option<&'a str> {
    labels.get(label).map(AsRef::as_ref).filter(|v| controllers.contains(v))
}
