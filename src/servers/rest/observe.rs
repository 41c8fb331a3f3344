//! One log line and one count for each request.

use std::{sync::Arc, time::Instant};

use axum::{
    extract::{MatchedPath, Request, State},
    http::Method,
    middleware::Next,
    response::Response,
};

use super::{RestApp, request_id};
use crate::runtime::telemetry::traces::Span;

/// The status of a request whose client closed the connection before the response, as nginx counts it. No client sees it.
const CLIENT_CLOSED: u16 = 499;

/// A request until it ends, in whatever way: when a client closes its connection the future is dropped.
struct InFlightRequest {
    app: Arc<RestApp>,
    route: String,
    method: Method,
    id: String,
    span: Span,
    started: Instant,
    code: Option<u16>,
}

impl Drop for InFlightRequest {
    fn drop(&mut self) {
        let (code, took) = (self.code.unwrap_or(CLIENT_CLOSED), self.started.elapsed());
        self.app.metrics.in_flight.dec();
        self.app.metrics.answered(&self.route, &self.method, code, took);
        tracing::info!(
            trace_id = self.span.trace_id(),
            request.id = %self.id,
            http.method = %self.method,
            http.route = %self.route,
            http.status = code,
            took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
            "{}",
            if self.code.is_some() { "request answered" } else { "client closed the connection before the response" },
        );
    }
}

/// The middleware that logs and counts.
pub(super) async fn observe(State(app): State<Arc<RestApp>>, request: Request, next: Next) -> Response {
    app.metrics.in_flight.inc();
    let mut in_flight = InFlightRequest {
        app,
        route: request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str).to_owned(),
        method: request.method().clone(),
        id: request_id::of(&request),
        span: Span::of(request.extensions()),
        started: Instant::now(),
        code: None,
    };
    let response = next.run(request).await;
    in_flight.code = Some(response.status().as_u16());
    response
}
