//! The permissions that a server needs in a cluster, from which the manifests derive RBAC.

use super::{
    installed::{CRD, LEASE, NAME, SECRET},
    resource::{Reader, Resource},
};

/// Access to some resources, as one rule of a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permission {
    /// The API group of the resources.
    pub group: &'static str,
    /// The resources of that group, or subresources, as RBAC names them.
    pub resources: Vec<String>,
    /// The names of the objects; empty: all objects.
    pub names: Vec<&'static str>,
    /// What is allowed.
    pub verbs: &'static [&'static str],
    /// Whether the permission is limited to the namespace of Roster.
    pub in_namespace: bool,
}

/// The permissions of the webhook: it reads the resources that the table assigns to it, and writes the status of
/// policies, the `caBundle`s that call it, its Secret and its Lease.
pub fn of_webhook() -> Vec<Permission> {
    let mut all = reads(Reader::Webhook);
    let configurations = [Resource::MutatingWebhookConfiguration, Resource::ValidatingWebhookConfiguration];
    all.extend([
        Permission {
            resources: vec!["endpointpolicies/status".to_owned()],
            ..of(&[Resource::EndpointPolicy], &["patch"])
        },
        // The caBundles of its own configurations and CRD, and of no others.
        Permission { names: vec![NAME], ..of(&configurations, &["get", "patch"]) },
        Permission { names: vec![CRD], ..of(&[Resource::CustomResourceDefinition], &["get", "patch"]) },
    ]);
    for (resource, name) in [(Resource::Secret, SECRET), (Resource::Lease, LEASE)] {
        // RBAC cannot limit `create` to a name.
        all.push(Permission { in_namespace: true, ..of(&[resource], &["create"]) });
        all.push(Permission { in_namespace: true, names: vec![name], ..of(&[resource], &["get", "update"]) });
    }
    all
}

/// List and watch of everything that `reader` reads: a permission for each group.
fn reads(reader: Reader) -> Vec<Permission> {
    let mut resources: Vec<Resource> = Resource::read_by(reader).collect();
    resources.sort_by_key(|r| r.group());
    resources.chunk_by(|a, b| a.group() == b.group()).map(|group| of(group, &["list", "watch"])).collect()
}

/// Access to all objects of resources of one group.
fn of(resources: &[Resource], verbs: &'static [&'static str]) -> Permission {
    Permission {
        group: resources.first().map_or("", |r| r.group()),
        resources: resources.iter().map(|r| r.plural().to_owned()).collect(),
        names: Vec::new(),
        verbs,
        in_namespace: false,
    }
}
