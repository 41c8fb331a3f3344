//! The webhook configurations and the CRD: which requests an API server sends to the webhook.
//!
//! Rules and match conditions are as narrow as the checks allow: API servers do not send objects that no rule applies to.
//! They send nothing from Roster's own namespace and kube-system, so that Roster cannot prevent itself or the control
//! plane from starting.

use roster_admission::{AdmissionKind, KINDS};
use roster_engine::model::{Resource, names};
use serde_json::{Value, json};

use super::names::{NAME, NAMESPACE, SERVICE, cluster_meta};

/// Seconds an API server waits for a review of a Service, which is small and is decided in less than a millisecond. A second
/// attempt follows 250 ms after the first one.
const SMALL_SECONDS: u32 = 2;
/// Seconds it waits for a review of Endpoints or of a slice, which an API server stores up to 1.5 MiB. Up to 64 of these
/// wait in front of two processors, 60 ms each on a slow one: two seconds, and as much again for other work of the
/// machine. Controllers never wait, because their writes are not reviewed.
const LARGE_SECONDS: u32 = 5;

/// The mutating configuration.
pub(super) fn mutating() -> Value {
    let webhooks: Vec<Value> = KINDS
        .iter()
        .filter(|k| k.mutates)
        .map(|kind| {
            let mut webhook = webhook(kind, "mutate");
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
            let mut webhook = webhook(kind, "validate");
            webhook["matchConditions"] = conditions(validate_conditions(kind));
            webhook
        })
        .collect();
    configuration("ValidatingWebhookConfiguration", &webhooks)
}

/// The CRD of policies, whose versions Roster converts.
pub(super) fn crd() -> Value {
    let mut crd = roster_admission::policy::crd();
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

fn webhook(kind: &AdmissionKind, stage: &str) -> Value {
    let seconds = if kind.resource == Resource::Service { SMALL_SECONDS } else { LARGE_SECONDS };
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

/// The writer is neither kube-controller-manager nor Roster's controller.
fn not_a_controller() -> (&'static str, String) {
    let users: Vec<String> = roster_admission::CONTROLLER_USERS.iter().map(|u| format!("'{u}'")).collect();
    ("not-a-controller", format!("!(request.userInfo.username in [{}])", users.join(", ")))
}

/// The writer is not a service account of kube-system: network plugins and cloud controllers run there, which publish
/// endpoints that the cluster depends on. A user who controls such an account controls the cluster anyway.
pub(super) fn not_of_the_system() -> Value {
    let expression = "!('system:serviceaccounts:kube-system' in request.userInfo.?groups.orValue([]))";
    json!({ "name": "not-of-the-system", "expression": expression })
}

fn mutate_conditions(kind: &AdmissionKind) -> Vec<(&'static str, String)> {
    // A change could only delay the deletion of an object.
    let not_deleted = "!has(object.metadata.deletionTimestamp)".to_owned();
    let mut list = vec![not_a_controller(), ("not-being-deleted", not_deleted)];
    match kind.resource.plural() {
        // The only rule that changes a Service.
        "services" => list.push((
            "tolerates-unready",
            format!("'{}' in object.metadata.?annotations.orValue({{}})", names::TOLERATE_UNREADY),
        )),
        // The label of kube-controller-manager does not count: any writer can set it.
        _ => list.push(no_lock()),
    }
    list
}

fn validate_conditions(kind: &AdmissionKind) -> Vec<(&'static str, String)> {
    // An object that is being deleted is validated like any other: a finalizer can keep it forever, and kube-proxy keeps
    // sending traffic to its addresses.
    let mut list = vec![not_a_controller()];
    let content: &[&str] = match kind.resource.plural() {
        "services" => &["spec"],
        "endpoints" => &["subsets"],
        _ => &["endpoints", "ports"],
    };
    let content = content.iter().map(|c| format!("object.?{c} == oldObject.?{c}"));
    // No rule looks at status, finalizers or managed fields.
    let meta = ["labels", "annotations"]
        .map(|m| format!("object.metadata.?{m}.orValue({{}}) == oldObject.metadata.?{m}.orValue({{}})"));
    let same: Vec<String> = content.chain(meta).collect();
    list.push(("something-changed", format!("request.operation != 'UPDATE' || !({})", same.join(" && "))));
    if kind.resource.plural() == "endpoints" {
        list.push(no_lock());
    }
    list
}

/// Endpoints that are the lock of a leader election do not have addresses, and are written every few seconds. With
/// addresses they are reviewed like any other: otherwise the annotation would let a user bypass every rule.
fn no_lock() -> (&'static str, String) {
    let lock = format!("'{}' in object.metadata.?annotations.orValue({{}})", names::LEADER);
    ("not-a-lock", format!("has(object.subsets) || !({lock})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A writer chooses the labels and annotations of an object: none of them may exempt it. The conditions below leave out
    /// only what does not concern any rule.
    #[test]
    fn no_label_of_an_object_exempts_it() {
        for configuration in [mutating(), validating()] {
            for webhook in configuration["webhooks"].as_array().unwrap() {
                let conditions = webhook["matchConditions"].as_array().unwrap().iter();
                let reads = |c: &&Value| {
                    let expression = c["expression"].as_str().unwrap();
                    expression.contains("metadata.?labels") || expression.contains("metadata.?annotations")
                };
                let names: Vec<_> = conditions.filter(reads).map(|c| c["name"].as_str().unwrap()).collect();
                let known = ["tolerates-unready", "something-changed", "not-a-lock"];
                assert!(names.iter().all(|name| known.contains(name)), "{}: {names:?}", webhook["name"]);
            }
        }
    }

    /// The field manager `roster-certs` owns a field of each webhook, by its name. A server-side apply that renames or
    /// removes a webhook would leave an incomplete one, which an API server refuses.
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
