//! The limits of a review, and the response to one that exceeds them.

use std::time::Duration;

/// How the validating webhook responds to a review that it did not check: it came too late or with too many others, it
/// cannot be read, or a rule has a bug. The mutating one always allows: it protects nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailureMode {
    /// With an error, so that the failure policy of the webhook configuration decides, as for a webhook that does not
    /// respond: `Fail` denies, `Ignore` allows and leaves an audit annotation.
    #[default]
    Policy,
    /// Allow, with a warning.
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
    /// The memory of the bodies of all reviews, in bytes. When it is short, the client that takes the most of it loses
    /// the body that arrives most slowly, with 503 and without `Retry-After`: the failure policy of the API server decides.
    pub memory: usize,
    /// The same for conversions, with their responses until these are read.
    pub conversion_memory: usize,
    /// The least average pace of a body in bytes per second, after ten seconds of grace.
    pub body_pace: u32,
    /// The longest time from the head of a request to its decision. An API server waits for 30 s at most; a shorter
    /// `?timeout=` counts instead.
    pub request: Duration,
    /// Reviews over 32 KiB, or with much to compare, that are computed at once; clients take turns, and the users of each. Of
    /// those over 1 MiB, one fewer, but at least one.
    pub large: usize,
    /// Conversions that are computed at once, and as many over 1 MiB. Any client may send very large ones; they do not delay
    /// reviews.
    pub conversions: usize,
    /// The large reviews, and the conversions, that may wait, and those over 1 MiB; of more than that, the client with the most
    /// loses one.
    pub queue: usize,
}

impl Default for WebhookLimits {
    fn default() -> Self {
        Self {
            review: 7 << 20,
            conversion: 32 << 20,
            memory: 64 << 20,
            conversion_memory: 48 << 20,
            body_pace: 16 << 10,
            request: Duration::from_secs(30),
            large: std::thread::available_parallelism().map_or(1, usize::from),
            conversions: 1,
            queue: 64,
        }
    }
}
