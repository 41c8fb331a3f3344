//! `POST /v1/compare`: what the controllers of two releases would do to one Service.

use std::sync::Arc;

use axum::extract::{Request, State};
use roster_engine::{
    compare::{self, Deviation},
    profile::Minor,
    state::{Controller, Options, Plan},
};
use serde::Serialize;

use super::{
    RestApp,
    compute::{JsonAnswer, compute},
    input::{self, PlanInput},
    params::{AgainstParam, ControllersParam, OptionParams, PLAN_PARAMS, Params, ServiceParam, WriteParams},
    plan::plan_once,
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
pub(super) async fn compare(State(app): State<Arc<RestApp>>, request: Request) -> Result<JsonAnswer, ApiError> {
    let params = Params::read(request.uri(), &[&["service", "against"], PLAN_PARAMS, WriteParams::NAMES])?;
    let Some(against) = params.against else {
        let detail = "the parameter is missing".to_owned();
        let error = InputError { pointer: None, parameter: Some("against".to_owned()), detail: detail.clone() };
        return Err(ApiError { errors: vec![error], ..ApiError::new(ProblemKind::InvalidQuery, detail) });
    };
    compute(&app, request, move |app, posted| input::answer(&posted, &params, |input| comparison(app, input, against)))
        .await
}

/// The same state, planned as two releases would.
#[derive(Serialize)]
struct Comparison {
    plan: Plan,
    against: Plan,
    /// The objects that the two treat differently, as in `roster plan --against`.
    differences: Vec<Deviation>,
    differs: bool,
}

/// Plans as the release of the options and as `against` would.
fn comparison(app: &RestApp, input: &PlanInput<'_>, against: Minor) -> Result<JsonAnswer, ApiError> {
    let mut first = plan_once(app, input, &Controller::ALL, input.options)?;
    let mut second = plan_once(app, input, &Controller::ALL, Options { compat: against, ..input.options })?;
    let differences = compare::deviations(&input.state, &first, &second);
    first.problems.splice(0..0, input.input_problems());
    second.problems.splice(0..0, input.input_problems());
    JsonAnswer::json(&Comparison { differs: !differences.is_empty(), differences, plan: first, against: second })
}
