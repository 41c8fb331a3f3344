//! `POST /v1/compare`: what the controllers of two releases would do to one Service.

use std::sync::Arc;

use axum::extract::{Request, State};

use super::{
    RestApp,
    compute::{JsonAnswer, compute},
    input,
    params::{AgainstParam, ControllersParam, OptionParams, PLAN_PARAMS, Params, ServiceParam},
    planning::comparison,
    problem::{ApiError, InputError, ProblemKind},
    problem_responses,
    schema::{
        answer::ComparisonAnswer,
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
    params(ServiceParam, OptionParams, ControllersParam, AgainstParam),
    request_body(
        description = "The state of one Service, as for `/v1/plan`.",
        content(
            (PlanBody = "application/json", example = request::example),
            (PlanBody = "application/yaml", example = request::example),
        ),
    ),
    responses(
        (status = 200, description = "Two plans, and how they differ.", body = ComparisonAnswer),
        problem_responses::BodyProblems,
    ),
)]
pub(super) async fn compare(State(app): State<Arc<RestApp>>, request: Request) -> Result<JsonAnswer, ApiError> {
    let params = Params::read(request.uri(), &[&["service", "against"], PLAN_PARAMS])?;
    let Some(against) = params.against else {
        let detail = "the parameter is missing".to_owned();
        let error = InputError { pointer: None, parameter: Some("against".to_owned()), detail: detail.clone() };
        return Err(ApiError { errors: vec![error], ..ApiError::new(ProblemKind::InvalidQuery, detail) });
    };
    compute(&app, request, move |app, posted| input::answer(&posted, &params, |input| comparison(app, input, against)))
        .await
}
