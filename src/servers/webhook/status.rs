//! Refusals without an uid: a `metav1.Status`, whose message an API server shows.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

/// Why a request is no review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) code: StatusCode,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

impl Refusal {
    pub(super) fn new(code: StatusCode, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into() }
    }

    /// The router adds `Allow`.
    pub(super) fn method() -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", "reviews are sent with POST")
    }

    pub(super) fn unreadable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "the fields are Kubernetes' own")]
struct Status<'a> {
    kind: &'static str,
    api_version: &'static str,
    metadata: Empty,
    status: &'static str,
    message: &'a str,
    reason: &'a str,
    code: u16,
}

#[derive(Serialize)]
struct Empty {}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = Status {
            kind: "Status",
            api_version: "v1",
            metadata: Empty {},
            status: "Failure",
            message: &self.message,
            reason: self.reason,
            code: self.code.as_u16(),
        };
        // Text and numbers only: this does not fail.
        let body = serde_json::to_vec(&status).unwrap_or_default();
        (self.code, [(header::CONTENT_TYPE, JSON)], body).into_response()
    }
}

/// The one type that goes in and out.
pub(super) const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// A review.
pub(super) fn json(body: Vec<u8>) -> Response {
    let mut response = Response::new(body.into());
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
}
