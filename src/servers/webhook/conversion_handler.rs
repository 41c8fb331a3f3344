//! The handler of `/convert`: a conversion review, from the request to the response.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use tokio::time::{Instant, timeout_at};

use super::{
    Webhook, body,
    deadline::Deadline,
    status_error::{StatusError, json},
};

/// Converts the objects of a list.
pub(super) async fn convert(State(webhook): State<Arc<Webhook>>, request: Request) -> Response {
    answer(webhook, request).await.map_or_else(IntoResponse::into_response, json)
}

async fn answer(webhook: Arc<Webhook>, request: Request) -> Result<Vec<u8>, StatusError> {
    let deadline = Deadline::of(request.uri().query(), Instant::now(), webhook.limits.request);
    body::check(request.headers())?;
    let received = body::receive(request.into_body(), webhook.limits.conversion, &webhook.memory, deadline).await?;
    // An API server retries with the next read.
    let busy =
        || StatusError::new(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", "too many conversions at once");
    let place = webhook.conversions.places.clone().try_acquire_owned().map_err(|_| busy())?;
    let worker = webhook.conversions.workers.clone().acquire_owned();
    let worker = timeout_at(deadline.latest_begin(received.bytes.len()), worker);
    let worker = worker.await.ok().and_then(Result::ok).ok_or_else(busy)?;
    let converted = tokio::task::spawn_blocking(move || {
        let _held = (place, worker);
        // Writing the answer takes time as well.
        review(&received.bytes, &|| Instant::now() > deadline.latest_begin(0))
    });
    converted.await.map_err(|_| StatusError::unreadable("the conversion failed"))?
}

/// Only a body without a uid is an error: every other one gets a review.
fn review(body: &[u8], late: &dyn Fn() -> bool) -> Result<Vec<u8>, StatusError> {
    crate::convert::answer_conversion_review_until(body, late).map_err(|e| StatusError::unreadable(e.to_string()))
}
