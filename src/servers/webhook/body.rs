//! Bodies of reviews: media type, and limits of size, time, pace and memory.

use std::time::Duration;

use axum::{
    body::Body,
    http::{HeaderMap, StatusCode, header},
};

use super::{WebhookLimits, deadline::Deadline};
use crate::runtime::{
    net::{self, BodyError, BodyLimits, Exchange, Ledger, ReceivedBody},
    status_error::StatusError,
};

/// The longest pause of a client. The pace counts from here on.
const GRACE: Duration = Duration::from_secs(10);

/// Checks that the headers announce uncompressed JSON.
pub(super) fn check(headers: &HeaderMap) -> Result<(), StatusError> {
    let unsupported =
        |message: String| StatusError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", message);
    if let Some(value) = headers.get(header::CONTENT_TYPE) {
        let essence = value.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim();
        if !essence.eq_ignore_ascii_case("application/json") {
            return Err(unsupported(format!("Content-Type is {essence:.80}; reviews are application/json")));
        }
    }
    match headers.get(header::CONTENT_ENCODING) {
        Some(value) if value != "identity" => Err(unsupported("compressed reviews are not supported".to_owned())),
        _ => Ok(()),
    }
}

/// Receives a body of at most `size` bytes, as long as the deadline allows.
pub(super) async fn receive(
    body: Body,
    size: usize,
    limits: &WebhookLimits,
    memory: &Ledger,
    deadline: Deadline,
    exchange: &Exchange,
) -> Result<ReceivedBody, StatusError> {
    let limits = BodyLimits { size: size as u64, idle: GRACE, pace: limits.body_pace, deadline: Some(deadline.0) };
    net::receive(body, limits, memory, exchange).await.map_err(StatusError::from)
}

impl From<BodyError> for StatusError {
    fn from(error: BodyError) -> Self {
        match error {
            BodyError::TooLarge(limit) => {
                let message = format!("the body has more than {limit} bytes");
                Self::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message)
            }
            BodyError::TooSlow => Self::new(StatusCode::REQUEST_TIMEOUT, "Timeout", "the body did not arrive in time"),
            BodyError::Broken(error) => Self::unreadable(format!("the body ended early: {error}")),
            BodyError::NoMemory => Self::busy("other bodies take all memory"),
        }
    }
}
