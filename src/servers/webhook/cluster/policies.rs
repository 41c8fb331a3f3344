//! Keeps the policies of a cluster in force, and has it said of each whether it is.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use futures::TryStreamExt;
use kube::{
    Api, Client, ResourceExt,
    api::{ApiResource, DynamicObject},
    core::Status,
    runtime::{WatchStreamExt, watcher},
};

use super::statuses::Statuses;
use crate::{
    admission::policy::{self, EndpointPolicy},
    kube_api::WatchMetrics,
    model::installed::CRD,
    servers::webhook::{ActivePolicies, first_messages},
};

/// As metrics name them.
const KIND: &str = "endpointpolicies";

/// The policies of a cluster.
pub(super) fn api(client: Client) -> Api<DynamicObject> {
    let (plural, group) = CRD.split_once('.').unwrap_or((CRD, ""));
    let resource = ApiResource {
        group: group.to_owned(),
        version: "v1".to_owned(),
        api_version: format!("{group}/v1"),
        kind: crate::model::installed::POLICY_KIND.to_owned(),
        plural: plural.to_owned(),
    };
    Api::all_with(client, &resource)
}

/// Keeps the policies of the cluster, for ever. Where the CRD is not installed there are none; it is asked for again.
/// `known` says whether a replica need not wait for them any longer.
pub(super) async fn of_cluster(
    api: Api<DynamicObject>,
    in_force: Arc<ActivePolicies>,
    statuses: Statuses,
    known: Arc<AtomicBool>,
    metrics: WatchMetrics,
) {
    metrics.stale(KIND, false);
    let mut events = std::pin::pin!(watcher(api, watcher::Config::default()).default_backoff());
    let mut listed = BTreeMap::new();
    loop {
        match events.try_next().await {
            Ok(Some(watcher::Event::Init)) => listed.clear(),
            Ok(Some(watcher::Event::InitApply(object))) => {
                listed.insert(object.name_any(), read(&object, &statuses));
            }
            Ok(Some(watcher::Event::InitDone)) => {
                tracing::info!(policies = listed.len(), "policies of the cluster");
                in_force.set_cluster(std::mem::take(&mut listed));
                known.store(true, Ordering::Relaxed);
                metrics.stale(KIND, false);
            }
            Ok(Some(watcher::Event::Apply(object))) => {
                // One that cannot be read any more keeps its place: half a policy protects nobody.
                if let Some(policy) = read(&object, &statuses) {
                    in_force.set_one(&object.name_any(), Some(policy));
                }
            }
            Ok(Some(watcher::Event::Delete(object))) => {
                statuses.forget(&object.name_any());
                in_force.set_one(&object.name_any(), None);
            }
            // kube's watcher does not end by itself.
            Ok(None) => return,
            Err(error) => {
                if is_missing(&error) {
                    known.store(true, Ordering::Relaxed);
                    metrics.stale(KIND, false);
                    tracing::debug!(%error, "the watch of policies");
                } else if is_unconverted(&error) {
                    known.store(true, Ordering::Relaxed);
                    metrics.stale(KIND, true);
                    tracing::warn!(%error, "no policy can be converted: no new one holds");
                } else {
                    tracing::warn!(%error, "the watch of policies");
                }
            }
        }
    }
}

/// Whether there is no CRD, as in a cluster without policies.
fn is_missing(error: &watcher::Error) -> bool {
    matches!(error, watcher::Error::InitialListFailed(kube::Error::Api(status)) if status.code == 404)
}

/// Whether a policy is stored in a version that a webhook must convert first. That webhook is this one: if it waited to be
/// ready until policies are read, nobody would ever convert them.
fn is_unconverted(error: &watcher::Error) -> bool {
    // Any other failure passes, and until then nobody may be told that no policy holds.
    let unconverted = |status: &Status| status.code == 500 && status.message.contains("conversion webhook");
    matches!(error, watcher::Error::InitialListFailed(kube::Error::Api(status)) if unconverted(status))
}

fn read(object: &DynamicObject, statuses: &Statuses) -> Option<EndpointPolicy> {
    let raw = serde_json::value::to_raw_value(object).ok()?;
    let (policy, problems) = policy::read(&raw);
    if !problems.is_empty() {
        tracing::warn!(policy = object.name_any(), problems = %first_messages(&problems), "a policy is not as it should be");
    }
    statuses.see(object, &problems);
    policy
}

#[cfg(test)]
mod tests {
    use std::{sync::Mutex, time::Duration};

    use axum::{
        Json, Router,
        extract::{Request, State},
        http::StatusCode,
        response::{IntoResponse, Response},
    };
    use serde_json::{Value, json};
    use tokio::time::sleep;

    use super::*;
    use crate::runtime::{clock::Clock, telemetry::registry::MetricsRegistry};

    type Answer = Arc<Mutex<(u16, Value)>>;

    async fn answer(State(answer): State<Answer>, request: Request) -> Response {
        if request.uri().query().is_some_and(|q| q.contains("watch=true")) {
            return std::future::pending().await;
        }
        let (code, text) = answer.lock().unwrap().clone();
        (StatusCode::from_u16(code).unwrap(), Json(text)).into_response()
    }

    fn failed(code: u16, message: &str) -> (u16, Value) {
        let status = json!({
            "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": "x", "message": message,
        });
        (code, status)
    }

    /// What is told of policies that cannot be listed, and of those that can be later.
    #[tokio::test(start_paused = true)]
    async fn policies_that_nobody_converts_are_told_and_not_waited_for() {
        let unconverted = "conversion webhook for roster.dev/v1alpha1, Kind=EndpointPolicy failed: connection refused";
        for (name, first, is_known, unread) in [
            ("no CRD", failed(404, "the server could not find the requested resource"), true, 0),
            ("nobody converts", failed(500, unconverted), true, 1),
            ("something that passes", failed(500, "etcdserver: leader changed"), false, 0),
        ] {
            let said = Arc::new(Mutex::new(first));
            let client = kube::Client::new(Router::new().fallback(answer).with_state(said.clone()), "default");
            let (registry, metrics) = (MetricsRegistry::default(), WatchMetrics::default());
            registry.register(|r| metrics.register(r));
            let known = Arc::new(AtomicBool::new(false));
            let statuses = Statuses::new(Clock::system());
            let watch =
                of_cluster(api(client), Arc::new(ActivePolicies::new(None)), statuses, known.clone(), metrics.clone());
            let watch = tokio::spawn(watch);
            sleep(Duration::from_secs(1)).await;
            let gauge = |value: u8| format!("roster_cache_stale{{kind=\"endpointpolicies\"}} {value}");
            assert!(registry.encode().unwrap().contains(&gauge(unread)), "{name}");
            assert_eq!(known.load(Ordering::Relaxed), is_known, "{name}");

            *said.lock().unwrap() = (
                200,
                json!({ "kind": "List", "apiVersion": "v1", "metadata": { "resourceVersion": "1" }, "items": [] }),
            );
            sleep(Duration::from_mins(2)).await;
            assert!(registry.encode().unwrap().contains(&gauge(0)), "{name}");
            assert!(known.load(Ordering::Relaxed), "{name}");
            watch.abort();
        }
    }
}
