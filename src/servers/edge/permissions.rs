//! What the node proxy caches, and the permissions that it needs for that, from which its role is derived.

use roster_engine::model::{Resource, permission::Permission};

use crate::servers::edge::cache::scheme::EdgeScheme;

/// The resources that clients read from the cache, whatever the scheme.
pub(super) const CACHED: [Resource; 5] =
    [Resource::Service, Resource::Endpoints, Resource::EndpointSlice, Resource::Node, Resource::Namespace];

/// The resources with endpoints.
pub(super) const WITH_ENDPOINTS: [Resource; 2] = [Resource::Endpoints, Resource::EndpointSlice];

/// What the node proxy watches.
pub(super) fn watched(scheme: EdgeScheme) -> impl Iterator<Item = Resource> {
    CACHED.into_iter().chain(of_scheme(scheme).iter().copied())
}

/// What the node proxy watches for one scheme only.
fn of_scheme(scheme: EdgeScheme) -> &'static [Resource] {
    match scheme {
        EdgeScheme::OpenYurt => &[Resource::NodePool],
        EdgeScheme::KubeProxy | EdgeScheme::SuperEdge => &[],
    }
}

/// The permissions of the node proxy itself: it lists and watches what it caches. Everything else happens with the
/// credentials of its clients.
pub fn permissions(scheme: EdgeScheme) -> Vec<Permission> {
    [&CACHED[..], of_scheme(scheme)].into_iter().flat_map(Permission::watches).collect()
}

/// What the proxy needs besides where clients may have certificates: it asks the API server what they may do.
pub fn permissions_with_client_certificates() -> Vec<Permission> {
    vec![Permission {
        group: "authorization.k8s.io",
        resources: vec!["subjectaccessreviews".to_owned()],
        names: Vec::new(),
        verbs: &["create"],
        in_namespace: false,
    }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_may_list_and_watch_what_it_caches_and_nothing_else() {
        let rules = |scheme| -> Vec<(String, String)> {
            let all = permissions(scheme).into_iter();
            all.map(|rule| {
                assert_eq!(rule.verbs, ["list", "watch"]);
                (rule.group.to_owned(), rule.resources.join(" "))
            })
            .collect()
        };
        let of = |group: &str, resources: &str| (group.to_owned(), resources.to_owned());
        let core = of("", "services endpoints nodes namespaces");
        let mut want = vec![core, of("discovery.k8s.io", "endpointslices")];
        assert_eq!(rules(EdgeScheme::SuperEdge), want);
        assert_eq!(rules(EdgeScheme::KubeProxy), want);
        want.push(of("apps.openyurt.io", "nodepools"));
        assert_eq!(rules(EdgeScheme::OpenYurt), want);
    }
}
