//! Errors as RFC 9457 problems: a table of kinds, and the one place that renders them.

use axum::{
    Json,
    extract::Request,
    http::{HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use roster_engine::{code_table, model::Interrupted};
use serde::Serialize;
use utoipa::ToSchema;

use super::request_id;
use crate::runtime::{allowed_hosts, net::ServerPart};

code_table! {
    /// The kinds of errors of a request.
    pub(crate) enum ProblemKind {
        /// The status of the response.
        status: StatusCode,
        /// The last part of the problem type.
        slug: &'static str,
        /// The title of the problem.
        title: &'static str,
    }

    /// The body is not JSON, YAML, UTF-8 or gzip, is truncated, or is nested too deeply.
    MalformedBody(StatusCode::BAD_REQUEST, "malformed-body", "The body cannot be read");
    /// A query parameter is missing, unknown, or has an invalid value.
    InvalidQuery(StatusCode::BAD_REQUEST, "invalid-query", "A query parameter is missing or invalid");
    /// The client closed the connection, or broke the framing, while it sent the body.
    BrokenBody(StatusCode::BAD_REQUEST, "broken-body", "The body ended early");
    /// The body can be read, but contains an object that cannot be used.
    InvalidObject(StatusCode::UNPROCESSABLE_ENTITY, "invalid-object", "The body does not contain what this call needs");
    /// The server requires a token, and the request has none, or another one.
    Unauthorized(StatusCode::UNAUTHORIZED, "unauthorized", "The request needs a valid token");
    /// The host that the request names is not one of this server.
    Host(allowed_hosts::STATUS, allowed_hosts::SLUG, allowed_hosts::TITLE);
    /// The path does not exist.
    NotFound(StatusCode::NOT_FOUND, "not-found", "The path does not exist");
    /// The query names a Service of which the body has nothing.
    ServiceNotFound(StatusCode::NOT_FOUND, "service-not-found", "The body does not have the Service");
    /// The path does not support this method.
    MethodNotAllowed(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", "The path does not support this method");
    /// The body arrives too slowly.
    BodyTimeout(StatusCode::REQUEST_TIMEOUT, "body-timeout", "The body did not arrive in time");
    /// The body has too many bytes after decompression, too many objects, or objects that take too much memory.
    TooLarge(StatusCode::PAYLOAD_TOO_LARGE, "too-large", "The body exceeds a limit");
    /// The media type is neither JSON nor YAML, or the encoding is not gzip.
    MediaType(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media-type", "The media type or encoding is not supported");
    /// Too many requests are in progress.
    Busy(StatusCode::TOO_MANY_REQUESTS, "busy", "Too many requests at once");
    /// A bug in Roster.
    Internal(StatusCode::INTERNAL_SERVER_ERROR, "internal", "Internal error");
    /// The response took too long.
    Timeout(StatusCode::SERVICE_UNAVAILABLE, "timeout", "The response was not ready in time");
    /// The server is starting or stopping.
    NotReady(StatusCode::SERVICE_UNAVAILABLE, "not-ready", "The server is starting or stopping");
}

/// A field or parameter that is in error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = FieldError)]
pub(crate) struct InputError {
    /// JSON pointer (RFC 6901) into the posted body; empty for the body itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false, example = "/service/spec/ports/0/port")]
    pub pointer: Option<String>,
    /// Name of a query parameter.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    pub parameter: Option<String>,
    /// What is wrong with it.
    #[schema(example = "invalid type: string \"http\", expected a 32-bit integer")]
    pub detail: String,
}

impl InputError {
    /// An error in a field of the body.
    pub(crate) fn at(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { pointer: Some(pointer.into()), parameter: None, detail: detail.into() }
    }
}

/// Why a request is refused. [`render`] turns it into a problem with the id of the request.
#[derive(Clone, Debug)]
pub(crate) struct ApiError {
    pub kind: ProblemKind,
    pub detail: String,
    pub errors: Vec<InputError>,
}

impl ApiError {
    pub(crate) fn new(kind: ProblemKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), errors: Vec::new() }
    }
}

impl From<Interrupted> for ApiError {
    /// Hardly anybody reads it: work is interrupted when its client is gone or has been answered.
    fn from(why: Interrupted) -> Self {
        Self::new(ProblemKind::Timeout, why.to_string())
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = self.kind.status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// The body of every error response (RFC 9457).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub(crate) struct ProblemBody {
    /// The kind of error: a stable URN.
    #[serde(rename = "type")]
    #[schema(example = "urn:roster:problem:invalid-object")]
    kind: String,
    /// The kind in words.
    title: &'static str,
    /// The HTTP status.
    #[schema(minimum = 400, maximum = 599)]
    status: u16,
    /// What is wrong with this request.
    detail: String,
    /// This request: `urn:roster:request:` and its `x-request-id`, as in the log.
    instance: String,
    /// The fields or parameters that are in error, if any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    errors: Vec<InputError>,
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
    let mut out = problem(error, &id);
    if let Some(allow) = response.headers_mut().remove(header::ALLOW) {
        out.headers_mut().insert(header::ALLOW, allow);
    }
    out
}

/// The response to a request that gets no place, or loses it. It reaches no layer that would number it.
pub(super) fn no_place() -> Response {
    let id = request_id::new();
    let mut response = problem(ApiError::new(ProblemKind::Busy, ServerPart::NO_PLACE), &id);
    if let Ok(id) = HeaderValue::try_from(id) {
        response.headers_mut().insert(request_id::HEADER, id);
    }
    response
}

/// The problem with the headers of its kind.
fn problem(error: ApiError, id: &str) -> Response {
    let body = ProblemBody {
        kind: format!("urn:roster:problem:{}", error.kind.slug()),
        title: error.kind.title(),
        status: error.kind.status().as_u16(),
        detail: error.detail,
        instance: format!("urn:roster:request:{id}"),
        errors: error.errors,
    };
    let mut out = (error.kind.status(), Json(body)).into_response();
    let headers = out.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    match error.kind {
        ProblemKind::Busy | ProblemKind::Timeout | ProblemKind::NotReady => {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        ProblemKind::Unauthorized => {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
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
