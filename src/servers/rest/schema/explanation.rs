//! The response of `POST /v1/explain`.

use utoipa::ToSchema;

use super::answer::{ObjectKeySchema, SeveritySchema};

/// Which pods serve a Service, and why.
#[derive(ToSchema)]
#[schema(as = Explanation, rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct ExplanationAnswer {
    /// The Service; also where only its Endpoints or slices are left.
    #[schema(required = false, nullable = false)]
    service: Option<ObjectKeySchema>,
    /// The release whose controllers are explained.
    #[schema(example = "1.37")]
    compat: String,
    summary: ExplanationSummarySchema,
    /// Reasons about the Service as a whole, and findings about the input.
    reasons: Vec<ReasonFindingSchema>,
    /// One row per selected pod, list and Service port.
    rows: Vec<RowSchema>,
}

/// The totals of an explanation.
#[derive(ToSchema)]
#[schema(as = ExplanationSummary, rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct ExplanationSummarySchema {
    /// Pods that the Service selects.
    pods: u64,
    /// Ports of the Service.
    ports: u64,
    /// Pods × ports that are ready in a list that kube-proxy reads: in the slices of at least one address type. Each
    /// counts once; `scopes` counts each list separately.
    served: u64,
    /// Addresses in stored slices whose pod or node is gone. They do not count as served.
    stale_addresses: u64,
    /// Rows of each list, by state.
    scopes: Vec<ScopeCountsSchema>,
    /// Rows that are not listed.
    omitted_rows: u64,
    /// Reasons that are not listed.
    omitted_reasons: u64,
}

/// The pods × ports of a list by state.
#[derive(ToSchema)]
#[schema(as = ScopeCounts, rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct ScopeCountsSchema {
    #[schema(example = "EndpointSlice IPv4")]
    scope: String,
    /// kube-proxy sends traffic to it: 0 for Endpoints, which kube-proxy does not read.
    served: u64,
    ready: u64,
    not_ready: u64,
    terminating: u64,
    absent: u64,
}

/// The verdict on one pod and port in one list.
#[derive(ToSchema)]
#[schema(as = Row, rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct RowSchema {
    /// Name of the pod.
    pod: String,
    /// The Service port; null if the Service has none.
    #[schema(required = true)]
    port: Option<PortNameSchema>,
    /// The list.
    #[schema(example = "Endpoints")]
    scope: String,
    /// Whether kube-proxy sends traffic to it because of this list: never because of Endpoints, which it does not read.
    served: bool,
    state: PodStateSchema,
    /// At least one, the decisive one first.
    reasons: Vec<ReasonFindingSchema>,
}

/// A Service port.
#[derive(ToSchema)]
#[schema(as = PortName, rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct PortNameSchema {
    name: String,
    port: i32,
    /// Number, or name of a container's port.
    #[schema(value_type = Value)]
    target_port: serde_json::Value,
}

/// How a pod is published.
#[derive(ToSchema)]
#[schema(as = PodState, rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum PodStateSchema {
    Ready,
    NotReady,
    Terminating,
    Absent,
}

/// A reason, with a fix.
#[derive(ToSchema)]
#[schema(as = ReasonFinding)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct ReasonFindingSchema {
    /// The code; `docs/reference/reasons.md` lists them.
    #[schema(example = "not-ready")]
    code: String,
    severity: SeveritySchema,
    /// The reason in a sentence.
    #[schema(required = false, nullable = false)]
    detail: Option<String>,
    /// The fix.
    #[schema(required = false, nullable = false)]
    fix: Option<String>,
    /// The object, if it is neither the pod of the row nor the Service.
    #[schema(required = false, nullable = false)]
    object: Option<ObjectKeySchema>,
    /// Labels that differ from the selector.
    #[schema(required = false, nullable = false)]
    labels: Option<Vec<LabelMissSchema>>,
}

/// A label of the selector that a pod does not have.
#[derive(ToSchema)]
#[schema(as = LabelMiss)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct LabelMissSchema {
    key: String,
    wanted: String,
    /// The value of the pod; null if it has no such label.
    #[schema(required = true)]
    found: Option<String>,
}
