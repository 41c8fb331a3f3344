//! The routes of the REST API, and the `OpenAPI` document that is made from them.

use std::sync::{Arc, LazyLock};

use axum::{Extension, Router, middleware, routing};
use tower_http::{
    catch_panic::CatchPanicLayer,
    request_id::{PropagateRequestIdLayer, SetRequestIdLayer},
};
use utoipa::OpenApi;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    RestAccess, RestApp, cluster, compare, compat, convert, desired,
    document::{self, DocumentText, DocumentTexts},
    example_answers, explain, health, lint, live, observe, openapi30, page, picture, plan, problem,
    request_id::{self, NumberedRequestId},
    review,
    schema::k8s::with_definitions,
    view,
};
use crate::runtime::pretty_json::pretty_json;

/// The documented routes, in the order of the document.
fn documented() -> OpenApiRouter<Arc<RestApp>> {
    OpenApiRouter::with_openapi(document::OpenApiHead::openapi())
        .routes(routes!(plan::plan))
        .routes(routes!(compare::compare))
        .routes(routes!(desired::endpoints))
        .routes(routes!(desired::endpoint_slices))
        .routes(routes!(explain::explain))
        .routes(routes!(picture::picture))
        .routes(routes!(cluster::cluster))
        .routes(routes!(view::view))
        .routes(routes!(convert::convert))
        .routes(routes!(review::review))
        .routes(routes!(lint::lint))
        .routes(routes!(compat::compat))
        .routes(routes!(compat::differences))
        .routes(routes!(document::openapi))
        .routes(routes!(document::openapi_30))
        .routes(routes!(health::healthz))
        .routes(routes!(health::livez))
        .routes(routes!(health::readyz))
        .routes(routes!(health::metrics))
}

/// The `OpenAPI` document as it is committed: indented, with a line feed at the end.
pub fn openapi_json() -> String {
    pretty_json(&document_text())
}

/// The same document as `OpenAPI` 3.0.
pub fn openapi_30_json() -> String {
    // What was just written parses, and plain values always serialize.
    let document = serde_json::from_str(&document_text()).unwrap_or_default();
    pretty_json(&openapi30::of(document).to_string())
}

/// The document without line feeds.
fn document_text() -> String {
    let mut document = documented().into_openapi();
    example_answers::add(&mut document);
    // A document of plain values always serializes.
    let document = serde_json::to_string(&document).unwrap_or_default();
    with_definitions(&document).unwrap_or_default()
}

/// Both documents, each made when it is first requested.
const TEXTS: DocumentTexts = DocumentTexts {
    current: || {
        static TEXT: LazyLock<DocumentText> = LazyLock::new(|| DocumentText::new(openapi_json()));
        &TEXT
    },
    of_30: || {
        static TEXT: LazyLock<DocumentText> = LazyLock::new(|| DocumentText::new(openapi_30_json()));
        &TEXT
    },
};

/// The REST API, for everybody who reaches it.
pub fn router(app: Arc<RestApp>) -> Router {
    guarded(app, RestAccess::default())
}

/// The REST API, for those that `access` admits.
pub fn guarded(app: Arc<RestApp>, access: RestAccess) -> Router {
    let (router, _) = documented().split_for_parts();
    let router = router
        // The script of the page calls it, and nobody else: it is not described.
        .route("/v1/page", routing::post(page::page))
        .with_state(app.clone())
        .merge(live::routes(app.clone()))
        .route("/sample", routing::get(document::sample))
        .merge(page::files(app.live.is_some()))
        .merge(document::page())
        .layer(Extension(TEXTS))
        .layer(CatchPanicLayer::custom(problem::panicked));
    access
        .guard(router)
        .layer(middleware::from_fn(problem::render))
        .layer(middleware::from_fn_with_state(app, observe::observe))
        .layer(PropagateRequestIdLayer::new(request_id::HEADER))
        .layer(SetRequestIdLayer::new(request_id::HEADER, NumberedRequestId))
        .layer(middleware::map_request(request_id::remove_unusable))
}
