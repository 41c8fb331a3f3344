//! `POST /v1/plan`: what the controllers would do to one Service.

use std::sync::Arc;

use axum::extract::{Request, State};
use roster_calls::Call;

use super::{
    RestApp,
    compute::{ComputedAnswer, compute},
    problem::ApiError,
    problem_responses,
    schema::{
        answer::PlanAnswer,
        query::{ControllersParam, OptionParams, ServiceParam, WriteParams},
        request::{self, PlanBody},
    },
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
/// an Endpoints object or an option that cannot be read is an error of the call. If a list has no readable pod that the
/// Service may select, and one that cannot be read, nothing is planned for it.
#[utoipa::path(
    post,
    path = "/v1/plan",
    tag = "compute",
    params(ServiceParam, OptionParams, WriteParams, ControllersParam),
    request_body(
        description = "The state of one Service.",
        content(
            (PlanBody = "application/json", example = request::example),
            (PlanBody = "application/yaml", example = request::example),
        ),
    ),
    responses(
        (status = 200, description = "What would be written, and the findings.", body = PlanAnswer),
        problem_responses::ServiceProblems,
    ),
)]
pub(super) async fn plan(State(app): State<Arc<RestApp>>, request: Request) -> Result<ComputedAnswer, ApiError> {
    compute(&app, request, Call::Plan).await
}
