//! `POST /v1/endpoints` and `POST /v1/endpointslices`: the objects as they are after the controllers' work.

use std::sync::Arc;

use axum::extract::{Request, State};
use roster_engine::{
    model::EndpointSlice,
    state::{Controller, Plan},
};
use serde::Serialize;

use super::{
    RestApp,
    compute::{JsonAnswer, compute},
    input::{self, PlanInput},
    params::{ControllersParam, OptionParams, PLAN_PARAMS, Params, ServiceParam, WriteParams},
    plan::plan_once,
    problem::ApiError,
    problem_responses,
    schema::{
        answer::EndpointSliceListSchema,
        k8s::EndpointsSchema,
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
pub(super) async fn endpoints(State(app): State<Arc<RestApp>>, request: Request) -> Result<JsonAnswer, ApiError> {
    desired(
        &app,
        request,
        |_| &[Controller::Endpoints],
        |input, plan| JsonAnswer::json(&plan.desired_endpoints(&input.state)),
    )
    .await
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
pub(super) async fn endpoint_slices(State(app): State<Arc<RestApp>>, request: Request) -> Result<JsonAnswer, ApiError> {
    desired(&app, request, slice_controllers, |input, plan| {
        let items = plan.desired_slices(&input.state);
        JsonAnswer::json(&SliceList {
            api_version: "discovery.k8s.io/v1",
            kind: "EndpointSliceList",
            metadata: SliceListMeta {},
            items,
        })
    })
    .await
}

/// Plans the posted state, and answers with a part of the plan. `controllers` are planned where neither the body nor
/// the query names any.
async fn desired(
    app: &Arc<RestApp>,
    request: Request,
    controllers: fn(&PlanInput<'_>) -> &'static [Controller],
    answer: fn(&PlanInput<'_>, &Plan) -> Result<JsonAnswer, ApiError>,
) -> Result<JsonAnswer, ApiError> {
    let params = Params::read(request.uri(), &[&["service"], PLAN_PARAMS, WriteParams::NAMES])?;
    compute(app, request, move |app, posted| {
        input::answer(&posted, &params, |input| {
            let plan = plan_once(app, input, controllers(input), input.options)?;
            let findings = plan.problems.len() + input.input_problems().len();
            answer(input, &plan).map(|answer| answer.with_problems(findings))
        })
    })
    .await
}

fn slice_controllers(input: &PlanInput<'_>) -> &'static [Controller] {
    if input.state.endpoints.is_some() {
        &[Controller::EndpointSlices, Controller::Mirroring]
    } else {
        &[Controller::EndpointSlices]
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SliceList<'a> {
    api_version: &'static str,
    kind: &'static str,
    metadata: SliceListMeta,
    items: Vec<&'a EndpointSlice>,
}

#[derive(Serialize)]
struct SliceListMeta {}
