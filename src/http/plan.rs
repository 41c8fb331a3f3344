//! `POST /v1/plan`.

use std::sync::Arc;

use axum::extract::{Request, State};

use super::{
    App,
    compute::{Answer, compute},
    problem::{ApiError, Kind},
};
use crate::plan::PlanRequest;

/// What the controllers would do.
pub(super) async fn plan(State(app): State<Arc<App>>, request: Request) -> Result<Answer, ApiError> {
    compute(&app, request, |app, posted| {
        let request: PlanRequest =
            serde_json::from_slice(&posted.bytes).map_err(|e| ApiError::at(Kind::InvalidObject, "", e.to_string()))?;
        let plan = request.plan();
        app.metrics.planned(plan.is_noop());
        Answer::json(&plan)
    })
    .await
}
