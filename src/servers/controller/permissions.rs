//! What the controller watches and writes, from which its role is derived.

use roster_engine::{
    model::{Resource, installed::CONTROLLER, permission::Permission},
    state::Controller,
};

/// What each controller plans with.
fn watched_for(controller: Controller) -> &'static [Resource] {
    match controller {
        Controller::Endpoints => &[Resource::Service, Resource::Pod, Resource::Endpoints],
        Controller::EndpointSlices => &[Resource::Service, Resource::Pod, Resource::Node, Resource::EndpointSlice],
        Controller::Mirroring => &[Resource::Service, Resource::Endpoints, Resource::EndpointSlice],
    }
}

/// What the controllers watch, each resource once.
pub(super) fn watched(controllers: &[Controller]) -> impl Iterator<Item = Resource> {
    let all = [Resource::Service, Resource::Pod, Resource::Node, Resource::Endpoints, Resource::EndpointSlice];
    all.into_iter().filter(|resource| controllers.iter().any(|c| watched_for(*c).contains(resource)))
}

/// The permissions of the controller: it watches what it plans with, writes Endpoints, slices and Events, and holds its Lease.
///
/// As for the controllers of the reference: `restricted` where an API server checks the addresses, and `finalizers` of the owners,
/// because what is written blocks their deletion (`OwnerReferencesPermissionEnforcement`).
pub fn permissions(controllers: &[Controller]) -> Vec<Permission> {
    let watched: Vec<Resource> = watched(controllers).collect();
    let mut all = Permission::watches(&watched);
    let written = [Resource::Endpoints, Resource::EndpointSlice].into_iter().filter(|r| watched.contains(r));
    for resource in written {
        all.push(Permission::of(&[resource], &["get", "create", "update", "delete"]));
        all.push(subresource(resource, "restricted", &["create"]));
    }
    for owner in [Resource::Service, Resource::Endpoints] {
        all.push(subresource(owner, "finalizers", &["update"]));
    }
    all.push(Permission::of(&[Resource::Event], &["create", "patch"]));
    let lease = |verbs| Permission { in_namespace: true, ..Permission::of(&[Resource::Lease], verbs) };
    all.push(lease(&["create"]));
    all.push(Permission { names: vec![CONTROLLER], ..lease(&["get", "update"]) });
    all
}

fn subresource(resource: Resource, name: &str, verbs: &'static [&'static str]) -> Permission {
    Permission { resources: vec![format!("{}/{name}", resource.plural())], ..Permission::of(&[resource], verbs) }
}
