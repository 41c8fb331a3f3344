//! A permission that a server needs in a cluster, from which the manifests derive RBAC.

use super::resource::Resource;

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

impl Permission {
    /// List and watch of all objects of these resources: a permission for each group.
    pub fn watches(resources: &[Resource]) -> Vec<Self> {
        let mut resources = resources.to_vec();
        resources.sort_by_key(|r| r.group());
        resources.chunk_by(|a, b| a.group() == b.group()).map(|group| Self::of(group, &["list", "watch"])).collect()
    }

    /// Access to all objects of resources of one group.
    pub fn of(resources: &[Resource], verbs: &'static [&'static str]) -> Self {
        Self {
            group: resources.first().map_or("", |r| r.group()),
            resources: resources.iter().map(|r| r.plural().to_owned()).collect(),
            names: Vec::new(),
            verbs,
            in_namespace: false,
        }
    }
}
