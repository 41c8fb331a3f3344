//! `GET /v1/live`: the objects of a cluster as the caller sees them, and their changes, for the page.
//!
//! ```text
//! page ─ Roster-Cluster-Token ─► LiveSession ─ Caller: GET, the caller's token ─► API server
//!      ◄─ NDJSON ── LiveObjects ◄─ project ◄──── lists, watches ◄──────────────┘
//! ```
//!
//! It is there only with `--page-cluster`; the root element of the page then has the attribute `data-live="v1/live"`. The server knows the address and the CA of the API server, and nothing else of the
//! configuration: every request carries the token of the caller, so that the caller sees what it may see.
//!
//! # Request
//!
//! `GET /v1/live?namespace=shop`, or without the parameter for all namespaces, with the header `Roster-Cluster-Token: TOKEN`. The
//! token is one for the API server, such as `kubectl create token` prints. It has a header of its own because
//! `Authorization` is that of this server: with `--token-file`, a call needs both, and neither token may reach the other's
//! server by mistake. Browsers send a header of this name to their own origin only, so that no other page can make the call.
//!
//! Without a usable token, the answer is 401 with the problem `cluster-token`; 502 with `cluster-away` if the API server
//! does not answer; 429 with `busy` if too many follow a cluster; 404 if the server was started without `--page-cluster`.
//!
//! # Answer
//!
//! One JSON object for each line (`application/x-ndjson`):
//!
//! | line | when |
//! |---|---|
//! | `{"cluster":{"release":"1.34"}}` | at once; the release is null if there is no profile of it |
//! | `{"list":{"apiVersion":"v1","kind":"List","items":[…]},"namespaces":[…],"unread":[…]}` | once: all objects; `list` can be the text of a request of the page |
//! | `{"applied":[…],"deleted":[{"kind","namespace","name"}],"namespaces":[…],"unread":[…]}` | after changes, at most once a second |
//! | `{}` | every 15 seconds without another line |
//! | `{"end":{"code":"time","why":"…"}}` | last |
//!
//! `unread` lists the resources that the caller does not see, or not now: `{"resource":"nodes","code":403,"why":"…"}`; `code` is null
//! if there was no answer. Objects that were read before stay until the caller may not see them any more. `namespaces` is there if the
//! names have changed. The page should begin again after the ends `time` and `stopping`, and not by itself after `token`
//! (the API server does not accept it any more), `size` (choose a namespace) or `busy`.
//!
//! Objects have the fields that the engine reads ([`projection`]): neither environment variables nor images, and of annotations
//! those that decide something.

mod cluster_token;
mod live_objects;
mod projection;
mod session;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::{Query, Request, State},
    http::{HeaderName, HeaderValue, StatusCode, Uri, header},
    response::{IntoResponse, Response},
    routing,
};
use futures::stream;
use roster_calls::{Problem, ProblemKind};
use roster_engine::model::dns;

use self::session::LiveSession;
use super::{RestApp, object_memory::ObjectMemory, problem::ApiError};
use crate::{
    kube_api::{ByteBudget, CallerCluster, CallerFailure},
    runtime::{
        net::Exchange,
        places::{PlaceShare, Places},
    },
};

/// Longest time for the first answer of the API server, which says whether it accepts the token.
const FIRST_ANSWER: Duration = Duration::from_secs(10);

/// The cluster that the page shows, and the places of those who follow it.
#[derive(Debug)]
pub(super) struct LiveCluster {
    cluster: CallerCluster,
    places: Places,
    limits: LiveLimits,
}

/// The limits of those who follow a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LiveLimits {
    /// How many callers follow at once; one that comes later finds a place.
    sessions: usize,
    /// How long one follows.
    lasts: Duration,
    /// How long the lists may take. What is not complete then counts as unread.
    lists: Duration,
    /// The bytes that are read from the API server for one caller, lists and changes together.
    read: u64,
}

impl Default for LiveLimits {
    fn default() -> Self {
        Self { sessions: 16, lasts: Duration::from_mins(30), lists: Duration::from_secs(30), read: 256 << 20 }
    }
}

impl LiveCluster {
    pub(super) fn new(cluster: CallerCluster) -> Self {
        Self::within(cluster, LiveLimits::default())
    }

    fn within(cluster: CallerCluster, limits: LiveLimits) -> Self {
        // Nobody waits for a place: the others may follow for long.
        let places = Places::new(limits.sessions, 0, PlaceShare::AsManyAsFree);
        Self { cluster, places, limits }
    }
}

/// The route, if the page shows a cluster.
pub(super) fn routes(app: Arc<RestApp>) -> Router {
    if app.live.is_none() {
        return Router::new();
    }
    Router::new().route("/v1/live", routing::get(live)).with_state(app)
}

/// Follows the cluster.
async fn live(State(app): State<Arc<RestApp>>, request: Request) -> Result<Response, ApiError> {
    let Some(live) = &app.live else { return Err(ApiError::new(ProblemKind::NotFound, "there is no cluster")) };
    let namespace = namespace(request.uri())?;
    let token = cluster_token::read(request.headers())?;
    let exchange = Exchange::of(request.extensions());
    let Some(place) = live.places.take(exchange.peer, ()) else {
        return Err(app.busy("too many follow the cluster"));
    };
    let budget = ByteBudget::new(live.limits.read);
    let caller = live.cluster.as_caller(&token, &budget);
    let release = caller.release(FIRST_ANSWER).await.map_err(not_begun)?;
    let memory = ObjectMemory::new(&app, &exchange);
    let objects = live_objects::LiveObjects::new(memory, app.limits.body_objects);
    let stopping = Box::pin(app.health.stopping());
    let session =
        LiveSession::new(&caller, namespace.as_deref(), release, objects, budget, live.limits, stopping, place);
    let lines = stream::unfold(session, async |mut session| {
        session.next().await.map(|line| (Ok::<_, std::convert::Infallible>(line), session))
    });
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        // A proxy must not keep lines back.
        (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    Ok((headers, Body::from_stream(lines)).into_response())
}

/// The namespace of the query; `None`: all of them. It becomes a part of paths, so that it must be a name.
fn namespace(uri: &Uri) -> Result<Option<String>, ApiError> {
    let Query(mut query) = Query::<BTreeMap<String, String>>::try_from_uri(uri)
        .map_err(|error| ApiError::new(ProblemKind::InvalidQuery, error.to_string()))?;
    let namespace = query.remove("namespace");
    if let Some(other) = query.keys().next() {
        return Err(Problem::of_parameter(other, "unknown parameter".to_owned()).into());
    }
    match namespace {
        Some(name) if !dns::is_label(name.as_bytes()) => {
            Err(Problem::of_parameter("namespace", "not the name of a namespace".to_owned()).into())
        }
        namespace => Ok(namespace),
    }
}

/// The error of a caller whose first request failed.
fn not_begun(failure: CallerFailure) -> ApiError {
    match failure.code {
        Some(StatusCode::UNAUTHORIZED) => {
            ApiError::new(ProblemKind::ClusterToken, "the API server does not accept the token; it may have expired")
        }
        _ => ApiError::new(ProblemKind::ClusterAway, failure.text),
    }
}
