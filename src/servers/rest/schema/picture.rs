//! The response of `POST /v1/picture`.

use utoipa::ToSchema;

use super::answer::{ObjectKeySchema, SeveritySchema};

/// The way from routes to the pods of a Service, with what does not serve it in place.
#[derive(ToSchema)]
#[schema(as = Picture, rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct PictureAnswer {
    /// The Service; also where only its Endpoints or slices are left.
    #[schema(required = false, nullable = false)]
    service: Option<ObjectKeySchema>,
    /// How much of the Service is served, in a few words.
    #[schema(example = "5 of 6 pod ports served")]
    title: String,
    severity: SeveritySchema,
    /// What to look at first, the worst in front.
    reasons: Vec<PictureReasonSchema>,
    /// The nodes, column by column, and in each from top to bottom.
    nodes: Vec<PictureNodeSchema>,
    /// The edges, in the order of their ends.
    edges: Vec<PictureEdgeSchema>,
}

/// Something in a picture.
#[derive(ToSchema)]
#[schema(as = PictureNode, rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct PictureNodeSchema {
    /// A name that is unique in the picture, and stays the same in another picture of the Service.
    #[schema(example = "pod/web-1")]
    id: String,
    kind: PictureNodeKindSchema,
    state: PictureStateSchema,
    /// Its name.
    label: String,
    /// More about it, in a few words.
    #[schema(required = false, nullable = false)]
    detail: Option<String>,
    /// How many objects it stands for; more than 1 if they are folded.
    count: u64,
    /// The zone in which it is.
    #[schema(required = false, nullable = false)]
    zone: Option<String>,
    /// Why it is in this state.
    #[schema(required = false, nullable = false)]
    reasons: Option<Vec<PictureReasonSchema>>,
}

/// A connection of two nodes of a picture.
#[derive(ToSchema)]
#[schema(as = PictureEdge, rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct PictureEdgeSchema {
    /// The `id` of the node where it begins.
    from: String,
    /// The `id` of the node where it ends.
    to: String,
    kind: PictureEdgeKindSchema,
    state: PictureStateSchema,
    /// What breaks it.
    #[schema(required = false, nullable = false)]
    label: Option<String>,
    /// The code of the reason for its state.
    #[schema(required = false, nullable = false)]
    code: Option<String>,
}

/// What a node of a picture is: also an endpoint other than a pod, and pods that the selector misses.
#[derive(ToSchema)]
#[schema(as = PictureNodeKind, rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum PictureNodeKindSchema {
    Route,
    Service,
    Port,
    Endpoints,
    Slice,
    Pod,
    Address,
    NearMiss,
    Node,
    Zone,
}

/// What an edge of a picture means: `left-out` is one that is not there, for the reason on it.
#[derive(ToSchema)]
#[schema(as = PictureEdgeKind, rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum PictureEdgeKindSchema {
    Traffic,
    LeftOut,
    Mirrors,
    RunsOn,
    Hint,
}

/// How a node or an edge of a picture serves.
#[derive(ToSchema)]
#[schema(as = PictureState, rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum PictureStateSchema {
    Plain,
    Served,
    Unknown,
    PartlyServed,
    NotServed,
    Broken,
}

/// A reason in a picture.
#[derive(ToSchema)]
#[schema(as = PictureReason)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct PictureReasonSchema {
    /// The code; `docs/reference/reasons.md` and `docs/reference/rules.md` list them.
    #[schema(example = "named-port-missing")]
    code: String,
    severity: SeveritySchema,
    /// What it means here.
    #[schema(required = false, nullable = false)]
    detail: Option<String>,
    /// What to do about it.
    #[schema(required = false, nullable = false)]
    fix: Option<String>,
}
