//! Requests that the API server answers: bodies are streamed both ways, and upgrades passed on.

use std::{io, sync::Arc, time::Duration};

use axum::{
    body::Body,
    extract::Request,
    http::{HeaderValue, Response, StatusCode},
};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt, copy, split},
    time::timeout,
};

use super::{
    api_server::{ApiServer, ApiServerError},
    proxied_bodies::{ProxiedRequestBody, ProxiedResponseBody},
    proxied_headers::{prepare_request, prepare_response, set_upgrade, upgrade},
};
use crate::runtime::{
    net::{Activity, ActivityStage, Exchange, Health, Holding, Ledger},
    places::{Place, Places},
    status_error::StatusError,
};
use crate::servers::edge::{
    access::{
        caller::{CallerDigest, has_token},
        caller_places,
    },
    metrics::LISTENER,
};

/// The most requests that the API server answers at once: of clients to whom it answered others lately, and of strangers.
const OF_KNOWN_PEERS: u64 = 192;
const OF_STRANGERS: u64 = 64;
/// How long the end of an upgraded connection may take.
const GOODBYE: Duration = Duration::from_secs(1);
/// After how many seconds a client may try again while the API server is away.
pub(crate) const RETRY: u16 = 1;

/// Why there is no answer of the API server.
#[derive(Debug)]
pub(crate) enum ForwardError {
    /// It did not answer, or it cannot be asked for this client. What is known here may do.
    OutOfReach(StatusError),
    /// The request cannot be passed on, or the answer cannot.
    Refused(StatusError),
}

/// Passes requests on to the API server.
#[derive(Debug)]
pub(crate) struct Proxy {
    pub(crate) api: Arc<ApiServer>,
    upgrades: Places,
    of_known_peers: Ledger,
    of_strangers: Ledger,
    health: Health,
}

impl Proxy {
    pub(crate) fn new(api: Arc<ApiServer>, health: Health) -> Self {
        let of_known_peers = health.ledger(LISTENER, "proxied-requests", OF_KNOWN_PEERS);
        let of_strangers = health.ledger(LISTENER, "proxied-requests-of-strangers", OF_STRANGERS);
        Self { api, upgrades: caller_places::of_upgrades(), of_known_peers, of_strangers, health }
    }

    /// Sends a request to the API server as the client sent it, with its credentials.
    pub(crate) async fn forward(
        &self,
        caller: Option<CallerDigest>,
        mut request: Request,
    ) -> Result<Response<Body>, ForwardError> {
        let no_place = |what| ForwardError::Refused(too_many(what));
        let of_client: Option<OnUpgrade> = request.extensions_mut().remove();
        let protocol = prepare_request(request.headers_mut());
        let place = match protocol {
            Some(_) => Some(self.upgrades.take(caller, ()).ok_or_else(|| no_place("upgraded connections"))?),
            None => None,
        };
        let (mut head, body) = request.into_parts();
        let exchange = Exchange::of(&head.extensions);
        let held = self.place(&exchange).ok_or_else(|| no_place("requests to the API server"))?;
        // Before an API server, who has no token is anonymous, and that may be anybody.
        let has_token = has_token(&head.headers);
        // What the connection of the client knows means nothing to the other one.
        head.extensions.clear();
        let (body, end) = ProxiedRequestBody::wrap(body);
        let mut response = self.api.send(Request::from_parts(head, body)).await?;
        if has_token && response.status().is_success() {
            exchange.credit();
        }
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            prepare_response(response.headers_mut());
            return Ok(response.map(|body| ProxiedResponseBody::wrap(body, end, held)));
        }
        let agreed = upgrade(response.headers());
        let (Some(of_client), Some(protocol), Some(place)) = (of_client, agreed, place) else {
            let why = "an upgrade that nobody asked for";
            return Err(ForwardError::Refused(StatusError::new(StatusCode::BAD_GATEWAY, "InternalError", why)));
        };
        Ok(self.switch(of_client, response, protocol, place))
    }

    /// A place of a request, which nobody takes away: to send one after the other would cost the API server more.
    fn place(&self, exchange: &Exchange) -> Option<Holding> {
        let stays = Activity::connection();
        stays.set(ActivityStage::Computing);
        let of_known_peers = exchange.has_credit().then(|| self.of_known_peers.take(exchange.peer, 1, &stays));
        of_known_peers.flatten().or_else(|| self.of_strangers.take(exchange.peer, 1, &stays))
    }

    /// Joins both connections when they are upgraded, until one of them ends, or the server.
    fn switch(
        &self,
        of_client: OnUpgrade,
        mut response: Response<Body>,
        protocol: HeaderValue,
        place: Place,
    ) -> Response<Body> {
        let of_api_server = hyper::upgrade::on(&mut response);
        let stopping = self.health.stopping();
        tokio::spawn(async move {
            let _held = place;
            let (Ok(client), Ok(api_server)) = tokio::join!(of_client, of_api_server) else {
                return tracing::debug!("a connection was not upgraded");
            };
            tokio::select! {
                ended = join_until_one_ends(TokioIo::new(client), TokioIo::new(api_server)) => {
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

/// Copies both ways until one side ends, as the upgrades of an API server do (`upgradeaware`): the other side may never end,
/// and the protocols that are upgraded to have an end of their own.
async fn join_until_one_ends(
    client: impl AsyncRead + AsyncWrite,
    api_server: impl AsyncRead + AsyncWrite,
) -> io::Result<()> {
    let ((mut from_client, mut to_client), (mut from_api_server, mut to_api_server)) =
        (split(client), split(api_server));
    let copied = tokio::select! {
        copied = copy(&mut from_client, &mut to_api_server) => copied,
        copied = copy(&mut from_api_server, &mut to_client) => copied,
    };
    let goodbye = async { tokio::join!(to_client.shutdown(), to_api_server.shutdown()) };
    // A side that reads nothing more does not keep the place.
    let _ = timeout(GOODBYE, goodbye).await;
    copied.map(drop)
}

/// There is no place; the client may try again.
pub(crate) fn too_many(what: &str) -> StatusError {
    StatusError::new(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", format!("too many {what}")).retry_after(RETRY)
}

impl From<ForwardError> for StatusError {
    fn from(error: ForwardError) -> Self {
        match error {
            ForwardError::OutOfReach(error) | ForwardError::Refused(error) => error,
        }
    }
}

impl From<ApiServerError> for ForwardError {
    fn from(error: ApiServerError) -> Self {
        match error {
            ApiServerError::Path => Self::Refused(error.into()),
            ApiServerError::Away(_) | ApiServerError::Timeout(_) => Self::OutOfReach(error.into()),
        }
    }
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

#[cfg(test)]
mod tests {
    use std::{
        net::SocketAddr,
        sync::atomic::{AtomicU64, Ordering},
    };

    use axum::http::{Extensions, header::AUTHORIZATION};
    use futures::FutureExt;
    use tokio::{
        io::{AsyncReadExt, duplex},
        task::JoinHandle,
        time::sleep,
    };

    use super::*;
    use crate::runtime::net::Peer;

    /// A proxy before an API server that counts requests and answers none.
    fn silent() -> (Arc<Proxy>, Arc<AtomicU64>) {
        let count = Arc::<AtomicU64>::default();
        let arrived = count.clone();
        let api = ApiServer::at("https://192.0.2.1:6443".parse().unwrap(), move |_| {
            arrived.fetch_add(1, Ordering::Relaxed);
            std::future::pending().boxed()
        });
        (Arc::new(Proxy::new(Arc::new(api), Health::default())), count)
    }

    /// Sends a request of a peer.
    fn send(proxy: &Arc<Proxy>, peer: u8, has_credit: bool) -> JoinHandle<StatusCode> {
        let mut exchange = Exchange::of(&Extensions::new());
        exchange.peer = Peer::of(SocketAddr::from(([10, 0, 0, peer], 0)));
        if has_credit {
            exchange.credit();
        }
        let mut request = Request::new(Body::empty());
        request.extensions_mut().insert(exchange);
        let proxy = proxy.clone();
        tokio::spawn(async move {
            proxy
                .forward(None, request)
                .await
                .map_or_else(|error| StatusError::from(error).code, |response| response.status())
        })
    }

    #[tokio::test(start_paused = true)]
    async fn the_api_server_gets_a_bounded_number_of_requests() {
        let (proxy, count) = silent();
        for (peer, has_credit, want) in [
            // An eighth is left to those who have little.
            (1, false, OF_STRANGERS * 7 / 8),
            (2, false, 1),
            // Those with credit have places of their own, and each finds one among those of strangers.
            (3, true, OF_KNOWN_PEERS * 7 / 8 + 1),
            (4, true, OF_KNOWN_PEERS / 64 + 1),
        ] {
            count.store(0, Ordering::Relaxed);
            let requests: Vec<_> = (0..OF_KNOWN_PEERS).map(|_| send(&proxy, peer, has_credit)).collect();
            // Paused time goes on when no task can.
            sleep(Duration::from_millis(1)).await;
            assert_eq!(count.load(Ordering::Relaxed), want, "{peer}");
            for refused in requests.into_iter().filter(JoinHandle::is_finished) {
                assert_eq!(refused.await.unwrap(), StatusCode::TOO_MANY_REQUESTS, "{peer}");
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_upgraded_connection_ends_with_one_of_its_sides() {
        for client_ends in [true, false] {
            // The one side ends after its last word, which the other one still gets.
            let ((near, mut of_client), (far, mut of_api_server)) = (duplex(64), duplex(64));
            let joined = tokio::spawn(join_until_one_ends(near, far));
            let (mut ends, stays) =
                if client_ends { (of_client, &mut of_api_server) } else { (of_api_server, &mut of_client) };
            ends.write_all(b"the last word").await.unwrap();
            drop(ends);
            let mut read = String::new();
            stays.read_to_string(&mut read).await.unwrap();
            assert_eq!(read, "the last word", "{client_ends}");
            joined.await.unwrap().unwrap();
        }
    }

    #[tokio::test]
    async fn only_a_token_that_the_api_server_accepts_earns_credit() {
        let api = ApiServer::at("https://192.0.2.1:6443".parse().unwrap(), |_| {
            std::future::ready(Ok(Response::new(Body::empty()))).boxed()
        });
        let proxy = Proxy::new(Arc::new(api), Health::default());
        for (authorization, want) in [("Basic YQ==", false), ("Bearer  a", false), ("Bearer a", true)] {
            let exchange = Exchange::of(&Extensions::new());
            let mut request = Request::new(Body::empty());
            request.headers_mut().insert(AUTHORIZATION, HeaderValue::from_static(authorization));
            request.extensions_mut().insert(exchange.clone());
            assert_eq!(proxy.forward(None, request).await.unwrap().status(), StatusCode::OK);
            assert_eq!(exchange.has_credit(), want, "{authorization}");
        }
    }
}
