//! The doors that API servers knock at: `POST /mutate`, `/validate` and `/convert`.
//!
//! ```text
//! connection ─► body (bounded: size, time, memory) ─► admission::read_review ─► settings ─► admission::decide ─► answer
//! ```
//!
//! An API server takes every answer but a review with its uid for a failure of the webhook, and may then refuse the
//! write, or let it pass unseen. So whoever sends an uid gets a review with status 200, whatever else is wrong; other
//! refusals are a `metav1.Status`.
//!
//! Small reviews are decided where they are read, which takes some microseconds; large ones on threads of their own,
//! a few at once. Nothing is compressed and no review has a log line above `debug`: what counts is the answer's time.

mod body;
pub mod cluster;
mod convert;
mod deadline;
pub mod emergency;
mod limits;
mod policies;
mod review;
mod status;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::{Router, http::StatusCode, routing::post};
use tokio::sync::Semaphore;

pub use limits::{FailureMode, Limits};
pub(crate) use policies::told;
pub use policies::{InForce, Policies};

use crate::{admission::Knowledge, runtime::telemetry::metrics::AdmissionMetrics};
use status::Refusal;

/// What all reviews share.
pub struct Webhook {
    cluster: Arc<dyn Knowledge>,
    policies: Arc<dyn Policies>,
    metrics: AdmissionMetrics,
    limits: Limits,
    failure_mode: FailureMode,
    large: Turns,
    conversions: Turns,
    room: body::Room,
}

/// Requests that are computed at once, and those that wait for their turn.
struct Turns {
    turns: Arc<Semaphore>,
    queue: Arc<Semaphore>,
}

impl Turns {
    fn new(at_once: usize, waiting: usize) -> Self {
        Self { turns: Arc::new(Semaphore::new(at_once)), queue: Arc::new(Semaphore::new(at_once + waiting)) }
    }
}

impl std::fmt::Debug for Webhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Webhook").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl Webhook {
    /// A webhook that asks `cluster` and `policies`.
    pub fn new(
        cluster: Arc<dyn Knowledge>,
        policies: Arc<dyn Policies>,
        metrics: AdmissionMetrics,
        limits: Limits,
        failure_mode: FailureMode,
    ) -> Arc<Self> {
        let large = Turns::new(limits.large, limits.queue);
        let conversions = Turns::new(limits.conversions, limits.queue);
        let room = body::Room::new(limits.room);
        Arc::new(Self { cluster, policies, metrics, limits, failure_mode, large, conversions, room })
    }
}

/// The webhook's paths. They take any query.
pub fn router(webhook: Arc<Webhook>) -> Router {
    Router::new()
        .route("/mutate", post(review::mutate))
        .route("/validate", post(review::validate))
        .route("/convert", post(convert::convert))
        .method_not_allowed_fallback(|| async { Refusal::method() })
        .fallback(|| async { Refusal::new(StatusCode::NOT_FOUND, "NotFound", "there is nothing at this path") })
        .with_state(webhook)
}
