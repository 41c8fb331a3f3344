//! Reviews: what is posted, and what comes back.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use utoipa::ToSchema;

use super::{
    answer::FindingSchema,
    k8s::{EndpointSliceSchema, NodeSchema, PodSchema, ServiceSchema},
    object::KubernetesObject,
    request::service_example,
};

/// An object, and its cluster.
#[derive(ToSchema)]
#[schema(as = ReviewRequest, rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct ReviewBody {
    /// The object as it was written: a Service, an Endpoints object or an `EndpointSlice`; or an `AdmissionReview` as an
    /// API server sends it.
    object: KubernetesObject,
    /// The stored object; missing if the object is new.
    #[schema(required = false, nullable = false)]
    old_object: Option<KubernetesObject>,
    /// The user who writes.
    #[schema(required = false, example = "system:serviceaccount:shop:operator")]
    user: String,
    /// The groups of the user.
    #[schema(required = false)]
    groups: Vec<String>,
    /// The namespace of an object without one; default: `default`.
    #[schema(required = false)]
    namespace: String,
    /// `EndpointPolicy` objects of either version. An invalid one becomes a finding.
    #[schema(required = false)]
    policies: Vec<KubernetesObject>,
    /// Namespaces, for policies that select by their labels.
    #[schema(required = false)]
    namespaces: Vec<KubernetesObject>,
    /// All Services of the cluster.
    #[schema(required = false)]
    services: Vec<ServiceSchema>,
    /// All pods of the cluster.
    #[schema(required = false)]
    pods: Vec<PodSchema>,
    /// All nodes of the cluster.
    #[schema(required = false)]
    nodes: Vec<NodeSchema>,
    /// All slices of the cluster.
    #[schema(required = false)]
    endpoint_slices: Vec<EndpointSliceSchema>,
}

impl ReviewBody {
    /// A Service with an external IP, and a policy that forbids it.
    pub(crate) fn example() -> Value {
        let mut service = service_example();
        service["spec"]["externalIPs"] = json!(["203.0.113.9"]);
        json!({
            "object": service,
            "user": "jane",
            "policies": [{
                "apiVersion": "roster.dev/v1", "kind": "EndpointPolicy", "metadata": { "name": "strict" },
                "spec": { "rules": [{ "name": "external-ip", "mode": "enforce" }] },
            }],
            "pods": [{ "metadata": { "name": "web-1", "namespace": "shop", "labels": { "app": "web" } } }],
        })
    }

    /// A Service alone.
    pub(crate) fn object_example() -> Value {
        json!({ "object": Self::deprecated_service() })
    }

    fn deprecated_service() -> Value {
        json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {
                "name": "web", "namespace": "shop",
                "annotations": { "service.alpha.kubernetes.io/tolerate-unready-endpoints": "true" },
            },
            "spec": { "selector": { "app": "web" }, "ports": [{ "port": 80 }] },
        })
    }

    /// A request of an API server.
    pub(crate) fn recorded_example() -> Value {
        let request = json!({
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": { "group": "", "version": "v1", "kind": "Service" },
            "name": "web", "namespace": "shop", "operation": "CREATE",
            "userInfo": { "username": "jane" },
            "object": Self::deprecated_service(),
        });
        json!({ "object": { "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request } })
    }
}

/// The result of a review.
#[derive(ToSchema)]
#[schema(as = Review, rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct ReviewAnswerSchema {
    /// Whether there are rules for this kind of object at all.
    reviewed: bool,
    /// Whether the object would be stored.
    allowed: bool,
    #[schema(required = false, nullable = false)]
    operation: Option<ReviewOperationSchema>,
    decision: ReviewDecision,
    /// Why an API server would not store the object, whatever the webhooks answer.
    #[schema(required = false)]
    refused_by_api_server: Vec<FindingSchema>,
    /// The object as it would be stored, if it was changed.
    #[schema(required = false, nullable = false)]
    object: Option<KubernetesObject>,
    #[schema(required = false, nullable = false)]
    answers: Option<RecordedAnswersSchema>,
    /// Findings about the input.
    problems: Vec<FindingSchema>,
}

/// The operation of the request.
#[derive(ToSchema)]
#[schema(as = ReviewOperation, rename_all = "UPPERCASE")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum ReviewOperationSchema {
    Create,
    Update,
}

/// The decision of both webhooks: the patch of the first, the response of the second, and the findings of both.
#[derive(ToSchema)]
#[schema(as = Decision)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct ReviewDecision {
    /// Why the object is refused; missing if it is allowed.
    #[schema(required = false, nullable = false)]
    denied: Option<DenialSchema>,
    /// The change: a JSON Patch.
    #[schema(required = false)]
    patch: Vec<PatchOperation>,
    /// The warnings for the user who writes.
    #[schema(required = false)]
    warnings: Vec<String>,
    /// Audit annotations, by the codes of rules.
    #[schema(required = false)]
    audit: BTreeMap<String, String>,
    /// The findings of the rules.
    #[schema(required = false)]
    findings: Vec<RuleFindingSchema>,
    /// Further findings, which are only counted.
    #[schema(required = false)]
    more: Vec<MoreFindingsSchema>,
    /// Rules that could not be checked, by code, and why.
    #[schema(required = false)]
    unchecked: BTreeMap<String, String>,
}

/// A change of an object: an operation of a JSON Patch (RFC 6902).
#[derive(ToSchema)]
#[schema(as = PatchOperation)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct PatchOperation {
    /// What is done.
    op: PatchVerb,
    /// JSON pointer to the field.
    #[schema(example = "/spec/publishNotReadyAddresses")]
    path: String,
    /// The new value, for `add` and `replace`.
    #[schema(required = false)]
    value: Value,
}

/// What an operation of a JSON Patch does.
#[derive(ToSchema)]
#[schema(as = PatchVerb, rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum PatchVerb {
    Add,
    Replace,
    Remove,
}

/// A denial.
#[derive(ToSchema)]
#[schema(as = Denial)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct DenialSchema {
    /// HTTP status.
    #[schema(example = 403)]
    code: u16,
    /// Reason, as in `metav1.Status`.
    #[schema(example = "Forbidden")]
    reason: String,
    /// All findings that deny the object, with the codes of the rules.
    message: String,
}

/// A finding of a rule.
#[derive(ToSchema)]
#[schema(as = RuleFinding)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct RuleFindingSchema {
    /// Code of the rule; `docs/reference/rules.md` lists them.
    #[schema(example = "external-ip")]
    rule: String,
    mode: RuleModeSchema,
    /// The policy that sets the mode of the rule; missing for the default mode. A finding that the stored object has
    /// already is only a warning, even if the policy has `enforce`.
    #[schema(required = false, example = "shop")]
    policy: String,
    /// The field, as Kubernetes writes paths.
    #[schema(example = "spec.externalIPs[0]")]
    field: String,
    /// The finding in a sentence.
    message: String,
    /// The mode: whether the finding denies the object.
    refused: bool,
    /// The change that corrects the object: a JSON Patch.
    #[schema(required = false)]
    patch: Vec<PatchOperation>,
}

/// Findings of a rule that are counted.
#[derive(ToSchema)]
#[schema(as = MoreFindings)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct MoreFindingsSchema {
    /// Code of the rule.
    #[schema(example = "address-provenance")]
    rule: String,
    /// The mode: whether they deny the object.
    refused: bool,
    /// Their number.
    count: u64,
}

/// What a rule does with a finding.
#[derive(ToSchema)]
#[schema(as = RuleMode, rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum RuleModeSchema {
    Off,
    Audit,
    Warn,
    Enforce,
}

/// The response of each webhook to a recorded `AdmissionReview`.
#[derive(ToSchema)]
#[schema(as = RecordedAnswers)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct RecordedAnswersSchema {
    /// The response of the mutating webhook.
    mutate: KubernetesObject,
    /// The response of the validating webhook to the object of the review.
    validate: KubernetesObject,
}
