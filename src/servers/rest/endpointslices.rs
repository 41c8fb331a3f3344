//! `POST /v1/endpointslices`: the slices that the controllers want.

use std::sync::Arc;

use axum::extract::{Request, State};
use serde::Serialize;

use super::{
    App,
    compute::{Answer, compute},
    input,
    params::{ControllersParam, OF_OPTIONS, OptionParams, Params, ServiceParam},
    plan::one,
    problem::ApiError,
    refusals,
    schema::{
        answer::EndpointSliceList,
        request::{self, PlanBody},
    },
};
use crate::{engine::state::Controller, model::EndpointSlice};

/// The desired slices
///
/// The slices of one Service as they are after the controllers' work: created, updated and unchanged ones.
/// Created ones have a `generateName` and no `name`. Slices of other owners are left alone and not listed.
/// Endpoints made by hand are mirrored if the body holds them.
///
/// The header `roster-problems` counts what a user should know; `POST /v1/plan` with the same body tells it.
#[utoipa::path(
    post,
    path = "/v1/endpointslices",
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
        (status = 200, description = "A `discovery.k8s.io/v1` list.", body = EndpointSliceList,
            headers(("roster-problems" = u32, description = "How many problems `/v1/plan` would tell."))),
        refusals::OfBody,
    ),
)]
pub(super) async fn endpointslices(State(app): State<Arc<App>>, request: Request) -> Result<Answer, ApiError> {
    let params = Params::read(request.uri(), &[&["service"], OF_OPTIONS])?;
    compute(&app, request, move |app, posted| {
        input::answer(&posted, &params, |asked| {
            let mirror = [Controller::EndpointSlices, Controller::Mirroring];
            let default = if asked.state.endpoints.is_some() { &mirror[..] } else { &mirror[..1] };
            let plan = one(app, asked, default, asked.options);
            let problems = plan.problems.len() + asked.input_problems().len();
            let items = plan.desired_slices(&asked.state);
            let list =
                List { api_version: "discovery.k8s.io/v1", kind: "EndpointSliceList", metadata: Empty {}, items };
            Answer::json(&list).map(|a| a.with_problems(problems))
        })
    })
    .await
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct List<'a> {
    api_version: &'static str,
    kind: &'static str,
    metadata: Empty,
    items: Vec<&'a EndpointSlice>,
}

#[derive(Serialize)]
struct Empty {}
