//! Errors without a uid: a `metav1.Status`, whose message an API server shows.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

use crate::runtime::net::ServerPart;

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

    /// The response to a request that gets no place, or loses it.
    pub(super) fn no_place() -> Response {
        Self::busy(ServerPart::NO_PLACE).into_response()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_request_without_a_place_gets_a_status() {
        let response = StatusError::no_place();
        assert_eq!(
            (response.status(), &response.headers()[header::CONTENT_TYPE]),
            (StatusCode::SERVICE_UNAVAILABLE, &JSON)
        );
        let body = axum::body::to_bytes(response.into_body(), 1 << 10).await.unwrap();
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        let want = serde_json::json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": ServerPart::NO_PLACE, "reason": "ServiceUnavailable", "code": 503,
        });
        assert_eq!(body, want);
    }
}
