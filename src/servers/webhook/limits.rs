//! How much a review may cost, and what is said where it costs too much.

use std::time::Duration;

/// What the validating webhook says of a review that it could not look at in time. The mutating one always allows:
/// it protects nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailureMode {
    /// Allowed, with a warning.
    #[default]
    Open,
    /// Refused.
    Closed,
}

/// Bounds of the webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of an admission review. An API server takes objects of up to 3 MiB; a review has the old one too, and
    /// some text of its own.
    pub review: usize,
    /// Bytes of a conversion review, which may hold a whole list.
    pub conversion: usize,
    /// Bytes of bodies that are in memory at once; a quarter of them is for the first 64 KiB of each. A body that would
    /// take more is answered with 503, without `Retry-After`: the API server's failure policy decides.
    pub room: usize,
    /// Longest time from the head of a request to its decision. An API server waits for 30 s at most; what it says in
    /// `?timeout=` counts if it is less.
    pub request: Duration,
    /// Reviews over 256 KiB that are computed at once.
    pub large: usize,
    /// Conversions that are computed at once. Anybody may send very large ones: they keep no review from its turn.
    pub conversions: usize,
    /// Those of each that wait for their turn; one more is answered at once, without a look.
    pub queue: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            review: 7 << 20,
            conversion: 64 << 20,
            room: 256 << 20,
            request: Duration::from_secs(30),
            large: 2,
            conversions: 1,
            queue: 64,
        }
    }
}
