//! One log line and one count per request, at the boundary.

use std::{sync::Arc, time::Instant};

use axum::{
    extract::{MatchedPath, Request, State},
    http::Method,
    middleware::Next,
    response::Response,
};

use super::{App, request_id::RequestId};

/// The status of a request that got no answer, as nginx counts it; no client ever sees it.
const GONE: u16 = 499;

/// A request until it is over, however it ends: a client that goes away drops the future.
struct Observed {
    app: Arc<App>,
    route: String,
    method: Method,
    id: RequestId,
    started: Instant,
    code: Option<u16>,
}

impl Drop for Observed {
    fn drop(&mut self) {
        let (code, took) = (self.code.unwrap_or(GONE), self.started.elapsed());
        self.app.metrics.in_flight.dec();
        self.app.metrics.answered(&self.route, &self.method, code, took);
        tracing::info!(
            request.id = %self.id.0,
            http.method = %self.method,
            http.route = %self.route,
            http.status = code,
            took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
            "{}",
            if self.code.is_some() { "answered" } else { "gone before the answer" },
        );
    }
}

pub(super) async fn observe(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    app.metrics.in_flight.inc();
    let mut observed = Observed {
        app,
        route: request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str).to_owned(),
        method: request.method().clone(),
        id: request.extensions().get::<RequestId>().cloned().unwrap_or_default(),
        started: Instant::now(),
        code: None,
    };
    let response = next.run(request).await;
    observed.code = Some(response.status().as_u16());
    response
}
