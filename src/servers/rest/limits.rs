//! How much a request may cost. Everything here is a flag of `roster serve`.

use std::time::Duration;

/// Bounds of one server's requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestLimits {
    /// Bytes of a body, after decompression; more is answered with 413.
    pub body: usize,
    /// The same for `POST /v1/cluster`, whose body is read as it arrives and never held as a whole.
    pub cluster_body: u64,
    /// Requests that are computed at once; one more is answered with 429.
    pub requests: usize,
    /// Whole-cluster requests at once: each uses all cores by itself.
    pub cluster_requests: usize,
    /// Bodies over 1 MiB, or compressed, that are parsed and planned at once; others wait when they are all there.
    /// All bodies together may take `large` times `body` in memory while they arrive; one that would take more is
    /// answered with 429. The first 1 MiB of each is not counted: `requests` bounds it.
    pub large: usize,
    /// Longest pause between two pieces of a body.
    pub body_idle: Duration,
    /// Bytes a second that a body must bring on average, after one `body_idle` for free. Only the time counts in
    /// which the server waits for the client.
    pub body_rate: usize,
    /// Longest time from the head of a request to the head of its answer.
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
            // Slow enough for every line that could send 1 MiB within `request`.
            body_rate: 16 << 10,
            request: Duration::from_mins(1),
            cluster_request: Duration::from_mins(5),
        }
    }
}
