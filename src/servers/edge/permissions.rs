//! The permissions of the node proxy in a cluster, from which its role is derived.

use roster_engine::model::{ResourceReader, permission::Permission};

use crate::servers::edge::cache::scheme::EdgeScheme;

/// The permissions of the node proxy itself: it lists and watches what it caches. Everything else happens with the
/// credentials of its clients.
pub fn permissions(scheme: EdgeScheme) -> Vec<Permission> {
    let mut all = Permission::reads(ResourceReader::Edge);
    if scheme == EdgeScheme::OpenYurt {
        all.extend(Permission::reads(ResourceReader::EdgeOfOpenYurt));
    }
    all
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
        let core = of("", "services nodes endpoints namespaces");
        let mut want = vec![core, of("discovery.k8s.io", "endpointslices")];
        assert_eq!(rules(EdgeScheme::SuperEdge), want);
        assert_eq!(rules(EdgeScheme::KubeProxy), want);
        want.push(of("apps.openyurt.io", "nodepools"));
        assert_eq!(rules(EdgeScheme::OpenYurt), want);
    }
}
