//! What the shadow has found, as `GET /v1/drift` answers it.

use std::{sync::Arc, time::Duration};

use axum::{
    Json, Router,
    extract::{Query, Request, State},
    response::{IntoResponse, Response},
    routing::get,
};
use roster_engine::{
    compare::{Drift, PublishedList},
    model::Resource,
    phrase::counted,
    profile::Minor,
};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::{
    Shadow,
    drift_book::{NamedDrifts, PastDrift},
    shadow_class::ShadowClass,
};
use crate::{
    kube_api::WatchMetrics,
    runtime::status_error::StatusError,
    servers::controller::{admin_readers::AdminReaders, cluster_copy::ClusterCopy, permissions::watched},
};

/// Its path.
const DRIFT: &str = "/v1/drift";

/// How many Services are listed; the others are counted.
const LISTED: usize = 1000;

/// What a shadow has found.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DriftReport {
    /// How many Services are compared.
    pub services: usize,
    /// The release that the controllers are compared with.
    pub release: Minor,
    /// Resources of which the watch has failed for a minute: what is said about them is old.
    pub stale: Vec<String>,
    /// How long a difference may last before it is reported.
    pub grace_seconds: f64,
    /// How long the controllers have taken, of the latest differences.
    pub latency: Option<DriftLatency>,
    /// How many Services are not as they should be, those that are only unsettled aside.
    pub drifting: usize,
    /// How many names have objects that are not as they should be, and no Service.
    #[serde(default)]
    pub without_service: usize,
    /// What differs, of the first 1000 of these Services.
    pub drift: Vec<ServiceDrift>,
    /// What is over, within ten minutes.
    pub past: Vec<PastReport>,
}

/// How long the controllers take.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DriftLatency {
    /// Half of the differences are over before.
    pub p50_seconds: f64,
    /// 99 of 100 differences are over before.
    pub p99_seconds: f64,
}

/// The differences of a Service in one class and list.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceDrift {
    /// Namespace of the Service.
    pub namespace: String,
    /// Name of the Service.
    pub service: String,
    /// In what way it differs.
    pub class: ShadowClass,
    /// Where.
    pub list: PublishedList,
    /// The age of the oldest difference.
    pub seconds: f64,
    /// How many endpoints or objects differ.
    pub count: usize,
    /// A sentence about it.
    pub message: String,
    /// It was healed several times, and is left alone because someone disagrees.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub contested: bool,
}

/// A difference that is over.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PastReport {
    /// Namespace of the Service.
    pub namespace: String,
    /// Name of the Service.
    pub service: String,
    /// In what way it differed.
    pub class: ShadowClass,
    /// Where.
    pub list: PublishedList,
    /// The endpoint, or the object.
    pub what: String,
    /// How long.
    pub lasted_seconds: f64,
    /// How long ago it ended.
    pub ended_seconds_ago: f64,
    /// Whether the shadow has put it right.
    pub healed: bool,
}

/// In milliseconds at most.
fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1000.0).round() / 1000.0
}

impl DriftReport {
    fn of(shadow: &Shadow, copy: &ClusterCopy, stale: Vec<String>, namespace: Option<&str>, now: Instant) -> Self {
        let book = shadow.book();
        let mut named = book.named(now);
        named.retain(|(key, ..)| namespace.is_none_or(|namespace| key.namespace == namespace));
        let is_alarm = |named: &NamedDrifts| named.class.is_alarm();
        let alarming: Vec<_> = named.iter().filter(|(_, named, _)| named.iter().any(is_alarm)).collect();
        let without_service = alarming.iter().filter(|(key, ..)| !copy.has_service(key)).count();
        let drifting = alarming.len() - without_service;
        // Those that are only unsettled come last.
        named.sort_by_key(|(_, named, _)| !named.iter().any(is_alarm));
        let entries = named.iter().take(LISTED).flat_map(|(key, named, contested)| {
            named.iter().map(|named| ServiceDrift {
                namespace: key.namespace.to_string(),
                service: key.name.to_string(),
                class: named.class,
                list: named.list,
                seconds: seconds(now.duration_since(named.since)),
                count: named.count,
                message: sentence(named),
                contested: *contested,
            })
        });
        let latency = book.percentile(50).zip(book.percentile(99));
        Self {
            services: copy.services(),
            release: copy.compat(),
            stale,
            grace_seconds: seconds(book.grace()),
            latency: latency.map(|(p50, p99)| DriftLatency { p50_seconds: seconds(p50), p99_seconds: seconds(p99) }),
            drifting,
            without_service,
            drift: entries.collect(),
            past: book
                .past()
                .filter(|past| namespace.is_none_or(|namespace| past.key.namespace == namespace))
                .map(|past| PastReport::of(past, now))
                .collect(),
        }
    }
}

impl PastReport {
    fn of(past: &PastDrift, now: Instant) -> Self {
        Self {
            namespace: past.key.namespace.to_string(),
            service: past.key.name.to_string(),
            class: past.class,
            list: past.drift.list,
            what: past.drift.to_string(),
            lasted_seconds: seconds(past.lasted),
            ended_seconds_ago: seconds(now.duration_since(past.ended)),
            healed: past.is_healed,
        }
    }
}

/// `EndpointSlices still have 3 addresses that should not be served: 10.0.0.1 (web-0), …`.
pub(super) fn sentence(named: &NamedDrifts) -> String {
    let NamedDrifts { class, list, sample, count, .. } = named;
    let lists = match list {
        PublishedList::Endpoints => "Endpoints",
        PublishedList::Slices => "EndpointSlices",
    };
    let endpoints = counted(*count, "endpoint");
    let what = match class {
        ShadowClass::StaleAddress => format!("{lists}: {endpoints} should not be served, or not in this state"),
        ShadowClass::ReadyPodMissing => format!("{lists}: {endpoints} of ready pods not served"),
        ShadowClass::FrozenAtLimit => format!("{lists}: at the limit of addresses, {endpoints} not up to date"),
        ShadowClass::DuplicateSlices => format!("{lists}: {endpoints} in several slices"),
        ShadowClass::WrongHint => format!("{lists}: {endpoints} with other hints than they should have"),
        ShadowClass::Orphan => format!("{lists}: {} of nothing that exists", counted(*count, "object")),
        ShadowClass::Stuck => format!("{lists}: the controller was woken for {endpoints} and has not written"),
        ShadowClass::Slow => format!("{lists}: the controller took longer than usual for {endpoints}"),
        ShadowClass::Unsettled => {
            format!("{lists}: {endpoints} changed in a way that does not wake the controller")
        }
    };
    let named: Vec<String> = sample.iter().map(Drift::to_string).collect();
    let more = if *count > named.len() { ", …" } else { "" };
    format!("{what}: {}{more}", named.join(", "))
}

struct DriftState {
    shadow: Arc<Shadow>,
    copy: Arc<ClusterCopy>,
    watches: WatchMetrics,
    readers: Arc<AdminReaders>,
}

/// `GET /v1/drift`, also with `?namespace=`. Who may read it: [`AdminReaders`].
pub(in super::super) fn drift_routes(
    shadow: Arc<Shadow>,
    copy: Arc<ClusterCopy>,
    watches: WatchMetrics,
    readers: Arc<AdminReaders>,
) -> Router {
    let state = DriftState { shadow, copy, watches, readers };
    Router::new().route(DRIFT, get(answer)).with_state(Arc::new(state))
}

#[derive(Deserialize)]
struct DriftQuery {
    namespace: Option<String>,
}

async fn answer(
    State(state): State<Arc<DriftState>>,
    Query(query): Query<DriftQuery>,
    request: Request,
) -> Result<Response, StatusError> {
    state.readers.may_get(&request.into_parts().0, DRIFT).await?;
    state.copy.synced().map_err(StatusError::busy)?;
    if !state.copy.leads() {
        return Err(StatusError::busy("another replica compares: this one does not hold the Lease"));
    }
    let stale = watched(state.copy.controllers()).map(Resource::plural);
    let stale = stale.filter(|kind| state.watches.is_stale(kind)).map(str::to_owned).collect();
    let namespace = query.namespace.as_deref();
    Ok(Json(DriftReport::of(&state.shadow, &state.copy, stale, namespace, Instant::now())).into_response())
}
