//! A span for each request of a listener, if the server sends traces.

use axum::{
    Router,
    extract::{MatchedPath, Request, State},
    middleware::{self, Next},
    response::Response,
};

use crate::runtime::{
    known_method::known_method,
    telemetry::traces::{EndsSpan, Tracer},
};

/// The router of a listener, whose requests have spans if `tracer` makes some: [`Span::of`](crate::runtime::telemetry::traces::Span::of)
/// finds that of a request. What is sent to others on behalf of the request has the span as its parent.
pub(super) fn with_spans(router: Router, tracer: &Tracer) -> Router {
    if !tracer.is_on() {
        return router;
    }
    router.layer(middleware::from_fn_with_state(tracer.clone(), record))
}

async fn record(State(tracer): State<Tracer>, mut request: Request, next: Next) -> Response {
    if matches!(request.uri().path(), "/livez" | "/readyz" | "/healthz" | "/metrics") {
        // Probes and scrapes come every few seconds, and tell nothing.
        return next.run(request).await;
    }
    let route = request.extensions().get::<MatchedPath>().cloned();
    // As the semantic conventions have it.
    let method = known_method(request.method()).unwrap_or("_OTHER");
    let span = tracer.request(request.headers(), || match &route {
        Some(route) => format!("{method} {}", route.as_str()),
        None => method.to_owned(),
    });
    span.set("http.request.method", method);
    if let Some(route) = &route {
        span.set("http.route", route.as_str());
    }
    span.propagate(request.headers_mut());
    request.extensions_mut().insert(span.clone());
    let ends = EndsSpan(span);
    let response = next.run(request).await;
    ends.0.set("http.response.status_code", response.status().as_u16());
    if response.status().is_server_error() {
        ends.0.fail();
    }
    response
}
