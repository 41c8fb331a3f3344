//! The service account of the webhook and its roles, from its permissions.

use serde_json::{Value, json};

use super::names::{NAME, NAMESPACE, cluster_meta, meta};
use crate::model::permission::Permission;

/// The account, and its roles with their bindings.
pub(super) fn all(permissions: &[Permission]) -> Vec<Value> {
    vec![account(), cluster_role(permissions), cluster_role_binding(), role(permissions), role_binding()]
}

fn account() -> Value {
    json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta(NAME) })
}

fn cluster_role(permissions: &[Permission]) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": cluster_meta(NAME),
        "rules": rules(permissions, false),
    })
}

/// The rules of the permissions in the whole cluster, or in the namespace of Roster.
fn rules(permissions: &[Permission], in_namespace: bool) -> Vec<Value> {
    let rule = |permission: &Permission| {
        let Permission { group, resources, names, verbs, .. } = permission;
        let mut rule = json!({ "apiGroups": [group], "resources": resources, "verbs": verbs });
        if !names.is_empty() {
            rule["resourceNames"] = json!(names);
        }
        rule
    };
    permissions.iter().filter(|p| p.in_namespace == in_namespace).map(rule).collect()
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

fn role(permissions: &[Permission]) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": meta(NAME),
        "rules": rules(permissions, true),
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
