//! The webhook configurations and the CRD: which requests leave the API server at all.
//!
//! Rules and match conditions are as tight as the checks allow: what no rule can touch is never sent. Nothing in the
//! own namespace or in kube-system is sent either, so that Roster can never keep itself, or the control plane, from
//! starting.

use serde_json::{Value, json};

use super::names::{NAME, NAMESPACE, SERVICE, cluster_meta};
use crate::{
    admission::{AdmissionKind, KINDS},
    model::names,
};

/// Seconds an API server waits for the mutating webhook.
const MUTATE_SECONDS: u32 = 2;
/// Seconds it waits for the validating one.
const VALIDATE_SECONDS: u32 = 2;
/// Slices are written in numbers, and their webhook only ever says no.
const SLICE_SECONDS: u32 = 1;

/// The mutating configuration.
pub(super) fn mutating() -> Value {
    let webhooks: Vec<Value> = KINDS
        .iter()
        .filter(|k| k.mutates)
        .map(|kind| {
            let mut webhook = webhook(kind, "mutate", MUTATE_SECONDS);
            webhook["reinvocationPolicy"] = "IfNeeded".into();
            webhook["matchConditions"] = conditions(mutate_conditions(kind));
            webhook
        })
        .collect();
    configuration("MutatingWebhookConfiguration", &webhooks)
}

/// The validating configuration.
pub(super) fn validating() -> Value {
    let webhooks: Vec<Value> = KINDS
        .iter()
        .map(|kind| {
            let seconds = if kind.resource.plural() == "endpointslices" { SLICE_SECONDS } else { VALIDATE_SECONDS };
            let mut webhook = webhook(kind, "validate", seconds);
            webhook["matchConditions"] = conditions(validate_conditions(kind));
            webhook
        })
        .collect();
    configuration("ValidatingWebhookConfiguration", &webhooks)
}

/// The CRD of policies, whose versions Roster converts.
pub(super) fn crd() -> Value {
    let mut crd = crate::admission::policy::crd();
    crd["spec"]["conversion"] = json!({
        "strategy": "Webhook",
        "webhook": {
            "conversionReviewVersions": ["v1", "v1beta1"],
            "clientConfig": client("/convert"),
        },
    });
    crd
}

fn configuration(kind: &str, webhooks: &[Value]) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": cluster_meta(NAME),
        "webhooks": webhooks,
    })
}

fn client(path: &str) -> Value {
    json!({ "service": { "name": SERVICE, "namespace": NAMESPACE, "path": path, "port": 443 } })
}

fn webhook(kind: &AdmissionKind, stage: &str, seconds: u32) -> Value {
    json!({
        "name": format!("{}.{stage}.roster.dev", kind.resource.plural()),
        "admissionReviewVersions": ["v1", "v1beta1"],
        "clientConfig": client(&format!("/{stage}")),
        "failurePolicy": "Ignore",
        "matchPolicy": "Equivalent",
        "sideEffects": "None",
        "timeoutSeconds": seconds,
        "rules": [{
            "apiGroups": [kind.resource.group()],
            "apiVersions": [kind.resource.version()],
            "operations": kind.operations,
            "resources": [kind.resource.plural()],
            "scope": "Namespaced",
        }],
        "namespaceSelector": { "matchExpressions": [{
            "key": "kubernetes.io/metadata.name",
            "operator": "NotIn",
            "values": [NAMESPACE, "kube-system"],
        }] },
    })
}

fn conditions(list: Vec<(&str, String)>) -> Value {
    list.into_iter().map(|(name, expression)| json!({ "name": name, "expression": expression })).collect()
}

/// Not a write of kube-controller-manager.
fn not_a_controller() -> (&'static str, String) {
    let users: Vec<String> = crate::admission::CONTROLLER_USERS.iter().map(|u| format!("'{u}'")).collect();
    ("not-a-controller", format!("!(request.userInfo.username in [{}])", users.join(", ")))
}

fn mutate_conditions(kind: &AdmissionKind) -> Vec<(&'static str, String)> {
    // What is on its way out is not mended: that could only keep it from going.
    let not_deleted = "!has(object.metadata.deletionTimestamp)".to_owned();
    let mut list = vec![not_a_controller(), ("not-being-deleted", not_deleted)];
    match kind.resource.plural() {
        // The one rule that mends a Service.
        "services" => list.push((
            "tolerates-unready",
            format!("'{}' in object.metadata.?annotations.orValue({{}})", names::TOLERATE_UNREADY),
        )),
        _ => list.extend(not_managed()),
    }
    list
}

fn validate_conditions(kind: &AdmissionKind) -> Vec<(&'static str, String)> {
    // An object on its way out is judged as any other: a finalizer holds it as long as its owner likes, and all the
    // while kube-proxy sends traffic to its addresses.
    let mut list = vec![not_a_controller()];
    let content: &[&str] = match kind.resource.plural() {
        "services" => &["spec"],
        "endpoints" => &["subsets"],
        _ => &["endpoints", "ports"],
    };
    let content = content.iter().map(|c| format!("object.?{c} == oldObject.?{c}"));
    // Status, finalizers and managed fields are nobody's business here.
    let meta = ["labels", "annotations"]
        .map(|m| format!("object.metadata.?{m}.orValue({{}}) == oldObject.metadata.?{m}.orValue({{}})"));
    let same: Vec<String> = content.chain(meta).collect();
    list.push(("something-changed", format!("request.operation != 'UPDATE' || !({})", same.join(" && "))));
    if kind.resource.plural() == "endpoints" {
        list.push(no_lock());
    }
    list
}

/// Endpoints that kube-controller-manager owns are never mended: it would write them again.
fn not_managed() -> Vec<(&'static str, String)> {
    let label = format!(
        "object.metadata.?labels.orValue({{}})[?'{}'].orValue('') != '{}'",
        names::ENDPOINTS_MANAGED_BY,
        names::ENDPOINTS_CONTROLLER
    );
    vec![("not-managed", label), no_lock()]
}

/// Endpoints that are a lock of a leader election have no addresses, and are written every few seconds. With addresses
/// they are judged as any other: the annotation alone would let anybody publish what a rule refuses, and take it off
/// again.
fn no_lock() -> (&'static str, String) {
    let lock = format!("'{}' in object.metadata.?annotations.orValue({{}})", names::LEADER);
    ("not-a-lock", format!("has(object.subsets) || !({lock})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Field manager `roster-certs` owns a part of each webhook, by its name: whoever renames or removes one by
    /// server-side apply would leave half a webhook, which an API server refuses.
    #[test]
    fn webhooks_keep_their_names() {
        let names = |configuration: Value| -> Vec<String> {
            let all = configuration["webhooks"].as_array().unwrap();
            all.iter().map(|w| w["name"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(names(mutating()), ["services.mutate.roster.dev", "endpoints.mutate.roster.dev"]);
        let validating_names =
            ["services.validate.roster.dev", "endpoints.validate.roster.dev", "endpointslices.validate.roster.dev"];
        assert_eq!(names(validating()), validating_names);
    }
}
