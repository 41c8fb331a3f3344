//! What the reviews of one webhook share, and its routes.

use std::sync::Arc;

use axum::{Router, http::StatusCode, routing::post};
use roster_admission::Knowledge;
use tokio::sync::Semaphore;

use super::{AdmissionMetrics, FailureMode, SettingsSource, WebhookLimits, conversion_handler, review_handler};
use crate::runtime::{
    net::{Health, Ledger},
    status_error::StatusError,
    workers::Workers,
};

/// The name of the webhook's listener in metrics.
pub(super) const LISTENER: &str = "webhook";

/// What the reviews of one webhook share.
pub struct Webhook {
    pub(super) cluster: Arc<dyn Knowledge>,
    pub(super) settings: Arc<dyn SettingsSource>,
    pub(super) metrics: AdmissionMetrics,
    pub(super) limits: WebhookLimits,
    pub(super) failure_mode: FailureMode,
    /// The threads of large reviews.
    pub(super) large: Workers,
    /// One large review that no worker decided is read whole at a time, only to be answered.
    pub(super) whole: Arc<Semaphore>,
    /// The threads of conversions.
    pub(super) conversions: Workers,
    /// The memory of the bodies of reviews, and of large responses.
    pub(super) memory: Ledger,
    /// The same for conversions.
    pub(super) conversion_memory: Ledger,
}

impl std::fmt::Debug for Webhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Webhook").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl Webhook {
    /// A webhook that knows `cluster` and takes its settings from `settings`.
    pub fn new(
        cluster: Arc<dyn Knowledge>,
        settings: Arc<dyn SettingsSource>,
        metrics: AdmissionMetrics,
        limits: WebhookLimits,
        failure_mode: FailureMode,
        health: &Health,
    ) -> Arc<Self> {
        let large = Workers::new(limits.large, limits.queue);
        let conversions = Workers::new(limits.conversions, limits.queue);
        let memory = health.ledger(LISTENER, "memory", limits.memory as u64);
        let conversion_memory = health.ledger(LISTENER, "conversion memory", limits.conversion_memory as u64);
        Arc::new(Self {
            cluster,
            settings,
            metrics,
            limits,
            failure_mode,
            large,
            whole: Arc::new(Semaphore::new(1)),
            conversions,
            memory,
            conversion_memory,
        })
    }
}

/// The routes of the webhook. They accept any query.
pub fn router(webhook: Arc<Webhook>) -> Router {
    Router::new()
        .route("/mutate", post(review_handler::mutate))
        .route("/validate", post(review_handler::validate))
        .route("/convert", post(conversion_handler::convert))
        .method_not_allowed_fallback(|| async { StatusError::method("reviews are sent with POST") })
        .fallback(|| async { StatusError::new(StatusCode::NOT_FOUND, "NotFound", "the path does not exist") })
        .with_state(webhook)
}
