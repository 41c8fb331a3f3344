//! A service account and its roles, from the permissions of a server.

use roster_engine::model::permission::Permission;
use serde_json::{Value, json};

/// The API group of roles.
const GROUP: &str = "rbac.authorization.k8s.io";

/// A service account. Its roles have its name.
pub(super) struct ServiceAccount {
    pub(super) name: &'static str,
    pub(super) namespace: &'static str,
    pub(super) labels: fn() -> Value,
}

impl ServiceAccount {
    /// The account, and its roles with their bindings.
    pub(super) fn all(&self, permissions: &[Permission]) -> Vec<Value> {
        let mut all = self.cluster_wide(permissions);
        all.extend(self.bound_role("", &self.meta(self.name), &rules(permissions, true)));
        all
    }

    /// The account, and its role in the whole cluster.
    pub(super) fn cluster_wide(&self, permissions: &[Permission]) -> Vec<Value> {
        let account = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": self.meta(self.name) });
        let role = self.bound_role("Cluster", &self.cluster_meta(self.name), &rules(permissions, false));
        [account].into_iter().chain(role).collect()
    }

    /// Another role of the account in the whole cluster, and in its namespace, if it has permissions there.
    pub(super) fn another_role(&self, name: &str, permissions: &[Permission]) -> Vec<Value> {
        let mut all = self.bound_role("Cluster", &self.cluster_meta(name), &rules(permissions, false)).to_vec();
        let here = rules(permissions, true);
        if !here.is_empty() {
            all.extend(self.bound_role("", &self.meta(name), &here));
        }
        all
    }

    /// A role and its binding. `scope` is what their kinds begin with.
    fn bound_role(&self, scope: &str, meta: &Value, rules: &[Value]) -> [Value; 2] {
        let kind = format!("{scope}Role");
        let version = format!("{GROUP}/v1");
        let binding = json!({
            "apiVersion": version,
            "kind": format!("{kind}Binding"),
            "metadata": meta,
            "roleRef": { "apiGroup": GROUP, "kind": kind, "name": meta["name"] },
            "subjects": [self.subject()],
        });
        [json!({ "apiVersion": version, "kind": kind, "metadata": meta, "rules": rules }), binding]
    }

    fn subject(&self) -> Value {
        json!({ "kind": "ServiceAccount", "name": self.name, "namespace": self.namespace })
    }

    fn meta(&self, name: &str) -> Value {
        json!({ "name": name, "namespace": self.namespace, "labels": (self.labels)() })
    }

    fn cluster_meta(&self, name: &str) -> Value {
        json!({ "name": name, "labels": (self.labels)() })
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
