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
            // Without a type, so that the fields of an object can be enumerated: a field of a later release is compared, too.
            "variables": [
                { "name": "resource", "expression": "request.resource.resource" },
                { "name": "stored", "expression": "dyn(oldObject)" },
                { "name": "written", "expression": "dyn(object)" },
            ],
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

fn validations() -> Vec<Value> {
    let configurations = "variables.resource in ['mutatingwebhookconfigurations', 'validatingwebhookconfigurations']";
    let crd = "variables.resource == 'customresourcedefinitions'";
    let (stored, written) = ("variables.stored", "variables.written");
    let of = |path: &str| (format!("{stored}.{path}"), format!("{written}.{path}"));
    let same_at = |path: &str, except: &[&str]| {
        let (stored, written) = of(path);
        same(&stored, &written, except)
    };
    let webhooks = format!(
        "size({written}.webhooks) == size({stored}.webhooks) && {written}.webhooks.all(w, {stored}.webhooks.exists(s, \
         s.name == w.name && {} && {}))",
        same("s", "w", &["clientConfig"]),
        same("s.clientConfig", "w.clientConfig", &["caBundle"]),
    );
    let conversion = [
        same_at("spec", &["conversion"]),
        same_at("spec.conversion", &["webhook"]),
        same_at("spec.conversion.webhook", &["clientConfig"]),
        same_at("spec.conversion.webhook.clientConfig", &["caBundle"]),
    ];
    let name = |resource: &str, name: &str| {
        format!(
            "variables.resource != '{resource}' || (object.metadata.namespace == '{NAMESPACE}' && \
             object.metadata.name == '{name}')"
        )
    };
    let changes = |resource: &str, path: &str, expression: &str| {
        let same = [same(stored, written, &["metadata", path]), same_at("metadata", WRITTEN), expression.to_owned()];
        format!("!({resource}) || (request.operation == 'UPDATE' && {})", same.join(" && "))
    };
    [
        (changes(configurations, "webhooks", &webhooks), "changes only the caBundle of its webhooks".to_owned()),
        (
            changes(crd, "spec", &conversion.join(" && ")),
            "changes only the caBundle of the conversion webhook".to_owned(),
        ),
        (
            format!("!({crd}) || object.metadata.name == '{CRD}'"),
            format!("changes only the CustomResourceDefinition {CRD}"),
        ),
        (
            format!("!({configurations}) || object.metadata.name == '{NAME}'"),
            format!("changes only the webhook configurations {NAME}"),
        ),
        (name("secrets", SECRET), format!("writes only the Secret {NAMESPACE}/{SECRET}")),
        // A Secret of another type can be more than data: an API server fills one with the token of a service account.
        (
            "variables.resource != 'secrets' || request.operation == 'UPDATE' || object.type == 'kubernetes.io/tls'"
                .to_owned(),
            "creates only a Secret of the type kubernetes.io/tls".to_owned(),
        ),
        (name("leases", LEASE), format!("writes only the Lease {NAMESPACE}/{LEASE}")),
    ]
    .map(|(expression, message)| {
        let message = format!("the service account {NAMESPACE}/{NAME} {message}");
        json!({ "expression": expression, "message": message, "reason": "Forbidden" })
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
