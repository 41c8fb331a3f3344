//! The routes of the webhook.

use std::sync::Arc;

use axum::{Router, http::StatusCode, routing::post};

use super::{Webhook, conversion_handler, review_handler};
use crate::runtime::status_error::StatusError;

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
