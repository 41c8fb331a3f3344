//! The handler of `/convert`: a conversion review, from the request to the response.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::{Request, State},
    response::{IntoResponse, Response},
};
use roster_engine::model::Interrupt;
use tokio::time::{Instant, timeout_at};

use super::{Webhook, body, deadline::Deadline};
use crate::runtime::{
    net::{Exchange, HeldByResponse, ReceivedBody},
    status_error::{StatusError, json},
    workers::WorkError,
};

/// How long a conversion that is late already may take: it reports how far it came.
const GRACE: Duration = Duration::from_secs(1);

/// Converts the objects of a list.
pub(super) async fn convert(State(webhook): State<Arc<Webhook>>, request: Request) -> Response {
    respond(webhook, request).await.unwrap_or_else(IntoResponse::into_response)
}

async fn respond(webhook: Arc<Webhook>, request: Request) -> Result<Response, StatusError> {
    let limits = &webhook.limits;
    let deadline = Deadline::of(request.uri().query(), Instant::now(), limits.request);
    let exchange = Exchange::of(request.extensions());
    body::check(request.headers())?;
    let memory = &webhook.conversion_memory;
    let received = body::receive(request.into_body(), limits.conversion, limits, memory, deadline, &exchange).await?;
    let ReceivedBody { bytes, memory } = received;
    // An API server retries with the next read.
    let busy = || StatusError::busy("too many conversions at once");
    let length = bytes.len();
    let latest = deadline.latest_begin(length);
    // Writing the response takes time as well.
    // The memory is held until the work ends.
    let work = move |unwanted: Interrupt<'_>| {
        let is_late = || unwanted.is_requested() || Instant::now() > deadline.latest_begin(0);
        (review(&bytes, &is_late), memory)
    };
    let conversions = &webhook.conversions;
    let converted =
        timeout_at(latest.max(Instant::now() + GRACE), conversions.run_while_wanted(exchange.peer, (), length, work))
            .await
            .map_err(|_| busy())?;
    let (response, mut memory) = converted.map_err(|error| match error {
        WorkError::Busy => busy(),
        WorkError::Panicked => StatusError::internal("the conversion failed"),
    })?;
    let response = response?;
    // The response takes the place of the body.
    if memory.is_held() && !memory.resize(response.len() as u64) {
        return Err(StatusError::busy("other conversions take all memory"));
    }
    let mut response = json(response);
    response.extensions_mut().insert(HeldByResponse::new(memory.into_holding()));
    Ok(response)
}

/// Only a body without a uid is an error: every other one gets a review.
fn review(body: &[u8], late: &dyn Fn() -> bool) -> Result<Vec<u8>, StatusError> {
    roster_admission::convert::answer_conversion_review_until(body, late)
        .map_err(|e| StatusError::unreadable(e.to_string()))
}
