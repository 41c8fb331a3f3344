//! Error answers in the document, from the table of [`Kind`].

use std::collections::BTreeMap;

use serde_json::json;
use utoipa::{
    IntoResponses, ToSchema,
    openapi::{
        ContentBuilder, HeaderBuilder, ObjectBuilder, Ref, RefOr, Response, ResponseBuilder, ResponsesBuilder,
        schema::Type,
    },
};

use super::problem::{Kind, ProblemBody};

/// What a call that reads a body may answer beside 200.
pub(super) struct OfBody;

/// What a call that only has a query may answer beside 200.
pub(super) struct OfQuery;

/// What `/readyz` may answer beside 200.
pub(super) struct OfReadiness;

impl IntoResponses for OfBody {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        document(Kind::ALL.iter().copied().filter(|k| !matches!(k, Kind::NotFound | Kind::MethodNotAllowed)))
    }
}

impl IntoResponses for OfQuery {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        document([Kind::InvalidQuery, Kind::Internal].into_iter())
    }
}

impl IntoResponses for OfReadiness {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        document([Kind::NotReady].into_iter())
    }
}

/// One answer per status, with an example of each kind.
fn document(kinds: impl Iterator<Item = Kind>) -> BTreeMap<String, RefOr<Response>> {
    let mut by_status: BTreeMap<u16, Vec<Kind>> = BTreeMap::new();
    for kind in kinds {
        by_status.entry(kind.status().as_u16()).or_default().push(kind);
    }
    let mut responses = ResponsesBuilder::new();
    for (status, kinds) in by_status {
        let description: Vec<String> = kinds.iter().map(|k| format!("`{}`: {}", k.slug(), k.meaning())).collect();
        let examples = kinds.iter().map(|k| {
            let value = json!({
                "type": format!("urn:roster:problem:{}", k.slug()), "title": k.title(), "status": status,
                "detail": k.meaning(), "instance": "urn:roster:request:6b1f-2a",
            });
            (k.slug(), utoipa::openapi::example::ExampleBuilder::new().value(Some(value)).build())
        });
        let content = ContentBuilder::new()
            .schema(Some(Ref::from_schema_name(ProblemBody::name())))
            .examples_from_iter(examples)
            .build();
        let mut response = ResponseBuilder::new()
            .description(description.join("\n\n"))
            .content("application/problem+json", content)
            .header("x-request-id", header(Type::String, "The id of the request, as in the log."));
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
