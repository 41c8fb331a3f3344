//! What an API server says of its resources: while it is away, the part of it that is cached.

use roster_engine::model::{Resource, ResourceScope};
use serde_json::{Value, json};

use crate::servers::edge::permissions::CACHED;

/// The group of slices.
const GROUP: &str = "discovery.k8s.io";

/// A document of API discovery that is served while the API server is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DiscoveryDocument {
    /// `/api`: the versions of the core group.
    CoreVersions,
    /// `/apis`: the other groups.
    Groups,
    /// `/apis/discovery.k8s.io`
    Group,
    /// `/api/v1`
    CoreResources,
    /// `/apis/discovery.k8s.io/v1`
    GroupResources,
}

impl DiscoveryDocument {
    /// The document at a path.
    pub(crate) fn at(segments: &[&str]) -> Option<Self> {
        match segments {
            ["api"] => Some(Self::CoreVersions),
            ["apis"] => Some(Self::Groups),
            ["apis", GROUP] => Some(Self::Group),
            ["api", "v1"] => Some(Self::CoreResources),
            ["apis", GROUP, "v1"] => Some(Self::GroupResources),
            _ => None,
        }
    }

    /// The document, as far as it is known without the API server.
    pub(crate) fn offline(self) -> Value {
        match self {
            Self::CoreVersions => {
                json!({ "kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [] })
            }
            Self::Groups => json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": [group()] }),
            Self::Group => {
                let mut group = group();
                (group["kind"], group["apiVersion"]) = ("APIGroup".into(), "v1".into());
                group
            }
            Self::CoreResources => resources("v1", ""),
            Self::GroupResources => resources("discovery.k8s.io/v1", GROUP),
        }
    }
}

fn group() -> Value {
    let version = json!({ "groupVersion": "discovery.k8s.io/v1", "version": "v1" });
    json!({ "name": GROUP, "versions": [version], "preferredVersion": version })
}

/// The resources of a group that are cached, with what can be done offline.
fn resources(group_version: &str, group: &str) -> Value {
    let of_group = CACHED.iter().filter(|r| r.group() == group);
    let resources: Vec<Value> = of_group.map(|r| describe(*r)).collect();
    json!({ "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": resources })
}

fn describe(resource: Resource) -> Value {
    json!({
        "name": resource.plural(),
        // Endpoints is singular and plural.
        "singularName": resource.kind().to_ascii_lowercase(),
        "namespaced": resource.scope() == ResourceScope::Namespaced,
        "kind": resource.kind(),
        "verbs": ["get", "list", "watch"],
    })
}
