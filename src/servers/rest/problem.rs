//! Errors as RFC 9457 problems: the one place that renders them.

use axum::{
    extract::Request,
    http::{HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use roster_calls::{Problem, ProblemDocument, ProblemKind};
use roster_engine::model::Interrupted;

use super::request_id;
use crate::runtime::net::ServerPart;

/// Why a request is refused. [`render`] turns it into a problem with the id of the request.
#[derive(Clone, Debug)]
pub(crate) struct ApiError(pub Problem);

impl ApiError {
    pub(crate) fn new(kind: ProblemKind, detail: impl Into<String>) -> Self {
        Self(Problem::new(kind, detail))
    }

    fn status(&self) -> StatusCode {
        status(self.0.kind)
    }
}

/// The status of the responses of a kind.
fn status(kind: ProblemKind) -> StatusCode {
    // The table has no others.
    StatusCode::from_u16(kind.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

impl From<Problem> for ApiError {
    fn from(problem: Problem) -> Self {
        Self(problem)
    }
}

impl From<Interrupted> for ApiError {
    fn from(why: Interrupted) -> Self {
        Self(why.into())
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = self.status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// Renders every error response as a problem with the id of the request: those of handlers, and the bare ones of the
/// router and the layers below.
pub(super) async fn render(request: Request, next: Next) -> Response {
    let id = request_id::of(&request);
    let mut response = next.run(request).await;
    let status = response.status();
    if !status.is_client_error() && !status.is_server_error() {
        return response;
    }
    let error = response.extensions_mut().remove::<ApiError>().unwrap_or_else(|| match status {
        StatusCode::NOT_FOUND => ApiError::new(ProblemKind::NotFound, "/docs lists the paths of this API"),
        StatusCode::METHOD_NOT_ALLOWED => {
            ApiError::new(ProblemKind::MethodNotAllowed, "the header Allow lists the supported methods")
        }
        _ => ApiError::new(ProblemKind::Internal, "this is a bug: report it with the value of `instance`"),
    });
    let mut out = problem(&error, &id);
    if let Some(allow) = response.headers_mut().remove(header::ALLOW) {
        out.headers_mut().insert(header::ALLOW, allow);
    }
    out
}

/// The response to a request that gets no place, or loses it. It reaches no layer that would number it.
pub(super) fn no_place() -> Response {
    let id = request_id::new();
    let mut response = problem(&ApiError::new(ProblemKind::Busy, ServerPart::NO_PLACE), &id);
    if let Ok(id) = HeaderValue::try_from(id) {
        response.headers_mut().insert(request_id::HEADER, id);
    }
    response
}

/// The problem with the headers of its kind.
fn problem(error: &ApiError, id: &str) -> Response {
    let ApiError(problem) = error;
    let body = problem.document(Some(format!("urn:roster:request:{id}"))).to_json();
    let mut out = (error.status(), body).into_response();
    let headers = out.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(ProblemDocument::CONTENT_TYPE));
    match problem.kind {
        ProblemKind::Busy | ProblemKind::Timeout | ProblemKind::NotReady => {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        ProblemKind::Unauthorized => {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        ProblemKind::ClusterToken => {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"cluster\""));
        }
        ProblemKind::MediaType => {
            headers.insert(header::ACCEPT, HeaderValue::from_static("application/json, application/yaml"));
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip, identity"));
        }
        // The rest of the body is not read: the connection cannot be used again.
        ProblemKind::TooLarge | ProblemKind::BodyTimeout => {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        _ => {}
    }
    out
}

/// The response to a panic: a fixed text, so that nothing leaks.
#[expect(clippy::needless_pass_by_value, reason = "the signature of tower-http")]
pub(super) fn panicked(panic: Box<dyn std::any::Any + Send>) -> Response {
    let what = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    tracing::error!(panic = what.unwrap_or("?"), "a handler panicked");
    ApiError::new(ProblemKind::Internal, "this is a bug: report it with the value of `instance`").into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::allowed_hosts;

    #[test]
    fn every_listener_refuses_a_host_in_the_same_way() {
        let kind = ProblemKind::Host;
        assert_eq!(
            (status(kind), kind.slug(), kind.title()),
            (allowed_hosts::STATUS, allowed_hosts::SLUG, allowed_hosts::TITLE)
        );
    }

    #[tokio::test]
    async fn a_request_without_a_place_gets_a_problem() {
        let response = no_place();
        assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
        let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let (id, media) = (header(request_id::HEADER), header(header::CONTENT_TYPE));
        assert_eq!(
            (media.as_deref(), header(header::RETRY_AFTER).as_deref()),
            (Some("application/problem+json"), Some("1"))
        );
        let body = axum::body::to_bytes(response.into_body(), 1 << 10).await.unwrap();
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        let want = serde_json::json!({
            "type": "urn:roster:problem:busy", "title": "Too many requests at once", "status": 429,
            "detail": ServerPart::NO_PLACE, "instance": format!("urn:roster:request:{}", id.unwrap()),
        });
        assert_eq!(body, want);
    }
}
