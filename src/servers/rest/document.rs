//! The `OpenAPI` document and the page that shows it.

use axum::{
    Extension, Router,
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
};
use utoipa::{
    Modify, OpenApi,
    openapi::{
        OpenApi as OpenApiDocument,
        security::{Http, HttpAuthScheme, SecurityScheme},
    },
};
use utoipa_swagger_ui::{Config, SwaggerUi};

use super::{
    content_encoding, problem_responses,
    schema::{answer::ClusterLineSchema, problem::ProblemSchema},
};
use crate::runtime::browser_text::text_headers;

/// The head of the `OpenAPI` document: what it says besides the routes.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Roster",
        description = "Which pods serve this Service, for whom, and why: the answers of Kubernetes' Endpoints, \
            EndpointSlice and EndpointSliceMirroring controllers, computed from posted objects. Nothing is stored, \
            and no cluster is touched.\n\n\
            Bodies are JSON or YAML, with `Content-Encoding: gzip` if they are compressed. Errors are \
            `application/problem+json` (RFC 9457) with a JSON pointer to each field that is to blame; their \
            `instance` is the `x-request-id` of the answer. A client may choose that id: up to 64 letters, digits \
            and `-_.`.",
        contact(name = "Roster"),
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    servers((url = "/", description = "This server")),
    tags(
        (name = "compute", description = "From objects to decisions"),
        (name = "about", description = "What this server knows and how it is"),
    ),
    components(schemas(ProblemSchema, ClusterLineSchema)),
    modifiers(&BearerScheme),
    security((), ("bearer" = [])),
)]
pub(super) struct OpenApiHead;

/// The security scheme of the calls that need a token, if the server has a token file.
struct BearerScheme;

impl Modify for BearerScheme {
    fn modify(&self, document: &mut OpenApiDocument) {
        let mut scheme = Http::new(HttpAuthScheme::Bearer);
        scheme.description = Some("A token of the server's `--token-file`, if it has one.".to_owned());
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("bearer", SecurityScheme::Http(scheme));
    }
}

/// The text of a document, and the same as gzip; `None` if that fails.
pub(super) struct DocumentText {
    plain: String,
    gzip: Option<Vec<u8>>,
}

impl DocumentText {
    pub(super) fn new(plain: String) -> Self {
        Self { gzip: content_encoding::gzip(&plain).ok(), plain }
    }

    fn answer(&'static self, headers: &HeaderMap) -> Response {
        let common = [(header::CONTENT_TYPE, "application/json"), (header::VARY, "accept-encoding")];
        match &self.gzip {
            Some(gzip) if content_encoding::accepts_gzip(headers) => {
                (common, [(header::CONTENT_ENCODING, "gzip")], gzip.as_slice()).into_response()
            }
            _ => (common, self.plain.as_str()).into_response(),
        }
    }
}

/// The documents. The routes make them, and two of them serve them.
#[derive(Clone, Copy)]
pub(super) struct DocumentTexts {
    pub(super) current: fn() -> &'static DocumentText,
    /// As `OpenAPI` 3.0.
    pub(super) of_30: fn() -> &'static DocumentText,
}

/// This document
///
/// The `OpenAPI` description of this API.
#[utoipa::path(
    get,
    path = "/openapi.json",
    tag = "about",
    responses((status = 200, description = "OpenAPI 3.1.", body = Object), problem_responses::OpenProblems),
    security(()),
)]
pub(super) async fn openapi(Extension(texts): Extension<DocumentTexts>, headers: HeaderMap) -> Response {
    (texts.current)().answer(&headers)
}

/// This document, for older generators
///
/// The same as `OpenAPI` 3.0, with JSON as the only media type of bodies.
#[utoipa::path(
    get,
    path = "/openapi-3.0.json",
    tag = "about",
    responses((status = 200, description = "OpenAPI 3.0.", body = Object), problem_responses::OpenProblems),
    security(()),
)]
pub(super) async fn openapi_30(Extension(texts): Extension<DocumentTexts>, headers: HeaderMap) -> Response {
    (texts.of_30)().answer(&headers)
}

/// Swagger UI, served from the binary: no script, font or validator is loaded from elsewhere.
pub(super) fn page() -> Router {
    // A relative path also works behind a path prefix.
    // Nobody comes for the schemas: they are below the calls, folded.
    let config = Config::new(["../openapi.json"])
        .validator_url("none")
        .try_it_out_enabled(true)
        .default_models_expand_depth(0)
        .use_base_layout();
    Router::from(SwaggerUi::new("/docs").config(config))
        .layer(middleware::from_fn(content_encoding::decompress))
        .layer(middleware::from_fn(page_headers))
}

/// What a browser may do with the page: load nothing from elsewhere, run no script that a text brings along, and show it within no
/// other page. Swagger UI sets styles on its elements, and has pictures within its style sheet.
const PAGE_HEADERS: [(HeaderName, HeaderValue); 4] = [
    (
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(
            "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; \
             connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        ),
    ),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
];

async fn page_headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    response.headers_mut().extend(PAGE_HEADERS);
    response
}

/// A small cluster to try the API with, as kubectl prints it.
const SAMPLE: &str = include_str!("../../../examples/shop.yaml");

/// The sample cluster, so that the first call needs no file.
pub(super) async fn sample(headers: HeaderMap) -> impl IntoResponse {
    (text_headers("application/yaml", &headers), SAMPLE)
}
