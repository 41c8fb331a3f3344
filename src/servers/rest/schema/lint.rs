//! Linting: what is posted, and what comes back.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use utoipa::ToSchema;

use super::answer::{ObjectKeySchema, SeveritySchema};

/// A Service that selects no pods of the Deployment beside it.
pub(crate) fn example() -> Value {
    let labels = json!({ "app": "web" });
    json!({
        "apiVersion": "v1", "kind": "List",
        "items": [
            {
                "apiVersion": "v1", "kind": "Service", "metadata": { "name": "web", "namespace": "shop" },
                "spec": { "selector": { "app": "wbe" }, "ports": [{ "port": 80, "targetPort": "http" }] },
            },
            {
                "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web", "namespace": "shop" },
                "spec": {
                    "selector": { "matchLabels": labels },
                    "template": {
                        "metadata": { "labels": labels },
                        "spec": { "containers": [{
                            "name": "web", "image": "web:1", "ports": [{ "name": "http", "containerPort": 8080 }],
                        }] },
                    },
                },
            },
        ],
    })
}

/// The findings about manifests.
#[derive(ToSchema)]
#[schema(as = Lint)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct LintAnswer {
    /// What cannot be read first, then the findings in the order of the objects.
    items: Vec<LintFindingSchema>,
    /// Findings that an annotation accepts.
    #[schema(required = false)]
    suppressed: Vec<SuppressedFindingSchema>,
    summary: LintSummarySchema,
}

/// A finding about one manifest.
#[derive(ToSchema)]
#[schema(as = LintFinding)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct LintFindingSchema {
    /// Always `request body`.
    file: String,
    /// The line of the field, from 1; of a missing field, that of the object that should have it.
    #[schema(required = false, minimum = 1)]
    line: Option<u64>,
    /// The column, from 1, if the whole object is on this line.
    #[schema(required = false, nullable = false, minimum = 1)]
    column: Option<u64>,
    object: ObjectKeySchema,
    severity: SeveritySchema,
    effect: LintEffectSchema,
    /// The code; `docs/reference/reasons.md` and `docs/reference/rules.md` list them with a fix for each.
    #[schema(example = "selector-matches-no-template")]
    code: String,
    /// The policy that gives a rule its mode.
    #[schema(required = false, nullable = false)]
    policy: Option<String>,
    /// The path of the field; missing if the finding is about the whole object.
    #[schema(required = false, example = "spec.ports[0].port")]
    field: String,
    /// The finding in a sentence.
    message: String,
}

/// What the finding means for the object.
#[derive(ToSchema)]
#[schema(as = LintEffect, rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum LintEffectSchema {
    Invalid,
    Denied,
    Changed,
    Stale,
    Unfit,
    Warned,
    Audited,
}

/// A finding that is accepted.
#[derive(ToSchema)]
#[schema(as = SuppressedFinding)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct SuppressedFindingSchema {
    #[serde(flatten)]
    finding: LintFindingSchema,
    suppression: SuppressionSchema,
}

/// Why a finding is accepted.
#[derive(ToSchema)]
#[schema(as = Suppression)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct SuppressionSchema {
    /// Always `annotation`.
    by: String,
    reason: String,
}

/// How many documents were checked, and how many findings they have.
#[derive(ToSchema)]
#[schema(as = LintSummary, rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct LintSummarySchema {
    documents: u64,
    errors: u64,
    warnings: u64,
    #[schema(required = false)]
    infos: u64,
    #[schema(required = false)]
    suppressed: u64,
    /// How many of the documents are of kinds that Roster does not check.
    #[schema(required = false)]
    other_kinds: u64,
    /// The same for each of these kinds.
    #[schema(required = false)]
    unchecked_kinds: BTreeMap<String, u64>,
    /// How many documents were not checked, by what they are.
    #[schema(required = false)]
    skipped: BTreeMap<String, u64>,
}
