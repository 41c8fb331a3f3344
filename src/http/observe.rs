//! One log line and one count per request, at the boundary.

use std::{sync::Arc, time::Instant};

use axum::{
    extract::{MatchedPath, Request, State},
    middleware::Next,
    response::Response,
};

use super::{App, request_id::RequestId};
use prometheus_client::metrics::gauge::Gauge;

/// Counts down when the request is over, however it ends: a client that goes away drops the future.
struct InFlight(Gauge);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}

pub(super) async fn observe(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str).to_owned();
    let method = request.method().clone();
    let id = request.extensions().get::<RequestId>().cloned().unwrap_or_default();
    app.metrics.in_flight.inc();
    let _in_flight = InFlight(app.metrics.in_flight.clone());

    let response = next.run(request).await;

    let (code, took) = (response.status().as_u16(), started.elapsed());
    app.metrics.answered(&route, &method, code, took);
    tracing::info!(
        request.id = %id.0,
        http.method = %method,
        http.route = %route,
        http.status = code,
        took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
        "answered"
    );
    response
}
