//! The address families of the cluster: which Services need both, and which ones a cluster of one family refuses.

use roster_engine::{
    model::{
        ObjectKey, Resource, Service, ServiceType,
        defaults::{ClusterFamilies, Defaults},
    },
    reason::{Finding, Reason, Severity},
};

use super::objects::Inventory;

impl Inventory {
    /// The families of the cluster that the objects are written for. Where none are given, it has both if a Service needs both.
    pub(super) fn cluster_families(&self, defaults: &Defaults<'_>) -> ClusterFamilies {
        let needs_both = || self.new_services(defaults).any(|service| defaults.families_for(service).is_dual());
        let inferred = || if needs_both() { ClusterFamilies::DUAL } else { ClusterFamilies::default() };
        defaults.families.unwrap_or_else(inferred)
    }

    /// What the Services that were never in a cluster say of its families: an error if they ask for others than those that
    /// are given, or how many of them need both.
    pub(super) fn family_findings(&self, defaults: &Defaults<'_>) -> Vec<Finding> {
        let services = self.new_services(defaults);
        match defaults.families {
            Some(cluster) if cluster.is_dual() => Vec::new(),
            Some(cluster) => services.filter_map(|service| refusal(service, cluster)).collect(),
            None => {
                let count = services.filter(|service| defaults.families_for(service).is_dual()).count();
                assumption(count).into_iter().collect()
            }
        }
    }

    /// The Services that were never in a cluster. Users may write endpoints of any family for some.
    fn new_services(&self, defaults: &Defaults<'_>) -> impl Iterator<Item = &Service> {
        self.services.iter().filter(|service| {
            let any_family = service.declared_headless() && service.selector.is_none();
            let has_addresses = service.kind != ServiceType::ExternalName && !any_family;
            has_addresses && defaults.apply_to(&service.meta.uid, &service.meta.resource_version)
        })
    }
}

/// Why a cluster of one family refuses a Service.
fn refusal(service: &Service, cluster: ClusterFamilies) -> Option<Finding> {
    let other = service.families.iter().find(|family| **family != cluster.first());
    let (pointer, value) = if service.family_policy == "RequireDualStack" {
        ("/spec/ipFamilyPolicy", "RequireDualStack")
    } else {
        ("/spec/ipFamilies", other?.as_str())
    };
    let cluster = cluster.as_str();
    let message =
        format!("a cluster with {cluster} alone refuses {value}; for another cluster, add --ip-families IPv4,IPv6");
    let pointer = Some(pointer.to_owned());
    Some(Finding { severity: Severity::Error, pointer, ..Finding::new(Reason::InvalidValue, service.key(), message) })
}

/// That so many Services need a cluster with both families.
fn assumption(count: usize) -> Option<Finding> {
    let (subject, verb) = if count == 1 { ("Service", "needs") } else { ("Services", "need") };
    let key = ObjectKey { kind: Resource::Service.kind().into(), ..ObjectKey::default() };
    let families = ClusterFamilies::DUAL.as_str();
    let message = format!("{count} {subject} {verb} IPv6 or both families; assumed: a cluster with {families}");
    (count > 0).then(|| Finding::new(Reason::Assumed, key, message))
}

#[cfg(test)]
mod tests {
    use roster_engine::model::defaults::DefaultsMode;
    use serde_json::json;

    use super::*;
    use crate::inventory::AnyObject;

    #[test]
    fn a_cluster_of_one_family_refuses_the_other_and_has_both_where_none_is_given() {
        let dual =
            "a cluster with IPv4 alone refuses RequireDualStack; for another cluster, add --ip-families IPv4,IPv6";
        let v6 = "a cluster with IPv4 alone refuses IPv6; for another cluster, add --ip-families IPv4,IPv6";
        let both = "1 Service needs IPv6 or both families; assumed: a cluster with IPv4,IPv6";
        for (spec, families, mode, want, cluster) in [
            (json!({ "selector": { "a": "b" } }), None, None, None, "IPv4"),
            (json!({ "ipFamilyPolicy": "PreferDualStack" }), None, None, None, "IPv4"),
            (json!({ "ipFamilyPolicy": "RequireDualStack" }), None, None, Some((Severity::Info, both)), "IPv4,IPv6"),
            (
                json!({ "ipFamilyPolicy": "RequireDualStack", "ipFamilies": ["IPv6", "IPv4"] }),
                Some("IPv4"),
                None,
                Some((Severity::Error, dual)),
                "IPv4",
            ),
            (json!({ "ipFamilies": ["IPv6"] }), None, None, Some((Severity::Info, both)), "IPv4,IPv6"),
            (json!({ "ipFamilies": ["IPv6"] }), Some("IPv4"), None, Some((Severity::Error, v6)), "IPv4"),
            (json!({ "ipFamilyPolicy": "RequireDualStack" }), Some("IPv6,IPv4"), None, None, "IPv6,IPv4"),
            (json!({ "ipFamilyPolicy": "RequireDualStack" }), None, Some(DefaultsMode::Never), None, "IPv4"),
            (json!({ "ipFamilyPolicy": "RequireDualStack", "clusterIP": "None" }), None, None, None, "IPv4"),
            (json!({ "type": "ExternalName", "ipFamilies": ["IPv6"] }), None, None, None, "IPv4"),
        ] {
            let families = families.map(|f| f.parse().unwrap());
            let defaults = Defaults { mode, families, ..Defaults::default() };
            let mut inventory = Inventory::default();
            let object = json!({ "metadata": { "name": "web", "namespace": "shop" }, "spec": spec });
            inventory.add(AnyObject::Service(serde_json::from_value(object).unwrap()));
            let got: Vec<_> =
                inventory.family_findings(&defaults).into_iter().map(|f| (f.severity, f.message)).collect();
            let want: Vec<_> = want.into_iter().map(|(severity, text)| (severity, text.to_owned())).collect();
            assert_eq!((got, inventory.cluster_families(&defaults).as_str()), (want, cluster), "{spec}");
        }
    }
}
