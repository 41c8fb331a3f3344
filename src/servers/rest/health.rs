//! Liveness, readiness and metrics.

use std::sync::Arc;

use axum::{extract::State, http::HeaderMap, response::IntoResponse};

use roster_calls::ProblemKind;

use super::{RestApp, problem::ApiError, problem_responses};

/// The liveness of the process, under its older name
///
/// The same as `/livez`.
#[utoipa::path(
    get,
    path = "/healthz",
    tag = "about",
    responses(
        (status = 200, description = "Yes.", body = String, content_type = "text/plain; charset=utf-8", example = "ok"),
        problem_responses::OpenProblems,
    ),
    security(()),
)]
pub(super) async fn healthz() -> &'static str {
    "ok"
}

/// Is the process alive?
///
/// Yes, whenever there is an answer.
#[utoipa::path(
    get,
    path = "/livez",
    tag = "about",
    responses(
        (status = 200, description = "Yes.", body = String, content_type = "text/plain; charset=utf-8", example = "ok"),
        problem_responses::OpenProblems,
    ),
    security(()),
)]
pub(super) async fn livez() -> &'static str {
    "ok"
}

/// Does the server accept requests?
///
/// Yes from the first accepted connection to the begin of the shutdown. Then no, although the server still answers
/// requests for some seconds: send them to another replica.
#[utoipa::path(
    get,
    path = "/readyz",
    tag = "about",
    responses(
        (status = 200, description = "Yes.", body = String, content_type = "text/plain; charset=utf-8", example = "ok"),
        problem_responses::ReadinessProblems,
    ),
    security(()),
)]
pub(super) async fn readyz(State(app): State<Arc<RestApp>>) -> Result<&'static str, ApiError> {
    if app.health.is_running() { Ok("ok") } else { Err(ApiError::new(ProblemKind::NotReady, "starting or stopping")) }
}

/// Metrics
///
/// In the text format of Prometheus, or as `OpenMetrics` if the client asks for that.
#[utoipa::path(
    get,
    path = "/metrics",
    tag = "about",
    responses(
        (status = 200, description = "The metrics.", content(
            (String = "text/plain; version=0.0.4; charset=utf-8"),
            (String = "application/openmetrics-text; version=1.0.0; charset=utf-8"),
        )),
        problem_responses::MetricsProblems,
    ),
)]
pub(super) async fn metrics(
    State(app): State<Arc<RestApp>>,
    headers: HeaderMap,
) -> Result<impl IntoResponse, ApiError> {
    app.health.metrics.scrape(&headers).map_err(|e| ApiError::new(ProblemKind::Internal, e.to_string()))
}
