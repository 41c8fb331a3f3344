//! `POST /v1/page`: what the page shows of a state. Its answer is for the script of the page, and may change with it.

use std::sync::Arc;

use axum::extract::{Request, State};
use roster_calls::Call;

use crate::servers::rest::{
    RestApp,
    compute::{ComputedAnswer, compute},
    problem::ApiError,
};

/// Answers a request of the page.
pub(in crate::servers::rest) async fn page(
    State(app): State<Arc<RestApp>>,
    request: Request,
) -> Result<ComputedAnswer, ApiError> {
    compute(&app, request, Call::Page).await
}
