//! The limits of a request. Most are flags of `roster serve`.

use std::time::Duration;

use tokio::sync::Semaphore;

/// Bodies up to this size need no permit of large bodies: they take about a millisecond.
pub(crate) const SMALL: usize = 1 << 20;

/// The limits of a REST request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestLimits {
    /// The size of a body in bytes after decompression; a larger one is answered with 413.
    pub body: usize,
    /// The same for `POST /v1/cluster`, whose body is read as it arrives and never buffered as a whole.
    pub cluster_body: u64,
    /// Concurrent requests; one more is answered with 429.
    pub requests: usize,
    /// Concurrent requests of `POST /v1/cluster`: each uses all cores.
    pub cluster_requests: usize,
    /// Bodies over 1 MiB, or compressed, that are parsed and planned at once; others wait after they have arrived.
    /// All bodies together may take `large` times `body` of memory while they arrive; one that would take more is
    /// answered with 429. The first 1 MiB of each is not counted: `requests` limits it.
    pub large: usize,
    /// The longest pause between two pieces of a body.
    pub body_idle: Duration,
    /// The average pace of a body in bytes per second, after one `body_idle` of grace. Only the time in which the
    /// server waits for the client counts.
    pub body_rate: usize,
    /// The longest time from the head of a request to the head of its answer.
    pub request: Duration,
    /// The same for `POST /v1/cluster`; also the longest time its answer may take.
    pub cluster_request: Duration,
}

impl Default for RestLimits {
    fn default() -> Self {
        Self {
            body: 64 << 20,
            cluster_body: 1 << 30,
            requests: 64,
            cluster_requests: 2,
            large: 4,
            body_idle: Duration::from_secs(10),
            // Every connection that can send 1 MiB within `request` is fast enough.
            body_rate: 16 << 10,
            request: Duration::from_mins(1),
            cluster_request: Duration::from_mins(5),
        }
    }
}

impl RestLimits {
    /// The mebibytes that all bodies together may take, beyond the first mebibyte of each.
    pub(super) fn memory(&self) -> usize {
        self.body.div_ceil(SMALL).saturating_mul(self.large).min(Semaphore::MAX_PERMITS)
    }
}
