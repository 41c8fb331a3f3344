//! Errors as RFC 9457 problems: a table of kinds, and the value that says what is wrong with a request.

use roster_engine::{code_table, model::Interrupted};
use serde::Serialize;

code_table! {
    /// The kinds of errors of a request. A call gives some of them; the others are those of a server.
    pub enum ProblemKind {
        /// The HTTP status of the response.
        status: u16,
        /// The last part of the problem type.
        slug: &'static str,
        /// The title of the problem.
        title: &'static str,
    }

    /// The body is not JSON, YAML, UTF-8 or gzip, is truncated, or is nested too deeply.
    MalformedBody(400, "malformed-body", "The body cannot be read");
    /// A query parameter is missing, unknown, or has an invalid value.
    InvalidQuery(400, "invalid-query", "A query parameter is missing or invalid");
    /// The client closed the connection, or broke the framing, while it sent the body.
    BrokenBody(400, "broken-body", "The body ended early");
    /// The body can be read, but contains an object that cannot be used.
    InvalidObject(422, "invalid-object", "The body does not contain what this call needs");
    /// The server requires a token, and the request has none, or another one.
    Unauthorized(401, "unauthorized", "The request needs a valid token");
    /// The call needs a token for the API server of the cluster, and has none that it accepts.
    ClusterToken(401, "cluster-token", "The cluster needs a valid token");
    /// The host that the request names is not one of this server.
    Host(403, "host", "The host is not a name of this server");
    /// The path does not exist.
    NotFound(404, "not-found", "The path does not exist");
    /// The query names a Service of which the body has nothing.
    ServiceNotFound(404, "service-not-found", "The body does not have the Service");
    /// The path does not support this method.
    MethodNotAllowed(405, "method-not-allowed", "The path does not support this method");
    /// The body arrives too slowly.
    BodyTimeout(408, "body-timeout", "The body did not arrive in time");
    /// The body has too many bytes after decompression, too many objects, or objects that take too much memory.
    TooLarge(413, "too-large", "The body exceeds a limit");
    /// The media type is neither JSON nor YAML, or the encoding is not gzip.
    MediaType(415, "media-type", "The media type or encoding is not supported");
    /// Too many requests are in progress.
    Busy(429, "busy", "Too many requests at once");
    /// A bug in Roster.
    Internal(500, "internal", "Internal error");
    /// The API server of the cluster does not answer, or not as an API server does.
    ClusterAway(502, "cluster-away", "The cluster does not answer");
    /// The response took too long.
    Timeout(503, "timeout", "The response was not ready in time");
    /// The server is starting or stopping.
    NotReady(503, "not-ready", "The server is starting or stopping");
}

impl ProblemKind {
    /// The type of the problem: a stable URN.
    pub fn urn(self) -> String {
        format!("urn:roster:problem:{}", self.slug())
    }
}

/// A field or parameter that is in error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InputError {
    /// JSON pointer (RFC 6901) into the posted body; empty for the body itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// Name of a query parameter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameter: Option<String>,
    /// What is wrong with it.
    pub detail: String,
}

impl InputError {
    /// An error in a field of the body.
    pub fn at(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { pointer: Some(pointer.into()), parameter: None, detail: detail.into() }
    }
}

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The kind of error.
    pub kind: ProblemKind,
    /// What is wrong with this request.
    pub detail: String,
    /// The fields or parameters that are in error, if any.
    pub errors: Vec<InputError>,
}

impl Problem {
    /// A problem that is about no single field.
    pub fn new(kind: ProblemKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), errors: Vec::new() }
    }

    /// A problem with a query parameter.
    pub fn of_parameter(name: &str, detail: String) -> Self {
        // What a client sends may be of any length.
        let parameter = Some(name.chars().take(80).collect());
        let error = InputError { pointer: None, parameter, detail: detail.clone() };
        Self { errors: vec![error], ..Self::new(ProblemKind::InvalidQuery, detail) }
    }

    /// The document of RFC 9457. `instance` is the URI of the request, where requests have one.
    pub fn document(&self, instance: Option<String>) -> ProblemDocument<'_> {
        ProblemDocument {
            kind: self.kind.urn(),
            title: self.kind.title(),
            status: self.kind.status(),
            detail: &self.detail,
            instance,
            errors: &self.errors,
        }
    }
}

impl From<Interrupted> for Problem {
    /// Hardly anybody reads it: work is interrupted when its client is gone or has been answered.
    fn from(why: Interrupted) -> Self {
        Self::new(ProblemKind::Timeout, why.to_string())
    }
}

/// The text of a problem (RFC 9457), as it is sent.
#[derive(Debug, Serialize)]
pub struct ProblemDocument<'p> {
    #[serde(rename = "type")]
    kind: String,
    title: &'static str,
    status: u16,
    detail: &'p str,
    #[serde(skip_serializing_if = "Option::is_none")]
    instance: Option<String>,
    #[serde(skip_serializing_if = "<[InputError]>::is_empty")]
    errors: &'p [InputError],
}

impl ProblemDocument<'_> {
    /// The media type of the document.
    pub const CONTENT_TYPE: &'static str = "application/problem+json";

    /// The document as JSON.
    pub fn to_json(&self) -> Vec<u8> {
        // Plain values always serialize.
        serde_json::to_vec(self).unwrap_or_default()
    }
}
