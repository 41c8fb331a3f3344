//! How much a request may cost. Everything here is a flag of `roster serve`.

use std::time::Duration;

/// Bounds of one server's requests.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of a body, after decompression; more is answered with 413.
    pub body: usize,
    /// The same for `POST /v1/cluster`, whose body is read as it arrives and never held as a whole.
    pub cluster_body: u64,
    /// Requests that are computed at once; one more is answered with 429.
    pub requests: usize,
    /// Whole-cluster requests at once: each uses all cores by itself.
    pub cluster_requests: usize,
    /// Bodies over 1 MiB that are held, parsed and planned at once; others of that size wait.
    pub large: usize,
    /// Longest pause between two pieces of a body.
    pub body_idle: Duration,
    /// Longest time from the head of a request to the head of its answer.
    pub request: Duration,
    /// The same for `POST /v1/cluster`; also the longest time its answer may take.
    pub cluster_request: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 64 << 20,
            cluster_body: 1 << 30,
            requests: 64,
            cluster_requests: 2,
            large: 4,
            body_idle: Duration::from_secs(10),
            request: Duration::from_mins(1),
            cluster_request: Duration::from_mins(5),
        }
    }
}
