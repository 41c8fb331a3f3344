//! A cluster for callers who bring a token of their own: Roster's own identity is never used.
//!
//! Of the configuration, only the address and the CA of the API server are kept. What is sent is a GET with the token of the caller. No
//! redirect is followed, so that the token goes nowhere else. An answer is read only as far as the byte budget of its caller allows.

mod byte_budget;
mod event;

use std::{fmt, time::Duration};

use anyhow::{Context, ensure};
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use http::{HeaderValue, Method, Request, header::AUTHORIZATION};
use kube::{
    Client,
    client::Body,
    config::AuthInfo,
    runtime::{utils::StreamBackoff, watcher::DefaultBackoff},
};
use roster_engine::{
    model::{Resource, ResourceScope},
    profile::Minor,
};
use tower::BoxError;

pub(crate) use byte_budget::ByteBudget;
pub(crate) use event::{CallerEvent, CallerFailure};

use super::{
    RequestMetrics,
    cluster::{CONNECT, ClusterChoice, SILENCE},
    connect::{LiveError, config},
    http_client,
    list::server_version,
    watch_events::{ListStreaming, WatchPlace, WatchTimes, watch_events},
};

/// A cluster for callers who bring a token of their own.
pub(crate) struct CallerCluster {
    /// Without an identity.
    client: Client,
    streaming: ListStreaming,
}

impl fmt::Debug for CallerCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallerCluster").finish_non_exhaustive()
    }
}

impl CallerCluster {
    /// Sets up the client. Nothing is sent yet.
    pub(crate) async fn connect(choice: &ClusterChoice) -> anyhow::Result<Self> {
        let mut config = config(choice).await?;
        let address = config.cluster_url.to_string();
        ensure!(
            config.cluster_url.scheme_str() == Some("https"),
            "tokens are not sent to {address}: it is not an address with TLS"
        );
        ensure!(
            !config.accept_invalid_certs,
            "tokens are not sent to {address}: insecure-skip-tls-verify would let anybody answer for it"
        );
        config.auth_info = AuthInfo::default();
        config.headers = Vec::new();
        config.default_retry = false;
        config.connect_timeout = Some(CONNECT);
        config.read_timeout = Some(SILENCE);
        config.reset_reader_on_write = true;
        let client = http_client::client_of(config, &RequestMetrics::default());
        Ok(Self::of(client.with_context(|| format!("the client of {address}"))?))
    }

    /// A cluster behind this client, which has no identity.
    pub(crate) fn of(client: Client) -> Self {
        Self { client, streaming: ListStreaming::default() }
    }

    /// The cluster as the caller with this token sees it. `budget` bounds what is read of all answers together.
    pub(crate) fn as_caller(&self, token: &CallerToken, budget: &ByteBudget) -> Caller {
        let (inner, token, budget) = (self.client.clone(), token.0.clone(), budget.clone());
        let send = move |mut request: Request<Body>| {
            let (inner, token, budget) = (inner.clone(), token.clone(), budget.clone());
            async move {
                if request.method() != Method::GET {
                    return Err(BoxError::from("only GET requests carry the token of a caller"));
                }
                budget.take_request()?;
                request.headers_mut().insert(AUTHORIZATION, token);
                Ok(inner.send(request).await?.map(|body| budget.limit(body)))
            }
        };
        let client = Client::new(tower::service_fn(send), self.client.default_namespace());
        Caller { client, streaming: self.streaming.clone() }
    }
}

/// A token of a caller for the API server. It is not printed.
#[derive(Clone, Debug)]
pub(crate) struct CallerToken(HeaderValue);

impl CallerToken {
    /// The longest token: those of identity providers have some KiB.
    const LONGEST: usize = 16 << 10;

    /// The token of this text; `None` if it cannot be one (RFC 6750).
    pub(crate) fn of(text: &str) -> Option<Self> {
        let is_of_token = |b: u8| b.is_ascii_alphanumeric() || b"-._~+/=".contains(&b);
        if text.is_empty() || text.len() > Self::LONGEST || !text.bytes().all(is_of_token) {
            return None;
        }
        let mut value = HeaderValue::try_from(format!("Bearer {text}")).ok()?;
        value.set_sensitive(true);
        Some(Self(value))
    }
}

/// A cluster as one caller sees it.
pub(crate) struct Caller {
    client: Client,
    streaming: ListStreaming,
}

impl Caller {
    /// The release of the cluster, if there is a profile of it. Every caller with a valid token may ask for it.
    pub(crate) async fn release(&self, limit: Duration) -> Result<Option<Minor>, CallerFailure> {
        match server_version(&self.client, limit).await {
            Ok(version) => Ok(version.parse().ok()),
            Err(LiveError::Request(_, error)) => Err(CallerFailure::of(&error)),
            Err(error) => Err(CallerFailure { code: None, text: error.to_string() }),
        }
    }

    /// The objects of a resource in a namespace, or in all, and their changes. It ends after a final failure.
    pub(crate) fn events(&self, resource: Resource, namespace: Option<&str>) -> BoxStream<'static, CallerEvent> {
        let namespace = namespace.filter(|_| resource.scope() == ResourceScope::Namespaced).map(str::to_owned);
        let place = WatchPlace { resource, namespace, times: WatchTimes::OF_KUBE };
        let events = watch_events(self.client.clone(), place, self.streaming.clone());
        let events = StreamBackoff::new(events, DefaultBackoff::default()).boxed();
        let until_final = stream::unfold(Some(events), async |events| {
            let mut events = events?;
            let event = match events.next().await? {
                Ok(event) => CallerEvent::of(event),
                Err(error) => CallerEvent::Failed(CallerFailure::of_watch(&error)),
            };
            let is_last = matches!(&event, CallerEvent::Failed(failure) if failure.is_final());
            Some((event, (!is_last).then_some(events)))
        });
        until_final.boxed()
    }
}
