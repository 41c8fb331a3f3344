//! Answers.

use utoipa::ToSchema;

use super::k8s::{EndpointSliceSchema, EndpointsSchema};

/// What the controllers would do to one Service.
#[derive(ToSchema)]
#[schema(as = Plan, rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct PlanAnswer {
    endpoints: EndpointsActionSchema,
    endpoint_slices: SliceChangesSchema,
    /// Events that the controllers would emit.
    events: Vec<EventSchema>,
    /// Errors that the controllers would return, and retry.
    errors: Vec<String>,
    /// The findings.
    problems: Vec<FindingSchema>,
}

/// Two plans of one state.
#[derive(ToSchema)]
#[schema(as = Comparison)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct ComparisonAnswer {
    /// The plan of the release `options.compat`.
    plan: PlanAnswer,
    /// The plan of the release `against`.
    against: PlanAnswer,
    /// The objects that the two releases treat differently.
    differences: Vec<DeviationSchema>,
    /// Whether there are any differences.
    differs: bool,
}

/// An object that two releases treat differently.
#[derive(ToSchema)]
#[schema(as = Deviation)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct DeviationSchema {
    /// The kind of the object.
    #[schema(example = "EndpointSlice")]
    kind: String,
    /// The name; for a slice that is created, the prefix of its name and `*`.
    name: String,
    /// What the release of `options.compat` does.
    compat: VerbSchema,
    /// What the release `against` does.
    against: VerbSchema,
    /// How the object of the release `against` differs.
    detail: String,
}

/// What happens to an object. `rewrite`: it is written at every sync, without a change.
#[derive(ToSchema)]
#[schema(as = Verb, rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum VerbSchema {
    Create,
    Update,
    Delete,
    Rewrite,
    None,
}

/// What a controller would do to the Endpoints object.
#[derive(ToSchema)]
#[schema(as = EndpointsAction, rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct EndpointsActionSchema {
    action: ActionSchema,
    /// The object that `create` or `update` writes.
    #[schema(required = true)]
    object: Option<EndpointsSchema>,
}

/// A write, or none.
#[derive(ToSchema)]
#[schema(as = Action, rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum ActionSchema {
    Create,
    Update,
    Delete,
    None,
}

/// What the controllers would do to the slices.
#[derive(ToSchema)]
#[schema(as = SliceChanges, rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct SliceChangesSchema {
    /// New slices: they have a `generateName` and no `name`.
    create: Vec<EndpointSliceSchema>,
    /// Updated slices, which replace the stored ones.
    update: Vec<EndpointSliceSchema>,
    /// Names of slices that are deleted.
    delete: Vec<String>,
    /// Names of slices that stay as they are.
    unchanged: Vec<String>,
}

/// An event.
#[derive(ToSchema)]
#[schema(as = Event)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct EventSchema {
    #[schema(rename = "type")]
    kind: EventTypeSchema,
    #[schema(example = "TopologyAwareHintsEnabled")]
    reason: String,
    message: String,
    object: ObjectKeySchema,
}

/// The type of an event.
#[derive(ToSchema)]
#[schema(as = EventType)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum EventTypeSchema {
    Normal,
    Warning,
}

/// A finding about an object.
#[derive(ToSchema)]
#[schema(as = Finding)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct FindingSchema {
    /// The code; `docs/reference/reasons.md` lists them with a fix for each.
    #[schema(example = "no-pod-ip")]
    code: String,
    severity: SeveritySchema,
    /// The finding in a sentence.
    message: String,
    object: ObjectKeySchema,
    /// JSON pointer into the posted body, if the finding is about one field.
    #[schema(required = false, nullable = false)]
    pointer: Option<String>,
}

/// The severity of a finding.
#[derive(ToSchema)]
#[schema(as = Severity, rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum SeveritySchema {
    Info,
    Warning,
    Error,
}

/// The object.
#[derive(ToSchema)]
#[schema(as = ObjectKey)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct ObjectKeySchema {
    #[schema(example = "Pod")]
    kind: String,
    /// Missing for objects without a namespace.
    #[schema(required = false, nullable = false)]
    namespace: Option<String>,
    name: String,
}

/// A `discovery.k8s.io/v1` list of slices.
#[derive(ToSchema)]
#[schema(as = EndpointSliceList, rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct EndpointSliceListSchema {
    #[schema(example = "discovery.k8s.io/v1")]
    api_version: String,
    #[schema(example = "EndpointSliceList")]
    kind: String,
    #[schema(value_type = Object)]
    metadata: (),
    items: Vec<EndpointSliceSchema>,
}

/// A line of `POST /v1/cluster`: `service` and the fields of a plan; the last one has `summary`, or `truncated`.
#[derive(ToSchema)]
#[schema(as = ClusterLine, rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct ClusterLineSchema {
    /// The Service of the plan.
    #[schema(required = false, nullable = false)]
    service: Option<ServiceNameSchema>,
    #[schema(required = false, nullable = false)]
    endpoints: Option<EndpointsActionSchema>,
    #[schema(required = false, nullable = false)]
    endpoint_slices: Option<SliceChangesSchema>,
    #[schema(required = false, nullable = false)]
    events: Option<Vec<EventSchema>>,
    #[schema(required = false, nullable = false)]
    errors: Option<Vec<String>>,
    #[schema(required = false, nullable = false)]
    problems: Option<Vec<FindingSchema>>,
    #[schema(required = false, nullable = false)]
    summary: Option<SummarySchema>,
    /// Why the response ends without a summary.
    #[schema(required = false, nullable = false)]
    truncated: Option<String>,
}

/// A Service by name.
#[derive(ToSchema)]
#[schema(as = ServiceName)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct ServiceNameSchema {
    namespace: String,
    name: String,
}

/// The totals of a cluster.
#[derive(ToSchema)]
#[schema(as = Summary, rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct SummarySchema {
    services: u64,
    /// Names with Endpoints or slices, but without a Service.
    orphans: u64,
    pods: u64,
    nodes: u64,
    /// Services and orphans for which the controllers would change something.
    changed: u64,
    /// Writes without a change that are repeated at every sync. The other numbers do not include them.
    endless_updates: u64,
    endpoints: ChangesSchema,
    endpoint_slices: ChangesSchema,
    /// Errors in all plans together.
    errors: u64,
    /// Findings in all plans together; those about the input are separate.
    problems: u64,
    /// Findings about the input.
    input_problems: Vec<FindingSchema>,
    /// How many more findings about the input there are.
    #[schema(required = false, nullable = false)]
    more_input_problems: Option<u64>,
}

/// Writes, by kind of write.
#[derive(ToSchema)]
#[schema(as = Changes)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct ChangesSchema {
    create: u64,
    update: u64,
    delete: u64,
}

/// All releases with a profile.
#[derive(ToSchema)]
#[schema(as = Releases)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct ReleasesSchema {
    /// The release that Roster follows by default.
    #[schema(example = "1.37")]
    default: String,
    items: Vec<ReleaseSchema>,
}

/// A release and its switches; `docs/reference/versions.md` explains them.
#[derive(ToSchema)]
#[schema(as = Release)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct ReleaseSchema {
    #[schema(example = "1.37")]
    minor: String,
    #[schema(value_type = Object)]
    profile: (),
}

/// The differences between two releases.
#[derive(ToSchema)]
#[schema(as = Differences)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct DifferencesSchema {
    from: String,
    to: String,
    differences: Vec<DifferenceSchema>,
}

/// A switch that two releases set differently.
#[derive(ToSchema)]
#[schema(as = Difference)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct DifferenceSchema {
    /// Name of the switch.
    #[schema(example = "canonicalIps")]
    switch: String,
    /// What it means.
    meaning: String,
    #[schema(value_type = Value)]
    from: serde_json::Value,
    #[schema(value_type = Value)]
    to: serde_json::Value,
}
