//! `POST /v1/view`: which endpoints the proxy of a node uses, and why not the others.

use std::sync::Arc;

use axum::extract::{Request, State};
use roster_calls::Call;

use super::{
    RestApp,
    compute::{ComputedAnswer, compute},
    problem::ApiError,
    problem_responses,
    schema::view::{ViewAnswer, ViewBody},
};

/// View Services from a node
///
/// Which endpoints the proxy of a node uses. With the scheme `kube-proxy`: for each port of each Service those for the traffic
/// policies `Cluster` and `Local`, with hints and terminating endpoints as kube-proxy 1.37 treats them. With `superedge` and
/// `openyurt`: what the proxy of that project, between kube-proxy and the API server, leaves of Endpoints and slices.
#[utoipa::path(
    post,
    path = "/v1/view",
    tag = "compute",
    request_body(
        description = "A node, and what its proxy sees.",
        content(
            (ViewBody = "application/json", example = ViewBody::example),
            (ViewBody = "application/yaml", example = ViewBody::example),
        ),
    ),
    responses(
        (status = 200, description = "What the node uses.", body = ViewAnswer),
        problem_responses::BodyProblems,
    ),
)]
pub(super) async fn view(State(app): State<Arc<RestApp>>, request: Request) -> Result<ComputedAnswer, ApiError> {
    compute(&app, request, Call::View).await
}
