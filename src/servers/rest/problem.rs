//! Errors as RFC 9457 problems: one table of kinds, one envelope, rendered in one place.

use axum::{
    Json,
    extract::Request,
    http::{HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use serde::Serialize;
use utoipa::ToSchema;

use super::request_id::RequestId;

macro_rules! kinds {
    ($($(#[doc = $doc:literal])* $name:ident $status:ident $slug:literal $title:literal;)*) => {
        /// What can go wrong with a request.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Kind {
            $($(#[doc = $doc])* $name,)*
        }

        impl Kind {
            /// All of them.
            pub(super) const ALL: &[Self] = &[$(Self::$name),*];
            pub(crate) fn status(self) -> StatusCode {
                match self { $(Self::$name => StatusCode::$status),* }
            }
            pub(super) fn slug(self) -> &'static str {
                match self { $(Self::$name => $slug),* }
            }
            /// What it means, in a sentence.
            pub(super) fn meaning(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc),*).trim_ascii()),* }
            }
            pub(super) fn title(self) -> &'static str {
                match self { $(Self::$name => $title),* }
            }
        }
    };
}

kinds! {
    /// Not JSON, not YAML, not UTF-8, not gzip, cut short or nested too deep.
    MalformedBody BAD_REQUEST "malformed-body" "The body cannot be read";
    /// A query parameter has a value that means nothing.
    InvalidQuery BAD_REQUEST "invalid-query" "A query parameter has no meaning";
    /// The client went away, or broke the framing, while it sent the body.
    BrokenBody BAD_REQUEST "broken-body" "The body ended early";
    /// The body can be read, and says something that cannot be planned.
    InvalidObject UNPROCESSABLE_ENTITY "invalid-object" "A field has a value that cannot be used";
    /// No such path.
    NotFound NOT_FOUND "not-found" "There is nothing at this path";
    /// Wrong method.
    MethodNotAllowed METHOD_NOT_ALLOWED "method-not-allowed" "This path has another method";
    /// The body stalls.
    BodyTimeout REQUEST_TIMEOUT "body-timeout" "The body did not arrive in time";
    /// Too many bytes after decompression, too many objects, or objects that take too much memory.
    TooLarge PAYLOAD_TOO_LARGE "too-large" "The body is over the limit";
    /// Neither JSON nor YAML, or an encoding other than gzip.
    MediaType UNSUPPORTED_MEDIA_TYPE "media-type" "The body is of a type that is not read here";
    /// Shed.
    Busy TOO_MANY_REQUESTS "busy" "Too many requests at once";
    /// A bug.
    Internal INTERNAL_SERVER_ERROR "internal" "Roster failed";
    /// Took too long.
    Timeout SERVICE_UNAVAILABLE "timeout" "The answer was not ready in time";
    /// Starting or stopping.
    NotReady SERVICE_UNAVAILABLE "not-ready" "Roster is starting or stopping";
}

/// One field or parameter that is to blame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct FieldError {
    /// JSON pointer (RFC 6901) into the posted body; empty for the body itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false, example = "/service/spec/ports/0/port")]
    pub pointer: Option<String>,
    /// Name of a query parameter.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    pub parameter: Option<String>,
    /// What is wrong with it.
    #[schema(example = "invalid type: string \"http\", expected an integer of 32 bits")]
    pub detail: String,
}

impl FieldError {
    /// A field of the body.
    pub(crate) fn at(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { pointer: Some(pointer.into()), parameter: None, detail: detail.into() }
    }
}

/// Why a request is refused. Rendered by [`render`], which knows the request's id.
#[derive(Clone, Debug)]
pub(crate) struct ApiError {
    pub kind: Kind,
    pub detail: String,
    pub errors: Vec<FieldError>,
}

impl ApiError {
    pub(crate) fn new(kind: Kind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), errors: Vec::new() }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = self.kind.status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// The body of every error answer (RFC 9457).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub(crate) struct ProblemBody {
    /// Which kind of error: a URN that does not change.
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
    /// The fields that are to blame, where fields are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    errors: Vec<FieldError>,
}

/// Turns every error answer into a problem that names the request: those of handlers, and the bare
/// ones of routers and layers below.
pub(super) async fn render(request: Request, next: Next) -> Response {
    let id = request.extensions().get::<RequestId>().cloned().unwrap_or_default();
    let mut response = next.run(request).await;
    let status = response.status();
    if !status.is_client_error() && !status.is_server_error() {
        return response;
    }
    let error = response.extensions_mut().remove::<ApiError>().unwrap_or_else(|| match status {
        StatusCode::NOT_FOUND => ApiError::new(Kind::NotFound, "see /docs for what there is"),
        StatusCode::METHOD_NOT_ALLOWED => ApiError::new(Kind::MethodNotAllowed, "see the Allow header"),
        _ => ApiError::new(Kind::Internal, "this is a bug: please report it with the instance"),
    });
    let body = ProblemBody {
        kind: format!("urn:roster:problem:{}", error.kind.slug()),
        title: error.kind.title(),
        status: error.kind.status().as_u16(),
        detail: error.detail,
        instance: format!("urn:roster:request:{}", id.0),
        errors: error.errors,
    };
    let mut out = (error.kind.status(), Json(body)).into_response();
    let headers = out.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    match error.kind {
        Kind::Busy | Kind::Timeout | Kind::NotReady => {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        Kind::MediaType => {
            headers.insert(header::ACCEPT, HeaderValue::from_static("application/json, application/yaml"));
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip, identity"));
        }
        // The rest of the body is not read: the connection cannot be used again.
        Kind::TooLarge | Kind::BodyTimeout => {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        _ => {}
    }
    if let Some(allow) = response.headers_mut().remove(header::ALLOW) {
        headers.insert(header::ALLOW, allow);
    }
    out
}

/// The answer to a panic: fixed, so that nothing leaks.
#[expect(clippy::needless_pass_by_value, reason = "tower-http hands it over")]
pub(super) fn panicked(panic: Box<dyn std::any::Any + Send>) -> Response {
    let what = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    tracing::error!(panic = what.unwrap_or("?"), "a handler panicked");
    ApiError::new(Kind::Internal, "this is a bug: please report it with the instance").into_response()
}
