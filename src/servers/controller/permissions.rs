//! What the controller watches and writes, from which its role is derived.

use roster_engine::{
    model::{
        Resource,
        installed::{CONTROLLER, SHADOW},
        permission::Permission,
    },
    state::Controller,
};

use crate::kube_api::ReaderReviews;

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

/// What each controller writes, and the objects that own it.
fn written_by(controller: Controller) -> (Resource, Option<Resource>) {
    match controller {
        Controller::Endpoints => (Resource::Endpoints, None),
        Controller::EndpointSlices => (Resource::EndpointSlice, Some(Resource::Service)),
        Controller::Mirroring => (Resource::EndpointSlice, Some(Resource::Endpoints)),
    }
}

/// The permissions of the controller: it watches what it plans with, writes Endpoints, slices and Events, holds its Lease, and asks who
/// may read `/debug`.
pub fn permissions(controllers: &[Controller]) -> Vec<Permission> {
    let mut all = watching(controllers);
    all.extend(permissions_to_write(controllers));
    all.extend(permissions_for_events());
    all.extend(ReaderReviews::permissions());
    all.extend(lease(CONTROLLER));
    all
}

/// The permissions of a controller in shadow that only watches.
pub fn permissions_in_shadow(controllers: &[Controller]) -> Vec<Permission> {
    let mut all = watching(controllers);
    all.extend(ReaderReviews::permissions());
    all
}

/// What a shadow needs besides to send Events: only the replica that holds the Lease sends them.
pub fn permissions_in_shadow_for_events() -> Vec<Permission> {
    let mut all = permissions_for_events();
    all.extend(lease(SHADOW));
    all
}

fn watching(controllers: &[Controller]) -> Vec<Permission> {
    Permission::watches(&watched(controllers).collect::<Vec<_>>())
}

/// What it takes to write Endpoints and slices.
///
/// As for the controllers of the reference: `restricted` where an API server checks the addresses, and `finalizers` of the owners,
/// because what is written blocks their deletion (`OwnerReferencesPermissionEnforcement`).
pub fn permissions_to_write(controllers: &[Controller]) -> Vec<Permission> {
    let mut all = Vec::new();
    let is_among = |has: &dyn Fn(Resource, Option<Resource>) -> bool| {
        controllers.iter().map(|controller| written_by(*controller)).any(|(written, owner)| has(written, owner))
    };
    for resource in [Resource::Endpoints, Resource::EndpointSlice] {
        if is_among(&|written, _| written == resource) {
            all.push(Permission::of(&[resource], &["get", "create", "update", "delete"]));
            all.push(subresource(resource, "restricted", &["create"]));
        }
    }
    for resource in [Resource::Service, Resource::Endpoints] {
        if is_among(&|_, owner| owner == Some(resource)) {
            all.push(subresource(resource, "finalizers", &["update"]));
        }
    }
    all
}

/// Whether the controllers watch a resource.
pub(super) fn watches(controllers: &[Controller], resource: Resource) -> bool {
    watched(controllers).any(|watched| watched == resource)
}

/// What it takes to send Events.
fn permissions_for_events() -> Vec<Permission> {
    vec![Permission::of(&[Resource::Event], &["create", "patch"])]
}

fn lease(name: &'static str) -> [Permission; 2] {
    let of = |verbs| Permission { in_namespace: true, ..Permission::of(&[Resource::Lease], verbs) };
    [of(&["create"]), Permission { names: vec![name], ..of(&["get", "update"]) }]
}

fn subresource(resource: Resource, name: &str, verbs: &'static [&'static str]) -> Permission {
    Permission { resources: vec![format!("{}/{name}", resource.plural())], ..Permission::of(&[resource], verbs) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_controller_may_do_only_what_it_does() {
        let of = |controllers: &[Controller]| {
            let all = permissions(controllers).into_iter().filter(|permission| !permission.in_namespace);
            let lines =
                all.map(|Permission { resources, verbs, .. }| format!("{} {}", verbs.join(","), resources.join(",")));
            lines.collect::<Vec<_>>()
        };
        let common = ["create,patch events", "create tokenreviews", "create subjectaccessreviews"];
        for (controller, want) in [
            (
                Controller::Endpoints,
                &[
                    "list,watch services,pods,endpoints",
                    "get,create,update,delete endpoints",
                    "create endpoints/restricted",
                ][..],
            ),
            (
                Controller::EndpointSlices,
                &[
                    "list,watch services,pods,nodes",
                    "list,watch endpointslices",
                    "get,create,update,delete endpointslices",
                    "create endpointslices/restricted",
                    "update services/finalizers",
                ],
            ),
            (
                Controller::Mirroring,
                &[
                    "list,watch services,endpoints",
                    "list,watch endpointslices",
                    "get,create,update,delete endpointslices",
                    "create endpointslices/restricted",
                    "update endpoints/finalizers",
                ],
            ),
        ] {
            assert_eq!(of(&[controller]), [want, &common].concat(), "{controller:?}");
        }
    }
}
