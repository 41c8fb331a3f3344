//! The REST API: `POST /v1/plan` and its siblings, with their documentation in the same place.
//!
//! ```text
//! request_id → observe → problem::render → catch panic → time-out ┬─ shed → body → decode → plan → JSON
//!                                                                 └─ health, metrics, documentation
//! ```

mod body;
mod compute;
mod health;
mod limits;
mod observe;
mod plan;
mod problem;
mod request_id;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use axum::{Router, middleware, routing};
use tokio::sync::Semaphore;
use tower_http::catch_panic::CatchPanicLayer;

use crate::telemetry::metrics::Metrics;
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
}

impl App {
    /// A server with these limits, not ready yet.
    pub fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self {
            requests: Arc::new(Semaphore::new(limits.requests)),
            large: Arc::new(Semaphore::new(limits.large)),
            metrics: Metrics::default(),
            ready: AtomicBool::new(false),
            limits,
        })
    }

    /// Whether `/readyz` says yes: from the first accept to the begin of the shutdown.
    pub fn set_ready(&self, ready: bool) {
        self.ready.store(ready, Ordering::Release);
    }
}

/// The whole API.
pub fn router(app: Arc<App>) -> Router {
    let router = Router::new()
        .route("/v1/plan", routing::post(plan::plan))
        .route("/healthz", routing::get(health::healthz))
        .route("/livez", routing::get(health::livez))
        .route("/readyz", routing::get(health::readyz))
        .with_state(app.clone());
    router
        .layer(CatchPanicLayer::custom(problem::panicked))
        .layer(middleware::from_fn(problem::render))
        .layer(middleware::from_fn_with_state(app, observe::observe))
        .layer(middleware::from_fn(request_id::assign))
}
