//! Errors without a uid: a `metav1.Status`, whose message an API server shows.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

/// Why a request gets no review, as a `metav1.Status`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StatusError {
    pub(super) code: StatusCode,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

impl StatusError {
    pub(super) fn new(code: StatusCode, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into() }
    }

    /// A method other than POST. The router adds `Allow`.
    pub(super) fn method() -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", "reviews are sent with POST")
    }

    /// Too much at once. There is no `Retry-After`: an API server would ask again within its time.
    pub(super) fn busy(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", message)
    }

    /// A bug in Roster.
    pub(super) fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", message)
    }

    pub(super) fn unreadable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StatusBody<'a> {
    kind: &'static str,
    api_version: &'static str,
    metadata: StatusMeta,
    status: &'static str,
    message: &'a str,
    reason: &'a str,
    code: u16,
}

#[derive(Serialize)]
struct StatusMeta {}

impl IntoResponse for StatusError {
    fn into_response(self) -> Response {
        let status = StatusBody {
            kind: "Status",
            api_version: "v1",
            metadata: StatusMeta {},
            status: "Failure",
            message: &self.message,
            reason: self.reason,
            code: self.code.as_u16(),
        };
        // Only text and numbers: this does not fail.
        let body = serde_json::to_vec(&status).unwrap_or_default();
        (self.code, [(header::CONTENT_TYPE, JSON)], body).into_response()
    }
}

/// The media type of requests and answers.
pub(super) const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The answer with a review.
pub(super) fn json(body: Vec<u8>) -> Response {
    let mut response = Response::new(body.into());
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
}
