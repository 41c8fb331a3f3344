//! The limits of a request. Most are flags of `roster serve`.

use std::time::Duration;

use roster_calls::CallLimits;

use crate::runtime::net::BodyLimits;

/// Most pods that the Services of a body of `POST /v1/cluster` may have to choose from, counted for each Service: a pod can
/// be selected by any number of Services, and is in the answer for each.
pub(super) const MAX_CANDIDATES: usize = 100_000;

/// How many more there may be for each Service and pod of the body.
pub(super) const CANDIDATES_PER_OBJECT: usize = 10;

/// The size in bytes of the longest answer of `POST /v1/cluster` to a body of no bytes: ports can be repeated as pods can.
pub(super) const MAX_CLUSTER_ANSWER: u64 = 256 << 20;

/// By how many bytes an answer may be longer for each byte of the body.
pub(super) const ANSWER_PER_BYTE: u64 = 16;

/// The limits of a REST request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestLimits {
    /// The size of a body in bytes after decompression, and for YAML an eighth of it; a larger one is answered with 413.
    pub body: usize,
    /// The same for `POST /v1/cluster`, whose body is read as it arrives and never buffered as a whole.
    pub cluster_body: u64,
    /// The requests that are computed at once; clients take turns. Of those with long bodies, one fewer, but at least one.
    pub threads: usize,
    /// The requests that may wait for that. With one more, the one that would be computed last gets 429.
    pub requests: usize,
    /// Concurrent requests of `POST /v1/cluster`: each uses all cores. As many may wait as for the others.
    pub cluster_requests: usize,
    /// How long a body of `POST /v1/cluster` may take while another request waits.
    pub cluster_turn: Duration,
    /// The memory of all bodies, and of their responses until these are read, in bytes. When it is short, the client that
    /// takes the most of it loses the slowest request, or gets 429.
    pub memory: usize,
    /// The memory that the objects of a body may take, in bytes; with more, the response is 413.
    pub body_objects: usize,
    /// The same for `POST /v1/cluster`.
    pub cluster_objects: usize,
    /// The memory that the objects of all bodies may take at once. When it is short, clients with incomplete bodies that
    /// take the most of it lose their requests, or the request gets 429.
    pub object_memory: usize,
    /// The longest pause between two pieces of a body.
    pub body_idle: Duration,
    /// The least average pace of a body in bytes per second, after one `body_idle` of grace. Only the time in which the
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
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            requests: 256,
            cluster_requests: 2,
            cluster_turn: Duration::from_secs(10),
            memory: 128 << 20,
            body_objects: 64 << 20,
            cluster_objects: 248 << 20,
            object_memory: 288 << 20,
            body_idle: Duration::from_secs(10),
            // Every connection that can send 1 MiB within `request` is fast enough.
            body_rate: 16 << 10,
            request: Duration::from_mins(1),
            cluster_request: Duration::from_mins(5),
        }
    }
}

impl RestLimits {
    /// The limits of one call.
    pub(super) fn call(&self) -> CallLimits {
        // All calls share the memory of objects: none of them gets more than half of it for its computation.
        CallLimits { body: self.body, objects: self.body_objects, computation: self.object_memory / 2 }
    }

    /// The limits of a body of at most `size` bytes.
    pub(super) fn of_body(&self, size: u64) -> BodyLimits {
        let pace = u32::try_from(self.body_rate).unwrap_or(u32::MAX);
        BodyLimits { size, idle: self.body_idle, pace, deadline: None }
    }
}
