//! A span for each request of a listener, if the server sends traces.

use axum::{
    Router,
    extract::{MatchedPath, Request, State},
    middleware::{self, Next},
    response::Response,
};

use crate::runtime::{
    known_method::known_method,
    telemetry::traces::{CallerSampling, EndsSpan, Tracer},
};

/// The router of a listener, whose requests have spans if `tracer` makes some: [`Span::of`](crate::runtime::telemetry::traces::Span::of)
/// finds that of a request. `sampling` is who decides what is recorded of the traces of callers. What is sent to others on behalf of the request has the span as its parent.
pub(super) fn with_spans(router: Router, tracer: &Tracer, sampling: CallerSampling) -> Router {
    if !tracer.is_on() {
        return router;
    }
    router.layer(middleware::from_fn_with_state((tracer.clone(), sampling), record))
}

async fn record(
    State((tracer, mut sampling)): State<(Tracer, CallerSampling)>,
    mut request: Request,
    next: Next,
) -> Response {
    if matches!(request.uri().path(), "/livez" | "/readyz" | "/healthz" | "/metrics") {
        // Probes and scrapes come every few seconds, and tell nothing.
        return next.run(request).await;
    }
    let route = request.extensions().get::<MatchedPath>().cloned();
    if route.is_none() {
        // No API server asks for what does not exist.
        sampling = CallerSampling::IsLimited;
    }
    // As the semantic conventions have it.
    let method = known_method(request.method()).unwrap_or("_OTHER");
    let span = tracer.request(request.headers(), sampling, || match &route {
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

#[cfg(test)]
mod tests {
    use axum::{body::Body, http::Request, routing::get};
    use tower::ServiceExt;

    use super::{
        CallerSampling::{Decides, IsLimited},
        with_spans,
    };
    use crate::runtime::telemetry::traces::recorded_spans::RecordedSpans;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    /// A caller records, and the share is 0.
    #[tokio::test]
    async fn only_an_api_server_gets_more_recorded_than_the_share() {
        for (sampling, path, name) in [
            (Decides, "/validate", Some("GET /validate")),
            (Decides, "/nosuch", None),
            (Decides, "/livez", None),
            (IsLimited, "/validate", None),
            (IsLimited, "/nosuch", None),
        ] {
            let (tracer, mut spans) = RecordedSpans::of_share(0.0);
            let routes = axum::Router::new().route("/validate", get(|| async {})).route("/livez", get(|| async {}));
            let request = Request::get(path).header("traceparent", PARENT).body(Body::empty()).unwrap();
            with_spans(routes, &tracer, sampling).oneshot(request).await.unwrap();
            let is_recorded = !spans.is_empty();
            assert_eq!(is_recorded, name.is_some(), "{sampling:?} {path}");
            if let Some(name) = name {
                assert_eq!(spans.next().await.name, name);
            }
        }
    }
}
