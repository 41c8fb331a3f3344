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

/// The permissions of the webhook: it watches some resources, and writes the status of
/// policies, the `caBundle`s that call it, its Secret and its Lease. RBAC cannot limit a patch to fields, nor a creation
/// to a name: a `ValidatingAdmissionPolicy` of the manifests does.
pub fn permissions() -> Vec<Permission> {
    let mut all = Permission::watches(&WATCHED);
    let configurations = [Resource::MutatingWebhookConfiguration, Resource::ValidatingWebhookConfiguration];
    all.extend([
        // A namespace that the watch has not delivered yet.
        Permission::of(&[Resource::Namespace], &["get"]),
        Permission {
            resources: vec!["endpointpolicies/status".to_owned()],
            ..Permission::of(&[Resource::EndpointPolicy], &["patch"])
        },
        // The caBundles of its own configurations and CRD, and of no others.
        Permission { names: vec![NAME], ..Permission::of(&configurations, &["get", "patch"]) },
        Permission { names: vec![CRD], ..Permission::of(&[Resource::CustomResourceDefinition], &["get", "patch"]) },
    ]);
    for (resource, name) in [(Resource::Secret, SECRET), (Resource::Lease, LEASE)] {
        all.push(Permission { in_namespace: true, ..Permission::of(&[resource], &["create"]) });
        let its_own = Permission::of(&[resource], &["get", "update"]);
        all.push(Permission { in_namespace: true, names: vec![name], ..its_own });
    }
    all
}
