//! Who may read what the admin listener tells about Services.
//!
//! A client on the same machine may: that is what `kubectl port-forward` reaches. Others need a token, and the API server decides.

use axum::http::{HeaderMap, StatusCode, header, request::Parts};

use crate::{
    kube_api::{ReadRefusal, ReaderReviews},
    runtime::{net::Exchange, status_error::StatusError},
};

/// The readers.
pub(super) struct AdminReaders(ReaderReviews);

impl AdminReaders {
    pub(super) fn new(reviews: ReaderReviews) -> Self {
        Self(reviews)
    }

    /// Whether the client of a request may get a path.
    pub(super) async fn may_get(&self, request: &Parts, path: &str) -> Result<(), StatusError> {
        if Exchange::of(&request.extensions).peer.is_localhost() && is_for_localhost(&request.headers) {
            return Ok(());
        }
        let token = bearer_token(&request.headers).ok_or_else(|| unauthorized("send a bearer token"))?;
        self.0.may_get(token, path).await.map_err(|refusal| refused(&refusal))
    }
}

/// Whether a client asks for this machine by such a name. A browser asks for the name of a page, whatever address it has (DNS
/// rebinding).
fn is_for_localhost(headers: &HeaderMap) -> bool {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    ["localhost", "127.0.0.1", "[::1]"].contains(&name)
}

/// The token of a request that has one.
fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (value, None) = (values.next()?.to_str().ok()?, values.next()) else { return None };
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() && !token.contains(' ')).then_some(token)
}

fn refused(refusal: &ReadRefusal) -> StatusError {
    match refusal {
        ReadRefusal::Unauthenticated => unauthorized(&refusal.to_string()),
        ReadRefusal::Forbidden(_) => StatusError::new(StatusCode::FORBIDDEN, "Forbidden", refusal.to_string()),
        ReadRefusal::Unanswered(_) => StatusError::busy(refusal.to_string()),
    }
}

fn unauthorized(why: &str) -> StatusError {
    StatusError::new(StatusCode::UNAUTHORIZED, "Unauthorized", why)
}
