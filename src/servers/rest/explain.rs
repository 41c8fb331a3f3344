//! `POST /v1/explain`: which pods serve which ports of a Service, and why the others do not.

use std::sync::Arc;

use axum::extract::{Request, State};
use roster_calls::Call;

use super::{
    RestApp,
    compute::{ComputedAnswer, compute},
    problem::ApiError,
    problem_responses,
    schema::{
        explanation::ExplanationAnswer,
        query::{OptionParams, ServiceParam, WriteParams},
        request::{self, PlanBody},
    },
};

/// Explain one Service
///
/// One row per selected pod, Service port and list (Endpoints, and the slices of each address type): whether
/// clients get it, and why not. Each reason has a code and, where there is one, a fix. Where
/// the selector matches nothing, the reasons of the Service name the nearest miss: post all pods of the
/// namespace, or of all namespaces, to see it.
#[utoipa::path(
    post,
    path = "/v1/explain",
    tag = "compute",
    params(ServiceParam, OptionParams, WriteParams),
    request_body(
        description = "The state of one Service, as for `/v1/plan`; `controllers` is ignored.",
        content(
            (PlanBody = "application/json", example = request::example),
            (PlanBody = "application/yaml", example = request::example),
        ),
    ),
    responses(
        (status = 200, description = "The reasons of the Service, and a verdict for each pod.", body = ExplanationAnswer),
        problem_responses::ServiceProblems,
    ),
)]
pub(super) async fn explain(State(app): State<Arc<RestApp>>, request: Request) -> Result<ComputedAnswer, ApiError> {
    compute(&app, request, Call::Explain).await
}
