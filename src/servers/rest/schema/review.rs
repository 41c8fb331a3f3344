//! Reviews: what is posted, and what comes back.

use std::{borrow::Cow, collections::BTreeMap};

use serde_json::{Value, json};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{RefOr, schema::Schema},
};

use super::{
    answer::FindingSchema,
    k8s::{EndpointSliceSchema, NodeSchema, PodSchema, ServiceSchema},
    request::{anything, from_json, list, service_example},
};

/// The body of a review.
pub(crate) struct ReviewBody;

impl ReviewBody {
    fn json() -> Value {
        let text = |description: &str| json!({ "type": ["string", "null"], "description": description });
        let objects = |description: &str| json!({ "type": ["array", "null"], "items": anything(description) });
        json!({
            "description": "An object with what is known of its cluster, or an object alone.",
            "anyOf": [
                {
                    "type": "object",
                    "required": ["object"],
                    "properties": {
                        "object": object("The object as it was written: a Service, an Endpoints object or an EndpointSlice."),
                        "oldObject": { "anyOf": [object("The object as it is stored; missing or null if it is new."), { "type": "null" }] },
                        "user": text("Who writes, such as `system:serviceaccount:shop:operator`."),
                        "groups": { "type": ["array", "null"], "items": { "type": "string" }, "description": "The groups of the user." },
                        "namespace": text("Namespace of an object that does not say; default: `default`."),
                        "policies": objects("An `EndpointPolicy` of either version. One that is not right becomes a problem."),
                        "namespaces": objects("A Namespace, for policies that ask for its labels."),
                        "services": list::<ServiceSchema>("All Services that there are."),
                        "pods": list::<PodSchema>("All pods that there are."),
                        "nodes": list::<NodeSchema>("All nodes of the cluster."),
                        "endpointSlices": list::<EndpointSliceSchema>("All slices that there are."),
                    },
                },
                object("The object itself, or an `AdmissionReview` as an API server sends it."),
            ],
        })
    }

    /// A Service with an address of somebody else, and a policy that forbids it.
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

    pub(crate) fn object_example() -> Value {
        json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {
                "name": "web", "namespace": "shop",
                "annotations": { "service.alpha.kubernetes.io/tolerate-unready-endpoints": "true" },
            },
            "spec": { "selector": { "app": "web" }, "ports": [{ "port": 80 }] },
        })
    }

    pub(crate) fn recorded_example() -> Value {
        json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {
                "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
                "kind": { "group": "", "version": "v1", "kind": "Service" },
                "name": "web", "namespace": "shop", "operation": "CREATE",
                "userInfo": { "username": "jane" },
                "object": Self::object_example(),
            },
        })
    }
}

/// What must be there of an object to say anything about it.
fn object(description: &str) -> Value {
    let text = json!({ "type": ["string", "null"] });
    json!({
        "description": description,
        "type": "object",
        "required": ["kind"],
        "properties": {
            "apiVersion": text,
            "kind": { "type": "string", "minLength": 1 },
            "metadata": { "type": ["object", "null"], "properties": { "name": text, "namespace": text } },
        },
    })
}

impl PartialSchema for ReviewBody {
    fn schema() -> RefOr<Schema> {
        from_json(Self::json())
    }
}

impl ToSchema for ReviewBody {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("ReviewRequest")
    }

    fn schemas(out: &mut Vec<(String, RefOr<Schema>)>) {
        ServiceSchema::schemas(out);
        PodSchema::schemas(out);
        NodeSchema::schemas(out);
        EndpointSliceSchema::schemas(out);
    }
}

/// What comes of an object.
#[derive(ToSchema)]
#[schema(as = Review, rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct ReviewAnswer {
    /// Whether there are rules for this kind of object at all.
    reviewed: bool,
    /// Whether it would be stored.
    allowed: bool,
    #[schema(required = false, nullable = false)]
    operation: Option<ReviewOperationSchema>,
    decision: ReviewDecision,
    /// The object as it would be stored, if it was changed.
    #[schema(required = false, nullable = false)]
    object: Option<BTreeMap<String, Value>>,
    #[schema(required = false, nullable = false)]
    answers: Option<RecordedAnswersSchema>,
    /// What a user should know of the input.
    problems: Vec<FindingSchema>,
}

/// What is done to the object.
#[derive(ToSchema)]
#[schema(as = ReviewOperation, rename_all = "UPPERCASE")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum ReviewOperationSchema {
    Create,
    Update,
}

/// The decision of both webhooks: the patch of the first, the answer of the second, what both say.
#[derive(ToSchema)]
#[schema(as = Decision)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct ReviewDecision {
    /// Why the object is refused; missing if it is allowed.
    #[schema(required = false, nullable = false)]
    denied: Option<DenialSchema>,
    /// How it is changed: a JSON Patch.
    #[schema(required = false)]
    patch: Vec<BTreeMap<String, Value>>,
    /// What its writer is told.
    #[schema(required = false)]
    warnings: Vec<String>,
    /// Audit annotations, by the codes of rules.
    #[schema(required = false)]
    audit: BTreeMap<String, String>,
    /// What the rules found.
    #[schema(required = false)]
    findings: Vec<RuleFindingSchema>,
    /// What they found besides, and is only counted.
    #[schema(required = false)]
    more: Vec<MoreFindingsSchema>,
    /// Rules that could not be looked at, by their codes, and why.
    #[schema(required = false)]
    unchecked: BTreeMap<String, String>,
}

/// A refusal.
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
    /// All that is wrong, with the codes of the rules.
    message: String,
}

/// Something a rule has against the object.
#[derive(ToSchema)]
#[schema(as = RuleFinding)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct RuleFindingSchema {
    /// Code of the rule; `docs/rules.md` lists them.
    #[schema(example = "external-ip")]
    rule: String,
    mode: RuleModeSchema,
    /// The policy that gives the rule its mode, where it is not the rule's own. What the stored object has already is
    /// only warned of, though the policy may say `enforce`.
    #[schema(required = false, example = "shop")]
    policy: String,
    /// The field, as Kubernetes writes paths.
    #[schema(example = "spec.externalIPs[0]")]
    field: String,
    /// A sentence.
    message: String,
    /// Whether an object that has it is refused.
    refused: bool,
    /// How the object is mended: a JSON Patch.
    #[schema(required = false)]
    mend: Vec<BTreeMap<String, Value>>,
}

/// Findings of a rule that are counted.
#[derive(ToSchema)]
#[schema(as = MoreFindings)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct MoreFindingsSchema {
    /// Code of the rule.
    #[schema(example = "address-provenance")]
    rule: String,
    /// Whether they are reasons to refuse the object.
    refused: bool,
    /// How many.
    count: u64,
}

/// What is done about a finding.
#[derive(ToSchema)]
#[schema(as = RuleMode, rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum RuleModeSchema {
    Off,
    Audit,
    Warn,
    Enforce,
}

/// What each webhook answers to a recorded review: an `AdmissionReview`.
#[derive(ToSchema)]
#[schema(as = RecordedAnswers)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct RecordedAnswersSchema {
    /// The mutating one.
    mutate: BTreeMap<String, Value>,
    /// The validating one, to the object as it stands in the review.
    validate: BTreeMap<String, Value>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utoipa_leaves_nothing_out() {
        assert_eq!(serde_json::to_value(from_json(ReviewBody::json())).unwrap(), ReviewBody::json());
    }
}
