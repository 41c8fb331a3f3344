//! `x-request-id`: taken from the client if it is sane, made otherwise, and given back with every answer.

use std::{
    hash::{BuildHasher, RandomState},
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
};

use axum::{
    extract::Request,
    http::{HeaderName, HeaderValue},
    middleware::Next,
    response::Response,
};

pub(super) const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// The id of the request, among its extensions.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestId(pub String);

/// Tells processes apart; not a secret.
static PROCESS: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(std::process::id()));
static NEXT: AtomicU64 = AtomicU64::new(1);

/// Up to 64 letters, digits and `-_.`: short enough for every log, and it needs no quoting in any.
fn sane(id: &str) -> bool {
    (1..=64).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}

pub(super) async fn assign(mut request: Request, next: Next) -> Response {
    let given = request.headers().get(HEADER).and_then(|v| v.to_str().ok()).filter(|id| sane(id));
    let id =
        given.map_or_else(|| format!("{:016x}-{:x}", *PROCESS, NEXT.fetch_add(1, Ordering::Relaxed)), str::to_owned);
    request.extensions_mut().insert(RequestId(id.clone()));
    let mut response = next.run(request).await;
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(HEADER, value);
    }
    response
}
