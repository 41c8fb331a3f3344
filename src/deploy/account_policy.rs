//! The admission policy for Roster's own service account: what it may change in the objects that RBAC lets it write.
//!
//! RBAC can name the objects of a patch, but not its fields: with a stolen token, anyone could direct the webhook
//! configurations to another address, or to every object of the cluster. And RBAC cannot name an object that is created.

use serde_json::{Value, json};

use super::names::{CRD, LEASE, NAME, NAMESPACE, SECRET, cluster_meta};

/// The name of the policy and of its binding.
const POLICY: &str = "roster-service-account";
/// Metadata that changes with every write.
const WRITTEN: &[&str] = &["generation", "managedFields", "resourceVersion"];

/// The policy and its binding.
pub(super) fn all() -> Vec<Value> {
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": cluster_meta(POLICY),
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": { "resourceRules": [
                rule("admissionregistration.k8s.io", &["mutatingwebhookconfigurations", "validatingwebhookconfigurations"]),
                rule("apiextensions.k8s.io", &["customresourcedefinitions"]),
                rule("", &["secrets"]),
                rule("coordination.k8s.io", &["leases"]),
            ] },
            "matchConditions": [{
                "name": "roster",
                "expression": format!("request.userInfo.username == 'system:serviceaccount:{NAMESPACE}:{NAME}'"),
            }],
            "variables": variables(),
            "validations": validations(),
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": cluster_meta(POLICY),
        "spec": { "policyName": POLICY, "validationActions": ["Deny", "Audit"] },
    });
    vec![policy, binding]
}

fn rule(group: &str, resources: &[&str]) -> Value {
    json!({ "apiGroups": [group], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": resources })
}

/// The names that the validations use. An API server computes a variable where it is used.
fn variables() -> Value {
    let resource = "request.resource.resource";
    json!([
        // Without a type, so that the fields can be enumerated: those of a later release are compared, too.
        { "name": "stored", "expression": "dyn(oldObject)" },
        { "name": "written", "expression": "dyn(object)" },
        { "name": "isConfiguration", "expression":
            format!("{resource} in ['mutatingwebhookconfigurations', 'validatingwebhookconfigurations']") },
        { "name": "isDefinition", "expression": format!("{resource} == 'customresourcedefinitions'") },
        { "name": "isSecret", "expression": format!("{resource} == 'secrets'") },
        { "name": "isLease", "expression": format!("{resource} == 'leases'") },
    ])
}

fn validations() -> Vec<Value> {
    // A webhook configuration or the CRD; `stored` and `written` are the same part of it.
    let both = "variables.isConfiguration || variables.isDefinition";
    let same_at = |path: &str, except: &[&str]| {
        same(&format!("variables.stored{path}"), &format!("variables.written{path}"), except)
    };
    let of_webhooks = |condition: &str| {
        format!(
            "variables.written.webhooks.all(w, variables.stored.webhooks.exists(s, s.name == w.name && {condition}))"
        )
    };
    let object = |namespace: &str, name: &str| {
        format!("object.metadata.namespace == '{namespace}' && object.metadata.name == '{name}'")
    };
    [
        (both, "request.operation == 'UPDATE'".to_owned(), "may not create a webhook configuration or a CRD"),
        (both, same_at(".metadata", WRITTEN), "may not change metadata"),
        (both, same_at("", &["metadata", "spec", "webhooks"]), "may not change anything but a caBundle"),
        (
            "variables.isConfiguration",
            format!("object.metadata.name == '{NAME}'"),
            "may change only its own configurations",
        ),
        (
            "variables.isConfiguration",
            "size(variables.written.webhooks) == size(variables.stored.webhooks)".to_owned(),
            "may not add or remove a webhook",
        ),
        (
            "variables.isConfiguration",
            of_webhooks(&same("s", "w", &["clientConfig"])),
            "may not change which requests a webhook gets, nor what its failure means",
        ),
        (
            "variables.isConfiguration",
            of_webhooks(&same("s.clientConfig", "w.clientConfig", &["caBundle"])),
            "may not change the address of a webhook",
        ),
        ("variables.isDefinition", format!("object.metadata.name == '{CRD}'"), "may change only its own CRD"),
        (
            "variables.isDefinition",
            [
                same_at(".spec", &["conversion"]),
                same_at(".spec.conversion", &["webhook"]),
                same_at(".spec.conversion.webhook", &["clientConfig"]),
            ]
            .join(" && "),
            "may not change its CRD",
        ),
        (
            "variables.isDefinition",
            same_at(".spec.conversion.webhook.clientConfig", &["caBundle"]),
            "may not change the address of the conversion",
        ),
        ("variables.isSecret", object(NAMESPACE, SECRET), "may write only its own Secret"),
        // A Secret of another type can be more than data: an API server fills one with the token of a service account.
        (
            "variables.isSecret && request.operation == 'CREATE'",
            "object.type == 'kubernetes.io/tls'".to_owned(),
            "may create only a Secret of the type kubernetes.io/tls",
        ),
        ("variables.isLease", object(NAMESPACE, LEASE), "may write only its own Lease"),
    ]
    .map(|(subject, expression, message)| {
        json!({
            "expression": format!("!({subject}) || ({expression})"),
            "message": format!("the service account {NAMESPACE}/{NAME} {message}"),
            "reason": "Forbidden",
        })
    })
    .into()
}

/// Whether two maps have the same keys and values, except for some keys.
fn same(stored: &str, written: &str, except: &[&str]) -> String {
    let except: Vec<String> = except.iter().map(|key| format!("'{key}'")).collect();
    let except = except.join(", ");
    format!(
        "{written}.all(k, k in [{except}] || (k in {stored} && {written}[k] == {stored}[k])) && \
         {stored}.all(k, k in [{except}] || k in {written})"
    )
}
