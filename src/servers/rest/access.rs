//! Who may call: requests that name another host, or lack a token, are refused before anything of them is read.

use std::sync::Arc;

use axum::{
    Router,
    extract::{MatchedPath, Request, State},
    middleware::{self, Next},
    response::{IntoResponse, Response},
};

use roster_calls::ProblemKind;

use super::problem::ApiError;
use crate::runtime::{allowed_hosts::AllowedHosts, bearer_tokens::BearerTokens};

/// What a request must have to be answered.
#[derive(Clone, Debug, Default)]
pub struct RestAccess {
    /// The hosts that it may name; `None`: any.
    pub hosts: Option<AllowedHosts>,
    /// The tokens of which it must present one; `None`: it needs no token.
    pub tokens: Option<Arc<BearerTokens>>,
}

/// Routes that need no token: probes, and what a browser loads before a user can enter one. They answer the same to
/// everybody.
const OPEN: &[&str] = &[
    "/",
    "/healthz",
    "/livez",
    "/openapi-3.0.json",
    "/openapi.json",
    "/page.css",
    "/page.js",
    "/picture.css",
    "/readyz",
    "/sample",
];

impl RestAccess {
    /// Refuses all other requests to `router`.
    pub(super) fn guard(self, mut router: Router) -> Router {
        if let Some(tokens) = self.tokens {
            router = router.layer(middleware::from_fn_with_state(tokens, require_token));
        }
        if let Some(hosts) = self.hosts {
            router = router.layer(middleware::from_fn_with_state(hosts, require_host));
        }
        router
    }
}

async fn require_host(State(hosts): State<AllowedHosts>, request: Request, next: Next) -> Response {
    match hosts.check(request.uri(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(error) => ApiError::new(ProblemKind::Host, error.to_string()).into_response(),
    }
}

async fn require_token(State(tokens): State<Arc<BearerTokens>>, request: Request, next: Next) -> Response {
    if is_open(&request) || tokens.authorize(request.headers()) {
        return next.run(request).await;
    }
    let detail = "send the header `Authorization: Bearer TOKEN` with a token of the server's --token-file";
    ApiError::new(ProblemKind::Unauthorized, detail).into_response()
}

/// Whether the route that answers needs no token. A path without a route needs one.
fn is_open(request: &Request) -> bool {
    let Some(route) = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str) else { return false };
    OPEN.contains(&route) || route == "/docs" || route.starts_with("/docs/")
}
