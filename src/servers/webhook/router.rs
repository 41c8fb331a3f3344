//! The routes of the webhook.

use std::sync::Arc;

use axum::{Router, http::StatusCode, routing::post};

use super::{Webhook, admission_review, conversion_review, status_error::StatusError};

/// The routes of the webhook. They accept any query.
pub fn router(webhook: Arc<Webhook>) -> Router {
    Router::new()
        .route("/mutate", post(admission_review::mutate))
        .route("/validate", post(admission_review::validate))
        .route("/convert", post(conversion_review::convert))
        .method_not_allowed_fallback(|| async { StatusError::method() })
        .fallback(|| async { StatusError::new(StatusCode::NOT_FOUND, "NotFound", "the path does not exist") })
        .with_state(webhook)
}
