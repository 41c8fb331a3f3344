//! `x-request-id`: the id of the client if it is usable, otherwise a number; every answer repeats it.

use std::{
    hash::{BuildHasher, RandomState},
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
};

use axum::{
    extract::Request,
    http::{HeaderName, HeaderValue, request},
};
use tower_http::request_id::{MakeRequestId, RequestId};

pub(super) const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// Distinguishes processes; not a secret.
static PROCESS: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(std::process::id()));
static NEXT: AtomicU64 = AtomicU64::new(1);

/// A new id.
pub(super) fn new() -> String {
    format!("{:016x}-{:x}", *PROCESS, NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Ids of the process and the number of the request.
#[derive(Clone, Copy)]
pub(super) struct NumberedRequestId;

impl MakeRequestId for NumberedRequestId {
    fn make_request_id<B>(&mut self, _: &request::Request<B>) -> Option<RequestId> {
        HeaderValue::try_from(new()).ok().map(RequestId::new)
    }
}

/// Removes an id that is too long for a log, or would need quoting in one: more than 64 characters, or others than
/// letters, digits and `-_.`.
pub(super) async fn remove_unusable(mut request: Request) -> Request {
    let usable = |id: &HeaderValue| {
        let id = id.as_bytes();
        (1..=64).contains(&id.len()) && id.iter().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(b))
    };
    if request.headers().get(HEADER).is_some_and(|id| !usable(id)) {
        request.headers_mut().remove(HEADER);
    }
    request
}

/// The id of a request as text.
pub(super) fn of(request: &Request) -> String {
    let id = request.extensions().get::<RequestId>().and_then(|id| id.header_value().to_str().ok());
    id.unwrap_or_default().to_owned()
}
