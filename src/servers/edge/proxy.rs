//! Requests that the API server answers: bodies are streamed both ways, and upgrades passed on.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::Request,
    http::{HeaderValue, Response, StatusCode},
};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::{
    io::copy_bidirectional,
    sync::{OwnedSemaphorePermit, Semaphore},
};

use super::{
    api_server::{ApiServer, ApiServerError},
    proxied_headers::{prepare_request, prepare_response, set_upgrade, upgrade},
};
use crate::runtime::{net::Health, status_error::StatusError};

/// The most connections that are upgraded at once: `kubectl exec`, `attach` and `port-forward`.
const UPGRADES: usize = 256;
/// After how many seconds a client may try again while the API server is away.
pub(super) const RETRY: u16 = 1;

/// Passes requests on to the API server.
#[derive(Debug)]
pub(super) struct Proxy {
    pub(super) api: Arc<ApiServer>,
    upgrades: Arc<Semaphore>,
    health: Health,
}

impl Proxy {
    pub(super) fn new(api: Arc<ApiServer>, health: Health) -> Self {
        Self { api, upgrades: Arc::new(Semaphore::new(UPGRADES)), health }
    }

    /// Sends a request to the API server as the client sent it, with its credentials.
    pub(super) async fn forward(&self, mut request: Request) -> Result<Response<Body>, StatusError> {
        let of_client: Option<OnUpgrade> = request.extensions_mut().remove();
        let protocol = prepare_request(request.headers_mut());
        let place = match protocol {
            Some(_) => Some(self.upgrades.clone().try_acquire_owned().map_err(|_| too_many_upgrades())?),
            None => None,
        };
        let (mut head, body) = request.into_parts();
        // What the connection of the client knows means nothing to the other one.
        head.extensions.clear();
        let mut response = self.api.send(Request::from_parts(head, body)).await?;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            prepare_response(response.headers_mut());
            return Ok(response);
        }
        let agreed = upgrade(response.headers());
        let (Some(of_client), Some(protocol), Some(place)) = (of_client, agreed, place) else {
            return Err(StatusError::new(StatusCode::BAD_GATEWAY, "InternalError", "an upgrade that nobody asked for"));
        };
        Ok(self.switch(of_client, response, protocol, place))
    }

    /// Joins both connections when they are upgraded, until one of them ends, or the server.
    fn switch(
        &self,
        of_client: OnUpgrade,
        mut response: Response<Body>,
        protocol: HeaderValue,
        place: OwnedSemaphorePermit,
    ) -> Response<Body> {
        let of_api_server = hyper::upgrade::on(&mut response);
        let stopping = self.health.stopping();
        tokio::spawn(async move {
            let _held = place;
            let (Ok(client), Ok(api_server)) = tokio::join!(of_client, of_api_server) else {
                return tracing::debug!("a connection was not upgraded");
            };
            let (mut client, mut api_server) = (TokioIo::new(client), TokioIo::new(api_server));
            tokio::select! {
                ended = copy_bidirectional(&mut client, &mut api_server) => {
                    if let Err(error) = ended {
                        tracing::debug!(%error, "an upgraded connection failed");
                    }
                }
                () = stopping => {}
            }
        });
        let (mut head, _) = response.into_parts();
        head.extensions.clear();
        prepare_response(&mut head.headers);
        set_upgrade(&mut head.headers, protocol);
        Response::from_parts(head, Body::empty())
    }
}

fn too_many_upgrades() -> StatusError {
    StatusError::new(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", "too many upgraded connections")
        .retry_after(RETRY)
}

impl From<ApiServerError> for StatusError {
    fn from(error: ApiServerError) -> Self {
        if let ApiServerError::Away(cause) = &error {
            tracing::debug!(error = format!("{cause:#}"), "the API server cannot be reached");
        }
        match error {
            ApiServerError::Path => Self::unreadable(error.to_string()),
            ApiServerError::Away(_) | ApiServerError::Timeout(_) => Self::busy(error.to_string()).retry_after(RETRY),
        }
    }
}
