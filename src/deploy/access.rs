//! Permissions: to read the kinds of the rules, and to manage Roster's own policies and certificates.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::names::{LEASE, NAME, NAMESPACE, SECRET, cluster_meta, meta};
use crate::admission::KINDS;

/// Kinds that rules look up, in addition to those of the table.
const LOOKED_UP: [(&str, &str); 3] = [("", "pods"), ("", "nodes"), ("", "namespaces")];

/// All objects.
pub(super) fn all() -> Vec<Value> {
    vec![account(), cluster_role(), cluster_role_binding(), role(), role_binding()]
}

fn account() -> Value {
    json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta(NAME) })
}

fn cluster_role() -> Value {
    let mut read: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (group, resource) in KINDS.iter().map(|k| (k.resource.group(), k.resource.plural())).chain(LOOKED_UP) {
        // Rules never look up Endpoints.
        if resource != "endpoints" {
            read.entry(group).or_default().push(resource);
        }
    }
    let mut rules: Vec<Value> = read
        .into_iter()
        .map(|(group, resources)| json!({ "apiGroups": [group], "resources": resources, "verbs": ["list", "watch"] }))
        .collect();
    rules.push(json!({
        "apiGroups": ["roster.dev"], "resources": ["endpointpolicies"], "verbs": ["list", "watch"],
    }));
    rules.push(json!({
        "apiGroups": ["roster.dev"], "resources": ["endpointpolicies/status"], "verbs": ["patch"],
    }));
    // The caBundle of Roster's own configurations only.
    rules.push(json!({
        "apiGroups": ["admissionregistration.k8s.io"],
        "resources": ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
        "resourceNames": [NAME],
        "verbs": ["get", "patch"],
    }));
    rules.push(json!({
        "apiGroups": ["apiextensions.k8s.io"],
        "resources": ["customresourcedefinitions"],
        "resourceNames": ["endpointpolicies.roster.dev"],
        "verbs": ["get", "patch"],
    }));
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": cluster_meta(NAME),
        "rules": rules,
    })
}

fn cluster_role_binding() -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": cluster_meta(NAME),
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": NAME },
        "subjects": [{ "kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE }],
    })
}

fn role() -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": meta(NAME),
        "rules": [
            // RBAC cannot restrict a create to a name.
            { "apiGroups": [""], "resources": ["secrets"], "verbs": ["create"] },
            {
                "apiGroups": [""],
                "resources": ["secrets"],
                "resourceNames": [SECRET],
                "verbs": ["get", "update"],
            },
            { "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"] },
            {
                "apiGroups": ["coordination.k8s.io"],
                "resources": ["leases"],
                "resourceNames": [LEASE],
                "verbs": ["get", "update"],
            },
        ],
    })
}

fn role_binding() -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": meta(NAME),
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": NAME },
        "subjects": [{ "kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE }],
    })
}
