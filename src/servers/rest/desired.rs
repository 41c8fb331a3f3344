//! `POST /v1/endpoints` and `POST /v1/endpointslices`: the objects as they are after the controllers' work.

use std::sync::Arc;

use axum::extract::{Request, State};
use roster_calls::Call;

use super::{
    RestApp,
    compute::{ComputedAnswer, compute},
    problem::ApiError,
    problem_responses,
    schema::{
        answer::EndpointSliceListSchema,
        k8s::EndpointsSchema,
        query::{ControllersParam, OptionParams, ServiceParam, WriteParams},
        request::{self, PlanBody},
    },
};

/// The desired Endpoints
///
/// The `v1.Endpoints` of one Service as it is after the controller's work: the object that it writes, or
/// the stored one where nothing changes. `null` where there is none afterwards: the Service is gone,
/// or it has no selector and no hand-made Endpoints.
///
/// The header `roster-problems` counts the findings; `POST /v1/plan` with the same body lists them.
#[utoipa::path(
    post,
    path = "/v1/endpoints",
    tag = "compute",
    params(ServiceParam, OptionParams, WriteParams, ControllersParam),
    request_body(
        description = "The state of one Service, as for `/v1/plan`.",
        content(
            (PlanBody = "application/json", example = request::example),
            (PlanBody = "application/yaml", example = request::example),
        ),
    ),
    responses(
        (status = 200, description = "The object, or `null`.", body = Option<EndpointsSchema>,
            headers(("roster-problems" = u32, description = "The number of findings that `/v1/plan` would list."))),
        problem_responses::ServiceProblems,
    ),
)]
pub(super) async fn endpoints(State(app): State<Arc<RestApp>>, request: Request) -> Result<ComputedAnswer, ApiError> {
    compute(&app, request, Call::Endpoints).await
}

/// The desired slices
///
/// The slices of one Service as they are after the controllers' work: created, updated and unchanged ones.
/// Created ones have a `generateName` and no `name`. Slices of other owners are left alone and not listed.
/// Hand-made Endpoints are mirrored if the body contains them.
///
/// The header `roster-problems` counts the findings; `POST /v1/plan` with the same body lists them.
#[utoipa::path(
    post,
    path = "/v1/endpointslices",
    tag = "compute",
    params(ServiceParam, OptionParams, WriteParams, ControllersParam),
    request_body(
        description = "The state of one Service, as for `/v1/plan`.",
        content(
            (PlanBody = "application/json", example = request::example),
            (PlanBody = "application/yaml", example = request::example),
        ),
    ),
    responses(
        (status = 200, description = "A `discovery.k8s.io/v1` list.", body = EndpointSliceListSchema,
            headers(("roster-problems" = u32, description = "The number of findings that `/v1/plan` would list."))),
        problem_responses::ServiceProblems,
    ),
)]
pub(super) async fn endpoint_slices(
    State(app): State<Arc<RestApp>>,
    request: Request,
) -> Result<ComputedAnswer, ApiError> {
    compute(&app, request, Call::EndpointSlices).await
}
