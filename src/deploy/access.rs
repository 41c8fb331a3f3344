//! A service account and its roles, from the permissions of a server.

use serde_json::{Value, json};

use crate::model::permission::Permission;

/// The API group of roles.
const GROUP: &str = "rbac.authorization.k8s.io";

/// A service account. Its roles have its name.
pub(super) struct Account {
    pub(super) name: &'static str,
    pub(super) namespace: &'static str,
    pub(super) labels: fn() -> Value,
}

impl Account {
    /// The account, and its roles with their bindings.
    pub(super) fn all(&self, permissions: &[Permission]) -> Vec<Value> {
        let mut all = self.cluster_wide(permissions);
        all.extend([self.role(permissions), self.role_binding()]);
        all
    }

    /// The account, and its role in the whole cluster.
    pub(super) fn cluster_wide(&self, permissions: &[Permission]) -> Vec<Value> {
        vec![self.account(), self.cluster_role(permissions), self.cluster_role_binding()]
    }

    fn account(&self) -> Value {
        json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": self.meta() })
    }

    fn cluster_role(&self, permissions: &[Permission]) -> Value {
        json!({
            "apiVersion": format!("{GROUP}/v1"),
            "kind": "ClusterRole",
            "metadata": self.cluster_meta(),
            "rules": rules(permissions, false),
        })
    }

    fn cluster_role_binding(&self) -> Value {
        json!({
            "apiVersion": format!("{GROUP}/v1"),
            "kind": "ClusterRoleBinding",
            "metadata": self.cluster_meta(),
            "roleRef": { "apiGroup": GROUP, "kind": "ClusterRole", "name": self.name },
            "subjects": [self.subject()],
        })
    }

    fn role(&self, permissions: &[Permission]) -> Value {
        json!({
            "apiVersion": format!("{GROUP}/v1"),
            "kind": "Role",
            "metadata": self.meta(),
            "rules": rules(permissions, true),
        })
    }

    fn role_binding(&self) -> Value {
        json!({
            "apiVersion": format!("{GROUP}/v1"),
            "kind": "RoleBinding",
            "metadata": self.meta(),
            "roleRef": { "apiGroup": GROUP, "kind": "Role", "name": self.name },
            "subjects": [self.subject()],
        })
    }

    fn subject(&self) -> Value {
        json!({ "kind": "ServiceAccount", "name": self.name, "namespace": self.namespace })
    }

    fn meta(&self) -> Value {
        json!({ "name": self.name, "namespace": self.namespace, "labels": (self.labels)() })
    }

    fn cluster_meta(&self) -> Value {
        json!({ "name": self.name, "labels": (self.labels)() })
    }
}

/// The rules of the permissions in the whole cluster, or in the namespace of the account.
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
