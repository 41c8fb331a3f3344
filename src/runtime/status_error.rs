//! Errors of requests of Kubernetes clients: a `metav1.Status`, whose message they show.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

use super::net::ServerPart;

/// Why a request fails, as a `metav1.Status`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StatusError {
    pub(crate) code: StatusCode,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    /// After how many seconds the client may try again.
    pub(crate) retry_after: Option<u16>,
}

impl StatusError {
    pub(crate) fn new(code: StatusCode, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), retry_after: None }
    }

    /// A method that the path does not have. The router adds `Allow`.
    pub(crate) fn method(message: impl Into<String>) -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message)
    }

    /// Too much at once. Without `Retry-After`: an API server that sends a review would ask again within its time.
    pub(crate) fn busy(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", message)
    }

    /// The response to a request that gets no place, or loses it.
    pub(crate) fn no_place() -> Response {
        Self::busy(ServerPart::NO_PLACE).into_response()
    }

    /// A bug in Roster.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", message)
    }

    pub(crate) fn unreadable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }
}

impl StatusError {
    /// The error with `Retry-After`.
    pub(crate) fn retry_after(self, seconds: u16) -> Self {
        Self { retry_after: Some(seconds), ..self }
    }

    /// The `metav1.Status` as JSON.
    pub(crate) fn to_json(&self) -> Vec<u8> {
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
        serde_json::to_vec(&status).unwrap_or_default()
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
        let mut response = (self.code, [(header::CONTENT_TYPE, JSON)], self.to_json()).into_response();
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}

/// The media type of requests and answers.
pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The answer with a review.
pub(crate) fn json(body: Vec<u8>) -> Response {
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
