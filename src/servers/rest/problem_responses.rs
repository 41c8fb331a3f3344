//! Error responses in the `OpenAPI` document, from the table of [`ProblemKind`].

use std::collections::BTreeMap;

use roster_calls::{ProblemDocument, ProblemKind};
use serde_json::json;
use utoipa::{
    IntoResponses, ToSchema,
    openapi::{
        ContentBuilder, HeaderBuilder, ObjectBuilder, Ref, RefOr, Response, ResponseBuilder, ResponsesBuilder,
        schema::Type,
    },
};

use super::schema::problem::ProblemSchema;

/// The errors of a call that reads a body.
pub(super) struct BodyProblems;

/// The errors of a call that reads a body and finds a Service in it.
pub(super) struct ServiceProblems;

/// The errors of a call that reads only a query.
pub(super) struct QueryProblems;

/// The errors of `/readyz`.
pub(super) struct ReadinessProblems;

/// The errors of `/metrics`.
pub(super) struct MetricsProblems;

/// The errors of a call that reads nothing and needs no token.
pub(super) struct OpenProblems;

impl IntoResponses for BodyProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        document(of_bodies().filter(|kind| *kind != ProblemKind::ServiceNotFound))
    }
}

impl IntoResponses for ServiceProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        document(of_bodies())
    }
}

fn of_bodies() -> impl Iterator<Item = ProblemKind> {
    let others =
        [ProblemKind::NotFound, ProblemKind::MethodNotAllowed, ProblemKind::ClusterToken, ProblemKind::ClusterAway];
    ProblemKind::ALL.iter().copied().filter(move |kind| !others.contains(kind))
}

impl IntoResponses for QueryProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let kinds = [ProblemKind::InvalidQuery, ProblemKind::Unauthorized, ProblemKind::Host, ProblemKind::Internal];
        document(kinds.into_iter())
    }
}

impl IntoResponses for ReadinessProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        document([ProblemKind::Host, ProblemKind::NotReady].into_iter())
    }
}

impl IntoResponses for MetricsProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        document([ProblemKind::Unauthorized, ProblemKind::Host].into_iter())
    }
}

impl IntoResponses for OpenProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        document([ProblemKind::Host].into_iter())
    }
}

/// A response for each status, with an example of each kind.
fn document(kinds: impl Iterator<Item = ProblemKind>) -> BTreeMap<String, RefOr<Response>> {
    let mut by_status: BTreeMap<u16, Vec<ProblemKind>> = BTreeMap::new();
    for kind in kinds {
        by_status.entry(kind.status()).or_default().push(kind);
    }
    let mut responses = ResponsesBuilder::new();
    for (status, kinds) in by_status {
        let description: Vec<String> = kinds.iter().map(|k| format!("`{}`: {}", k.slug(), k.meaning())).collect();
        let examples = kinds.iter().map(|k| {
            let value = json!({
                "type": k.urn(), "title": k.title(), "status": status,
                "detail": k.meaning(), "instance": "urn:roster:request:6b1f-2a",
            });
            (k.slug(), utoipa::openapi::example::ExampleBuilder::new().value(Some(value)).build())
        });
        let content = ContentBuilder::new()
            .schema(Some(Ref::from_schema_name(ProblemSchema::name())))
            .examples_from_iter(examples)
            .build();
        let mut response = ResponseBuilder::new()
            .description(description.join("\n\n"))
            .content(ProblemDocument::CONTENT_TYPE, content)
            .header("x-request-id", header(Type::String, "The id of the request, as in the log."));
        if status == 401 {
            response = response.header("WWW-Authenticate", header(Type::String, "`Bearer`."));
        }
        if matches!(status, 429 | 503) {
            response = response.header("Retry-After", header(Type::Integer, "Seconds to wait."));
        }
        responses = responses.response(status.to_string(), response);
    }
    responses.build().into()
}

fn header(kind: Type, description: &str) -> utoipa::openapi::header::Header {
    HeaderBuilder::new().schema(Some(ObjectBuilder::new().schema_type(kind))).description(Some(description)).build()
}
