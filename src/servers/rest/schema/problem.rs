//! The body of an error response.

use utoipa::ToSchema;

/// The body of every error response (RFC 9457).
#[derive(ToSchema)]
#[schema(as = Problem)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct ProblemSchema {
    /// The kind of error: a stable URN.
    #[schema(rename = "type", example = "urn:roster:problem:invalid-object")]
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
    #[schema(required = false)]
    errors: Vec<FieldErrorSchema>,
}

/// A field or parameter that is in error.
#[derive(ToSchema)]
#[schema(as = FieldError)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct FieldErrorSchema {
    /// JSON pointer (RFC 6901) into the posted body; empty for the body itself.
    #[schema(required = false, nullable = false, example = "/service/spec/ports/0/port")]
    pointer: Option<String>,
    /// Name of a query parameter.
    #[schema(required = false, nullable = false)]
    parameter: Option<String>,
    /// What is wrong with it.
    #[schema(example = "invalid type: string \"http\", expected a 32-bit integer")]
    detail: String,
}
