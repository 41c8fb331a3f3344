//! The permissions of the webhook in a cluster, from which the manifests derive RBAC.

use roster_engine::model::{
    Resource,
    installed::{CRD, LEASE, NAME, SECRET},
    permission::Permission,
};

/// What the webhook watches.
const WATCHED: [Resource; 6] = [
    Resource::Service,
    Resource::Pod,
    Resource::Node,
    Resource::EndpointSlice,
    Resource::Namespace,
    Resource::EndpointPolicy,
];

/// Its own configurations, through which API servers call it.
const CONFIGURATIONS: [Resource; 2] =
    [Resource::MutatingWebhookConfiguration, Resource::ValidatingWebhookConfiguration];

/// The permissions of the webhook: it watches some resources, writes the status of policies, and reads the `caBundle`s by which it is
/// called.
pub fn permissions() -> Vec<Permission> {
    let mut all = Permission::watches(&WATCHED);
    all.extend([
        // A namespace that the watch has not delivered yet.
        Permission::of(&[Resource::Namespace], &["get"]),
        Permission {
            resources: vec!["endpointpolicies/status".to_owned()],
            ..Permission::of(&[Resource::EndpointPolicy], &["patch"])
        },
    ]);
    all.extend(on_what_calls_it(&["get"]));
    all
}

/// The permissions for its own configurations and its CRD, and for no others.
fn on_what_calls_it(verbs: &'static [&'static str]) -> [Permission; 2] {
    [
        Permission { names: vec![NAME], ..Permission::of(&CONFIGURATIONS, verbs) },
        Permission { names: vec![CRD], ..Permission::of(&[Resource::CustomResourceDefinition], verbs) },
    ]
}

/// What the webhook may do besides if it issues its certificate: it writes the `caBundle`s, its Secret and its Lease. RBAC cannot limit a
/// patch to fields, nor a creation to a name: a `ValidatingAdmissionPolicy` of the manifests does.
pub fn permissions_to_issue() -> Vec<Permission> {
    let mut all = Vec::from(on_what_calls_it(&["patch"]));
    for (resource, name) in [(Resource::Secret, SECRET), (Resource::Lease, LEASE)] {
        all.push(Permission { in_namespace: true, ..Permission::of(&[resource], &["create"]) });
        let its_own = Permission::of(&[resource], &["get", "update"]);
        all.push(Permission { in_namespace: true, names: vec![name], ..its_own });
    }
    all
}
