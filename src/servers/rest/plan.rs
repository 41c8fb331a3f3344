//! `POST /v1/plan`: what the controllers would do to one Service.

use std::sync::Arc;

use axum::extract::{Request, State};
use serde::Serialize;

use super::{
    RestApp,
    compute::{JsonAnswer, compute},
    input::{self, PlanInput},
    params::{AgainstParam, ControllersParam, OptionParams, PLAN_PARAMS, Params, ServiceParam},
    problem::ApiError,
    problem_responses,
    schema::{
        answer::PlanOrComparison,
        request::{self, PlanBody},
    },
};
use crate::engine::{
    compare::{self, Deviation, Tally},
    plan,
    state::{Controller, Options, Plan},
};

/// Plan one Service
///
/// What Kubernetes' controllers would create, update and delete for one Service in the posted
/// state. `endpoints` and `endpointSlices` are what the cluster contains now; a missing `service` means that
/// it was deleted. `apiVersion`, `kind` and `managedFields` never count as a difference.
///
/// Instead of the object below, the body may be what `kubectl get svc,pods,nodes,endpoints,endpointslices
/// -o yaml` prints: a `kind: List`, or several YAML documents. With several Services in it, `service`
/// names one.
///
/// A pod, node or slice that cannot be read becomes an entry of `problems`, and the others count. A Service,
/// an Endpoints object or an option that cannot be read is an error of the call.
#[utoipa::path(
    post,
    path = "/v1/plan",
    tag = "compute",
    params(
        ServiceParam,
        OptionParams,
        ControllersParam,
        AgainstParam,
    ),
    request_body(
        description = "The state of one Service.",
        content(
            (PlanBody = "application/json", examples(
                ("plan" = (summary = "A Service and its pods", value = json!(request::example()))),
                ("list" = (summary = "As kubectl prints it", value = json!(request::list_example()))),
            )),
            (PlanBody = "application/yaml", example = request::example),
        ),
    ),
    responses(
        (status = 200, description = "What would be written, and the findings. With `against`: two plans.",
            body = PlanOrComparison),
        problem_responses::BodyProblems,
    ),
)]
pub(super) async fn plan(State(app): State<Arc<RestApp>>, request: Request) -> Result<JsonAnswer, ApiError> {
    let params = Params::read(request.uri(), &[&["service", "against"], PLAN_PARAMS])?;
    compute(&app, request, move |app, posted| {
        input::answer(&posted, &params, |input| {
            let mut first = plan_once(app, input, &Controller::ALL, input.options);
            first.problems.extend(input.service_missing());
            let Some(compat) = params.against else {
                first.problems.splice(0..0, input.input_problems());
                return JsonAnswer::json(&first);
            };
            let mut second = plan_once(app, input, &Controller::ALL, Options { compat, ..input.options });
            let differences = compare::deviations(&input.state, &first, &second);
            first.problems.splice(0..0, input.input_problems());
            second.problems.splice(0..0, input.input_problems());
            JsonAnswer::json(&Comparison {
                differs: !differences.is_empty(),
                differences,
                plan: first,
                against: second,
            })
        })
    })
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

/// Plans once. `default` are the controllers where neither the body nor the query names any.
pub(super) fn plan_once(app: &RestApp, input: &PlanInput<'_>, default: &[Controller], options: Options) -> Plan {
    let controllers = input.controllers.as_deref().unwrap_or(default);
    let plan = plan::plan(&input.state, controllers, &options);
    app.metrics.planned(!Tally::of(&input.state, &plan).is_change());
    plan
}
