//! Liveness, readiness and metrics.

use std::sync::Arc;

use axum::{extract::State, http::header, response::IntoResponse};

use super::{
    App,
    problem::{ApiError, Kind},
    refusals,
};
use crate::runtime::telemetry::metrics::CONTENT_TYPE;

/// Is the process alive?
///
/// The same as `/livez`, under its older name.
#[utoipa::path(
    get,
    path = "/healthz",
    tag = "about",
    responses((status = 200, description = "Yes.", body = String, content_type = "text/plain; charset=utf-8", example = "ok")),
)]
pub(super) async fn healthz() -> &'static str {
    "ok"
}

/// Is the process alive?
#[utoipa::path(
    get,
    path = "/livez",
    tag = "about",
    responses((status = 200, description = "Yes.", body = String, content_type = "text/plain; charset=utf-8", example = "ok")),
)]
pub(super) async fn livez() -> &'static str {
    "ok"
}

/// Does it take requests?
///
/// Yes from the first accepted connection to the begin of the shutdown. Then no, while the server still takes
/// requests for some seconds: send it none that another one could answer.
#[utoipa::path(
    get,
    path = "/readyz",
    tag = "about",
    responses(
        (status = 200, description = "Yes.", body = String, content_type = "text/plain; charset=utf-8", example = "ok"),
        refusals::OfReadiness,
    ),
)]
pub(super) async fn readyz(State(app): State<Arc<App>>) -> Result<&'static str, ApiError> {
    if app.is_ready() { Ok("ok") } else { Err(ApiError::new(Kind::NotReady, "starting or stopping")) }
}

/// Metrics
///
/// In the `OpenMetrics` text format.
#[utoipa::path(
    get,
    path = "/metrics",
    tag = "about",
    responses(
        (status = 200, description = "OpenMetrics.", body = String,
            content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8"),
    ),
)]
pub(super) async fn metrics(State(app): State<Arc<App>>) -> Result<impl IntoResponse, ApiError> {
    let text = app.metrics.encode().map_err(|e| ApiError::new(Kind::Internal, e.to_string()))?;
    Ok(([(header::CONTENT_TYPE, CONTENT_TYPE)], text))
}
