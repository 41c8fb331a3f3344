//! What an API server says of its resources: while it is away, the part of it that is cached.

use std::collections::BTreeSet;

use roster_engine::model::{Resource, ResourceScope};
use serde_json::{Value, json};

use super::request_path::ApiVersion;
use crate::servers::edge::permissions::CACHED;

/// A document of API discovery that is served while the API server is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DiscoveryDocument {
    /// `/api`: the versions of the core group.
    CoreVersions,
    /// `/apis`: the other groups.
    Groups,
    /// `/apis/GROUP`, of a group with resources that are cached.
    Group(&'static str),
    /// `/api/VERSION` or `/apis/GROUP/VERSION`, by the `apiVersion` of resources that are cached.
    Resources(&'static str),
}

impl DiscoveryDocument {
    /// The document at a path.
    pub(crate) fn at(segments: &[&str]) -> Option<Self> {
        match segments {
            ["api"] => Some(Self::CoreVersions),
            ["apis"] => Some(Self::Groups),
            ["apis", group] => groups().into_iter().find(|known| known == group).map(Self::Group),
            _ => {
                let (version, rest) = ApiVersion::split(segments)?;
                let resource = CACHED.into_iter().find(|resource| version.has(*resource) && rest.is_empty())?;
                Some(Self::Resources(resource.api_version()))
            }
        }
    }

    /// The document, as far as it is known without the API server.
    pub(crate) fn offline(self) -> Value {
        match self {
            Self::CoreVersions => {
                json!({ "kind": "APIVersions", "versions": versions(""), "serverAddressByClientCIDRs": [] })
            }
            Self::Groups => {
                let groups: Vec<Value> = groups().into_iter().map(describe_group).collect();
                json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups })
            }
            Self::Group(name) => {
                let mut group = describe_group(name);
                (group["kind"], group["apiVersion"]) = ("APIGroup".into(), "v1".into());
                group
            }
            Self::Resources(api_version) => {
                let of_version = CACHED.into_iter().filter(|resource| resource.api_version() == api_version);
                let resources: Vec<Value> = of_version.map(describe_resource).collect();
                json!({
                    "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api_version, "resources": resources,
                })
            }
        }
    }
}

/// The groups of the resources that are cached, without the core group.
fn groups() -> BTreeSet<&'static str> {
    CACHED.into_iter().map(Resource::group).filter(|group| !group.is_empty()).collect()
}

/// The versions of a group in which resources are cached.
fn versions(group: &str) -> BTreeSet<&'static str> {
    CACHED.into_iter().filter(|resource| resource.group() == group).map(Resource::version).collect()
}

fn describe_group(name: &str) -> Value {
    let of_group = versions(name).into_iter();
    let versions: Vec<Value> =
        of_group.map(|version| json!({ "groupVersion": format!("{name}/{version}"), "version": version })).collect();
    json!({ "name": name, "versions": versions, "preferredVersion": versions.first() })
}

/// A resource, with what can be done offline.
fn describe_resource(resource: Resource) -> Value {
    json!({
        "name": resource.plural(),
        // Endpoints is singular and plural.
        "singularName": resource.kind().to_ascii_lowercase(),
        "namespaced": resource.scope() == ResourceScope::Namespaced,
        "kind": resource.kind(),
        "verbs": ["get", "list", "watch"],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_as_an_api_server_has_them() {
        let slices = json!({ "groupVersion": "discovery.k8s.io/v1", "version": "v1" });
        let group = json!({ "name": "discovery.k8s.io", "versions": [slices], "preferredVersion": slices });
        let document = |path: &str| {
            let segments: Vec<&str> = path.split('/').skip(1).collect();
            DiscoveryDocument::at(&segments).map(DiscoveryDocument::offline)
        };
        for (path, want) in [
            ("/api", Some(json!({ "kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [] }))),
            ("/apis", Some(json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": [group] }))),
            (
                "/apis/discovery.k8s.io",
                Some(json!({
                    "kind": "APIGroup", "apiVersion": "v1", "name": "discovery.k8s.io", "versions": [slices],
                    "preferredVersion": slices,
                })),
            ),
            (
                "/apis/discovery.k8s.io/v1",
                Some(json!({
                    "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "discovery.k8s.io/v1",
                    "resources": [{
                        "name": "endpointslices", "singularName": "endpointslice", "namespaced": true,
                        "kind": "EndpointSlice", "verbs": ["get", "list", "watch"],
                    }],
                })),
            ),
            ("/apis/apps", None),
            ("/apis/discovery.k8s.io/v2", None),
            ("/api/v2", None),
            ("/api/v1/services", None),
        ] {
            assert_eq!(document(path), want, "{path}");
        }
    }
}
