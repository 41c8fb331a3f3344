//! The API server as clients reach it through the node proxy: with their own credentials, and never with those of Roster.

use std::{
    fmt, io,
    net::{SocketAddr, ToSocketAddrs},
    sync::Arc,
    task::{self, Poll},
    time::Duration,
};

use anyhow::Context;
use axum::{
    body::{Body, to_bytes},
    http::{Request, Response, Uri, Version, uri::PathAndQuery},
};
use futures::future::{BoxFuture, FutureExt};
use hyper_util::{
    client::legacy::{
        Client,
        connect::{HttpConnector, dns::Name},
    },
    rt::{TokioExecutor, TokioTimer},
};
use kube::{client::ConfigExt, config::AuthInfo};
use tokio::{sync::Semaphore, task::spawn_blocking, time::timeout};
use tower::Service;

use crate::kube_api;

/// Longest time to connect.
const CONNECT: Duration = Duration::from_secs(3);
/// Longest time until the head of a response: API servers end a request that is not a watch after a minute.
const RESPONSE: Duration = Duration::from_secs(75);
/// How long a connection may be idle.
const IDLE: Duration = Duration::from_mins(1);
/// Idle connections.
const IDLE_CONNECTIONS: usize = 16;
/// Largest body of a request of the proxy itself.
const MAX_OWN_BODY: usize = 256 << 10;

/// Sends requests to the API server.
pub(crate) struct ApiServer {
    base: Uri,
    send: Box<dyn Fn(Request<Body>) -> SentRequest + Send + Sync>,
}

/// A response, or why there is none.
type SentRequest = BoxFuture<'static, anyhow::Result<Response<Body>>>;

impl fmt::Debug for ApiServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiServer").field("base", &self.base).finish_non_exhaustive()
    }
}

/// Why the API server does not respond.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApiServerError {
    /// The API server cannot be reached.
    #[error("the API server cannot be reached")]
    Away(#[source] anyhow::Error),
    /// The API server takes too long.
    #[error("no response from the API server within {} seconds", .0.as_secs())]
    Timeout(Duration),
    /// The path does not fit to that of the API server.
    #[error("the path cannot be sent to the API server")]
    Path,
}

impl ApiServer {
    /// The API server of a configuration, whose credentials are left out.
    pub(crate) fn new(config: &kube::Config) -> anyhow::Result<Self> {
        let mut anonymous = config.clone();
        anonymous.auth_info = AuthInfo::default();
        let mut connector = HttpConnector::new_with_resolver(NameLookups::default());
        connector.enforce_http(false);
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(CONNECT));
        kube_api::probe_silent_connections(&mut connector);
        let connector = anonymous
            .rustls_https_connector_with_connector(connector)
            .with_context(|| format!("the client of {}", config.cluster_url))?;
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(IDLE_CONNECTIONS)
            .build(connector);
        Ok(Self::at(config.cluster_url.clone(), move |request| {
            client.request(request).map(|sent| Ok(sent?.map(Body::new))).boxed()
        }))
    }

    /// The API server with the identity of the proxy: for questions about its clients. Nothing that a client sends goes there.
    pub(crate) fn of_proxy(client: kube::Client) -> Self {
        // The client puts the URL before the path.
        Self::at(Uri::from_static("/"), move |request| {
            let client = client.clone();
            async move {
                let (head, body) = request.into_parts();
                let body = to_bytes(body, MAX_OWN_BODY).await?.to_vec();
                let request = Request::from_parts(head, kube::client::Body::from(body));
                Ok(client.send(request).await?.map(Body::new))
            }
            .boxed()
        })
    }

    /// An API server at a URL, to which `send` sends requests.
    pub(crate) fn at(base: Uri, send: impl Fn(Request<Body>) -> SentRequest + Send + Sync + 'static) -> Self {
        Self { base, send: Box::new(send) }
    }

    /// Sends a request, whose target is a path.
    pub(crate) async fn send(&self, request: Request<Body>) -> Result<Response<Body>, ApiServerError> {
        self.send_within(request, RESPONSE).await
    }

    /// The same with another time limit.
    pub(crate) async fn send_within(
        &self,
        mut request: Request<Body>,
        limit: Duration,
    ) -> Result<Response<Body>, ApiServerError> {
        *request.uri_mut() = self.uri(request.uri().path_and_query()).ok_or(ApiServerError::Path)?;
        *request.version_mut() = Version::HTTP_11;
        let sent = timeout(limit, (self.send)(request)).await.map_err(|_| ApiServerError::Timeout(limit))?;
        sent.map_err(ApiServerError::Away)
    }

    /// The target with scheme and authority of the API server, below its path.
    fn uri(&self, target: Option<&PathAndQuery>) -> Option<Uri> {
        let target = target.map_or("/", PathAndQuery::as_str);
        let path = format!("{}{target}", self.base.path().trim_end_matches('/'));
        let mut parts = self.base.clone().into_parts();
        parts.path_and_query = Some(path.parse().ok()?);
        Uri::from_parts(parts).ok()
    }
}

/// Look-ups at once. All of them are of the same name.
const AT_ONCE: usize = 4;

/// Looks up names. Each look-up blocks a thread, for half a minute if no resolver responds, and every request of a client may
/// need one.
#[derive(Clone)]
struct NameLookups(Arc<Semaphore>);

impl Default for NameLookups {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }
}

impl Service<Name> for NameLookups {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut task::Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let places = self.0.clone();
        async move {
            let place = places.acquire_owned().await.map_err(io::Error::other)?;
            let addresses = spawn_blocking(move || {
                // The thread is taken until the resolver responds, even if nobody waits any more.
                let _place = place;
                (name.as_str(), 0).to_socket_addrs()
            });
            addresses.await.map_err(io::Error::other)?
        }
        .boxed()
    }
}
