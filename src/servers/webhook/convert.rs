//! Conversion reviews.

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
    status::{Refusal, json},
};

/// Converts the objects of a list.
pub(super) async fn convert(State(webhook): State<Arc<Webhook>>, request: Request) -> Response {
    answer(webhook, request).await.map_or_else(IntoResponse::into_response, json)
}

async fn answer(webhook: Arc<Webhook>, request: Request) -> Result<Vec<u8>, Refusal> {
    let deadline = Deadline::of(request.uri().query(), Instant::now(), webhook.limits.request);
    body::check(request.headers())?;
    let received = body::receive(request.into_body(), webhook.limits.conversion, &webhook.room, deadline).await?;
    // An API server asks again by itself, with the next read.
    let busy = || Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", "too many conversions at once");
    let place = webhook.conversions.queue.clone().try_acquire_owned().map_err(|_| busy())?;
    let turn = webhook.conversions.turns.clone().acquire_owned();
    let turn = timeout_at(deadline.latest_begin(received.bytes.len()), turn);
    let turn = turn.await.ok().and_then(Result::ok).ok_or_else(busy)?;
    let converted = tokio::task::spawn_blocking(move || {
        let _held = (place, turn);
        // The answer must still be written.
        review(&received.bytes, &|| Instant::now() > deadline.latest_begin(0))
    });
    converted.await.map_err(|_| Refusal::unreadable("the conversion did not end"))?
}

/// Only a body without an uid is refused: every other one gets a review.
fn review(body: &[u8], late: &dyn Fn() -> bool) -> Result<Vec<u8>, Refusal> {
    crate::convert::answer_conversion_review_until(body, late).map_err(|e| Refusal::unreadable(e.to_string()))
}
