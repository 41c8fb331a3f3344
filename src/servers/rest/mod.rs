//! The REST API: `POST /v1/plan` and its siblings, with their documentation in the same place.
//!
//! ```text
//! request_id → observe → problem::render → catch panic → time-out ┬─ shed → body → decode → plan → JSON
//!                                                                 └─ health, metrics, documentation
//! ```

mod body;
mod cluster;
mod compat;
mod compute;
mod convert;
mod docs;
mod endpoints;
mod endpointslices;
mod explain;
mod health;
mod input;
mod limits;
mod observe;
mod params;
mod plan;
mod problem;
mod refusals;
mod request_id;
mod review;
mod schema;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use axum::{Router, middleware, routing};
use tokio::sync::Semaphore;
use tower_http::catch_panic::CatchPanicLayer;
use utoipa::OpenApi;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::runtime::telemetry::metrics::Metrics;
pub use docs::openapi_json;
pub use limits::Limits;

/// What all requests of one server share.
#[derive(Debug)]
pub struct App {
    /// Bounds of a request.
    pub limits: Limits,
    /// Numbers.
    pub metrics: Metrics,
    ready: AtomicBool,
    requests: Arc<Semaphore>,
    large: Arc<Semaphore>,
    /// Mebibytes that bodies may still take in memory.
    room: Arc<Semaphore>,
    cluster_requests: Arc<Semaphore>,
}

impl App {
    /// A server with these limits, not ready yet.
    pub fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self {
            requests: Arc::new(Semaphore::new(limits.requests)),
            large: Arc::new(Semaphore::new(limits.large)),
            room: Arc::new(Semaphore::new(body::room(&limits))),
            cluster_requests: Arc::new(Semaphore::new(limits.cluster_requests)),
            metrics: Metrics::default(),
            ready: AtomicBool::new(false),
            limits,
        })
    }

    /// Whether `/readyz` says yes: from the first accept to the begin of the shutdown.
    pub fn set_ready(&self, ready: bool) {
        self.ready.store(ready, Ordering::Release);
    }

    /// What was said last.
    pub(crate) fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }
}

/// Every call that is documented, in the order of the document.
fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::with_openapi(docs::Document::openapi())
        .routes(routes!(plan::plan))
        .routes(routes!(endpoints::endpoints))
        .routes(routes!(endpointslices::endpointslices))
        .routes(routes!(explain::explain))
        .routes(routes!(cluster::cluster))
        .routes(routes!(convert::convert))
        .routes(routes!(review::review))
        .routes(routes!(compat::compat))
        .routes(routes!(docs::openapi))
        .routes(routes!(health::healthz))
        .routes(routes!(health::livez))
        .routes(routes!(health::readyz))
        .routes(routes!(health::metrics))
}

/// The whole API.
pub fn router(app: Arc<App>) -> Router {
    let (router, _) = routes().split_for_parts();
    router
        .with_state(app.clone())
        .route("/", routing::get(docs::index))
        .route("/sample", routing::get(docs::sample))
        .merge(docs::page())
        .layer(CatchPanicLayer::custom(problem::panicked))
        .layer(middleware::from_fn(problem::render))
        .layer(middleware::from_fn_with_state(app, observe::observe))
        .layer(middleware::from_fn(request_id::assign))
}
