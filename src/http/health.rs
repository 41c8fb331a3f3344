//! Liveness and readiness.

use std::sync::{Arc, atomic::Ordering};

use axum::extract::State;

use super::{
    App,
    problem::{ApiError, Kind},
};

/// The process runs.
pub(super) async fn healthz() -> &'static str {
    "ok"
}

/// The process runs.
pub(super) async fn livez() -> &'static str {
    "ok"
}

/// The process takes requests.
pub(super) async fn readyz(State(app): State<Arc<App>>) -> Result<&'static str, ApiError> {
    if app.ready.load(Ordering::Acquire) {
        Ok("ok")
    } else {
        Err(ApiError::new(Kind::NotReady, "starting or stopping"))
    }
}
