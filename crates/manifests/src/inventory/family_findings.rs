//! Services that a cluster of one address family refuses.

use roster_engine::{
    model::{Service, ServiceType, defaults::Defaults},
    reason::{Finding, Reason, Severity},
};

use super::objects::Inventory;

impl Inventory {
    /// The Services that were never in a cluster, and ask for families that the cluster does not have. That is an error
    /// only where its families are given: manifests for a dual-stack cluster do not say so.
    pub(super) fn family_findings(&self, defaults: &Defaults<'_>) -> Vec<Finding> {
        if defaults.families().is_dual() {
            return Vec::new();
        }
        let is_new = |s: &&Service| defaults.apply_to(&s.meta.uid, &s.meta.resource_version);
        self.services.iter().filter(is_new).filter_map(|service| finding(service, defaults)).collect()
    }
}

fn finding(service: &Service, defaults: &Defaults<'_>) -> Option<Finding> {
    // Users may write endpoints of any family for these.
    let any_family = service.declared_headless() && service.selector.is_none();
    if any_family || service.kind == ServiceType::ExternalName {
        return None;
    }
    let cluster = defaults.families();
    let other = service.families.iter().find(|family| **family != cluster.first());
    let (pointer, value) = if service.family_policy == "RequireDualStack" {
        ("/spec/ipFamilyPolicy", "RequireDualStack")
    } else {
        ("/spec/ipFamilies", other?.as_str())
    };
    let cluster = cluster.as_str();
    let message =
        format!("a cluster with {cluster} alone refuses {value}; for another cluster, add --ip-families IPv4,IPv6");
    let severity = if defaults.families.is_some() { Severity::Error } else { Severity::Warning };
    let pointer = Some(pointer.to_owned());
    Some(Finding { severity, pointer, ..Finding::new(Reason::InvalidValue, service.key(), message) })
}

#[cfg(test)]
mod tests {
    use roster_engine::model::defaults::DefaultsMode;
    use serde_json::json;

    use super::*;
    use crate::inventory::AnyObject;

    #[test]
    fn a_cluster_of_one_family_refuses_the_other() {
        let dual =
            "a cluster with IPv4 alone refuses RequireDualStack; for another cluster, add --ip-families IPv4,IPv6";
        let v6 = "a cluster with IPv4 alone refuses IPv6; for another cluster, add --ip-families IPv4,IPv6";
        for (spec, families, mode, want) in [
            (json!({ "selector": { "a": "b" } }), None, None, vec![]),
            (json!({ "ipFamilyPolicy": "PreferDualStack" }), None, None, vec![]),
            (json!({ "ipFamilyPolicy": "RequireDualStack" }), None, None, vec![(Severity::Warning, dual)]),
            (
                json!({ "ipFamilyPolicy": "RequireDualStack", "ipFamilies": ["IPv6", "IPv4"] }),
                Some("IPv4"),
                None,
                vec![(Severity::Error, dual)],
            ),
            (json!({ "ipFamilies": ["IPv6"] }), None, None, vec![(Severity::Warning, v6)]),
            (json!({ "ipFamilyPolicy": "RequireDualStack" }), Some("IPv6,IPv4"), None, vec![]),
            (json!({ "ipFamilyPolicy": "RequireDualStack" }), None, Some(DefaultsMode::Never), vec![]),
            (json!({ "ipFamilyPolicy": "RequireDualStack", "clusterIP": "None" }), None, None, vec![]),
            (json!({ "type": "ExternalName", "ipFamilies": ["IPv6"] }), None, None, vec![]),
        ] {
            let families = families.map(|f| f.parse().unwrap());
            let defaults = Defaults { mode, families, ..Defaults::default() };
            let mut inventory = Inventory::default();
            let object = json!({ "metadata": { "name": "web", "namespace": "shop" }, "spec": spec });
            inventory.add(AnyObject::Service(serde_json::from_value(object).unwrap()));
            let got: Vec<_> =
                inventory.family_findings(&defaults).into_iter().map(|f| (f.severity, f.message)).collect();
            let want: Vec<_> = want.into_iter().map(|(severity, text)| (severity, text.to_owned())).collect();
            assert_eq!(got, want, "{spec}");
        }
    }
}
