//! `POST /v1/compare`: what the controllers of two releases would do to one Service.

use std::sync::Arc;

use axum::extract::{Request, State};
use roster_calls::Call;

use super::{
    RestApp,
    compute::{ComputedAnswer, compute},
    problem::ApiError,
    problem_responses,
    schema::{
        answer::ComparisonAnswer,
        query::{AgainstParam, ControllersParam, OptionParams, ServiceParam, WriteParams},
        request::{self, PlanBody},
    },
};

/// Plan one Service for two releases
///
/// What Kubernetes' controllers of the release `compat` and of the release `against` would do to one Service, and the
/// objects that the two treat differently.
#[utoipa::path(
    post,
    path = "/v1/compare",
    tag = "compute",
    params(ServiceParam, OptionParams, WriteParams, ControllersParam, AgainstParam),
    request_body(
        description = "The state of one Service, as for `/v1/plan`.",
        content(
            (PlanBody = "application/json", example = request::example),
            (PlanBody = "application/yaml", example = request::example),
        ),
    ),
    responses(
        (status = 200, description = "Two plans, and how they differ.", body = ComparisonAnswer),
        problem_responses::ServiceProblems,
    ),
)]
pub(super) async fn compare(State(app): State<Arc<RestApp>>, request: Request) -> Result<ComputedAnswer, ApiError> {
    compute(&app, request, Call::Compare).await
}
