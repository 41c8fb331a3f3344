//! What the controller watches and writes, from which its role is derived.

use roster_engine::{
    model::{Resource, permission::Permission},
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

/// The permissions of the controller: it watches what it plans with, and writes Endpoints, slices and Events.
pub fn permissions(controllers: &[Controller]) -> Vec<Permission> {
    let watched: Vec<Resource> = watched(controllers).collect();
    let mut all = Permission::watches(&watched);
    let written = [Resource::Endpoints, Resource::EndpointSlice].into_iter().filter(|r| watched.contains(r));
    for resource in written {
        all.push(Permission::of(&[resource], &["get", "create", "update", "delete"]));
    }
    all.push(Permission::of(&[Resource::Event], &["create", "patch"]));
    all
}
