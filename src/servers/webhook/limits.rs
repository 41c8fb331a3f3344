//! The limits of a review, and the answer to one that exceeds them.

use std::time::Duration;

/// The answer of the validating webhook to a review that it could not check in time. The mutating one always allows: it
/// protects nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailureMode {
    /// Allow, with a warning.
    #[default]
    Open,
    /// Deny.
    Closed,
}

/// The limits of the webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookLimits {
    /// The size of an admission review in bytes. An API server accepts objects of up to 3 MiB; a review contains the old
    /// object as well, and some text of its own.
    pub review: usize,
    /// The size of a conversion review in bytes; it may contain a whole list.
    pub conversion: usize,
    /// The memory of all bodies in bytes; a quarter of it is for the first 64 KiB of each. A body that would take more is
    /// answered with 503, without `Retry-After`: the failure policy of the API server decides.
    pub memory: usize,
    /// The longest time from the head of a request to its decision. An API server waits for 30 s at most; a shorter
    /// `?timeout=` counts instead.
    pub request: Duration,
    /// Reviews over 256 KiB that are computed at once.
    pub large: usize,
    /// Conversions that are computed at once. Any client may send very large ones; they do not delay reviews.
    pub conversions: usize,
    /// The large reviews, and the conversions, that may wait; one more is answered at once, unchecked.
    pub queue: usize,
}

impl Default for WebhookLimits {
    fn default() -> Self {
        Self {
            review: 7 << 20,
            conversion: 64 << 20,
            memory: 256 << 20,
            request: Duration::from_secs(30),
            large: 2,
            conversions: 1,
            queue: 64,
        }
    }
}
