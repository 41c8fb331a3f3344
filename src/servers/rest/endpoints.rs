//! `POST /v1/endpoints`: the Endpoints object that the controller wants.

use std::sync::Arc;

use axum::extract::{Request, State};

use super::{
    App,
    compute::{Answer, compute},
    input,
    params::{ControllersParam, OF_OPTIONS, OptionParams, Params, ServiceParam},
    plan::one,
    problem::ApiError,
    refusals,
    schema::{
        k8s::EndpointsSchema,
        request::{self, PlanBody},
    },
};
use crate::engine::state::Controller;

/// The desired Endpoints
///
/// The `v1.Endpoints` of one Service as it is after the controller's work: the object that it writes, or
/// the stored one where there is nothing to do. `null` where there is none afterwards: the Service is gone,
/// or it has no selector and nobody made Endpoints by hand.
///
/// The header `roster-problems` counts what a user should know; `POST /v1/plan` with the same body tells it.
#[utoipa::path(
    post,
    path = "/v1/endpoints",
    tag = "compute",
    params(ServiceParam, OptionParams, ControllersParam),
    request_body(
        description = "The state of one Service, as for `/v1/plan`.",
        content(
            (PlanBody = "application/json", example = request::example),
            (PlanBody = "application/yaml", example = request::example),
        ),
    ),
    responses(
        (status = 200, description = "The object, or `null`.", body = Option<EndpointsSchema>,
            headers(("roster-problems" = u32, description = "How many problems `/v1/plan` would tell."))),
        refusals::OfBody,
    ),
)]
pub(super) async fn endpoints(State(app): State<Arc<App>>, request: Request) -> Result<Answer, ApiError> {
    let params = Params::read(request.uri(), &[&["service"], OF_OPTIONS])?;
    compute(&app, request, move |app, posted| {
        input::answer(&posted, &params, |asked| {
            let plan = one(app, asked, &[Controller::Endpoints], asked.options);
            let problems = plan.problems.len() + asked.input_problems().len();
            Answer::json(&plan.desired_endpoints(&asked.state)).map(|a| a.with_problems(problems))
        })
    })
    .await
}
