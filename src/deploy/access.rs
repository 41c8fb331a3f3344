//! The service account of the webhook and its roles, from the table of its permissions.

use serde_json::{Value, json};

use super::names::{NAME, NAMESPACE, cluster_meta, meta};
use crate::model::permission::{self, Permission};

/// The account, and its roles with their bindings.
pub(super) fn all() -> Vec<Value> {
    vec![account(), cluster_role(), cluster_role_binding(), role(), role_binding()]
}

fn account() -> Value {
    json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta(NAME) })
}

fn cluster_role() -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": cluster_meta(NAME),
        "rules": rules(false),
    })
}

/// The rules of the permissions in the whole cluster, or in the namespace of Roster.
fn rules(in_namespace: bool) -> Vec<Value> {
    let permissions = permission::of_webhook().into_iter().filter(|p| p.in_namespace == in_namespace);
    let rule = |permission: Permission| {
        let Permission { group, resources, names, verbs, .. } = permission;
        let mut rule = json!({ "apiGroups": [group], "resources": resources, "verbs": verbs });
        if !names.is_empty() {
            rule["resourceNames"] = json!(names);
        }
        rule
    };
    permissions.map(rule).collect()
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
        "rules": rules(true),
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
