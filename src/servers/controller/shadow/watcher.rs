//! Looks at one Service after the other.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use roster_engine::{
    compare::{Drift, DriftClass, PublishedList, drift, orphaned_slices},
    model::{EndpointAddress, ObjectKey, Pod, PodPhase},
    phrase::counted,
    state::{Event, EventType, Plan},
};
use tokio::{sync::Semaphore, time::Instant};

use super::{
    ShadowOptions,
    drift_book::{DriftBook, NamedDrifts},
    drift_report::sentence,
    fresh_input::fresh_input,
};
use crate::servers::controller::{
    applier::Applier,
    apply_error::{ApplyError, Failure},
    cluster_copy::ClusterCopy,
    event_sender::Events,
    queue::{Cause, DueService, ServiceKey},
    service_input::{ServiceInput, is_written_by_controller},
};

/// The pause before a Service with an incomplete plan is looked at again.
const INCOMPLETE: Duration = Duration::from_secs(30);
/// How many Services are read from the API server at the same time. All of them are to be read when a controller stops.
const READS: usize = 4;

/// The shadow: what it has found, and what it may do.
#[derive(Debug)]
pub(in super::super) struct Shadow {
    options: ShadowOptions,
    book: Mutex<DriftBook>,
    reads: Semaphore,
    /// How many healings have failed.
    failed_heals: AtomicU64,
}

impl Shadow {
    pub(in super::super) fn new(options: ShadowOptions) -> Self {
        let book = Mutex::new(DriftBook::new(options.heal_after));
        Self { options, book, reads: Semaphore::new(READS), failed_heals: AtomicU64::default() }
    }

    /// How many healings have failed.
    pub(super) fn failed_heals(&self) -> u64 {
        self.failed_heals.load(Ordering::Relaxed)
    }

    pub(super) fn book(&self) -> MutexGuard<'_, DriftBook> {
        // A panic elsewhere leaves at worst one Service without its differences, which the next look finds.
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets what does not count any more.
    pub(in super::super) fn sweep(&self) {
        self.book().sweep(Instant::now());
    }

    /// Compares a Service, and reads it from the API server if something is due.
    pub(in super::super) async fn look(
        &self,
        copy: &ClusterCopy,
        applier: &Applier,
        events: &Events,
        due: &DueService,
    ) -> Vec<ApplyError> {
        let key = &due.key;
        let input = copy.input(key);
        let (_, drifts) = compared(copy, &input);
        let was_forgotten = |drift: &Drift| has_ended_unnoticed(&input, drift);
        let look = self.book().looked(key, &drifts, due.notice, was_forgotten, Instant::now());
        let mut again = look.again;
        if look.is_due {
            again = match self.confirm(copy, applier, events, key).await {
                Ok(again) => again,
                Err(errors) => return errors,
            };
        }
        if let Some(again) = again {
            copy.wake_at(key, again);
        }
        Vec::new()
    }

    async fn confirm(
        &self,
        copy: &ClusterCopy,
        applier: &Applier,
        events: &Events,
        key: &ServiceKey,
    ) -> Result<Option<Instant>, Vec<ApplyError>> {
        // It is never closed.
        let _turn = self.reads.acquire().await;
        let input = match fresh_input(copy, applier, key).await {
            Ok(input) => input,
            Err(error) => return Err(vec![error]),
        };
        let (mut plan, drifts) = compared(copy, &input);
        if !plan.errors.is_empty() {
            // A pod whose node is missing, say: the copy of the nodes may be old, and what the plan leaves out may be right.
            let (namespace, service, errors) = (&key.namespace, &key.name, &plan.errors);
            tracing::info!(%namespace, %service, ?errors, "a Service is not judged: its plan is incomplete");
            return Ok(Some(Instant::now() + INCOMPLETE));
        }
        let (named, heals) = self.book().confirm(key, &drifts, Instant::now());
        self.say(events, &input, key, &named);
        if !heals {
            return Ok(self.book().again(key, Instant::now()));
        }
        // The reference leaves them to the garbage collector, which has had its time.
        let orphans = input.with_state(|state| {
            let of_service = orphaned_slices(state, copy.controllers()).map(|slice| slice.meta.name.clone());
            of_service.filter(|name| !plan.endpoint_slices.delete.contains(name)).collect::<Vec<_>>()
        });
        plan.endpoint_slices.delete.extend(orphans);
        let (errors, writes) = applier.apply(key, &input, plan).await;
        if !errors.is_empty() {
            // Otherwise someone else was quicker, or heals from now on.
            let has_failed = errors.iter().any(|error| matches!(error.failure, Failure::Failed(_)));
            self.failed_heals.fetch_add(has_failed.into(), Ordering::Relaxed);
            return Err(errors);
        }
        let oldest = self.book().healed(key, writes, Instant::now());
        if let Some(oldest) = oldest {
            let differences = counted(drifts.len(), "difference");
            let message = format!("written, after {differences} that lasted up to {:.1} s", oldest.as_secs_f64());
            tracing::warn!(namespace = %key.namespace, service = %key.name, message, "a Service was healed");
            self.send(events, &input, key, EventType::Normal, "EndpointsHealed", message);
        }
        if self.book().leaves_alone(key, Instant::now()) {
            let ServiceKey { namespace, name } = key;
            tracing::warn!(%namespace, service = %name, "a Service was healed again and again: it is left alone for ten minutes");
        }
        // Whether it is right now, the next look tells.
        Ok(self.book().again(key, Instant::now()).or_else(|| Some(Instant::now())))
    }

    fn say(&self, events: &Events, input: &ServiceInput, key: &ServiceKey, named: &[NamedDrifts]) {
        for named in named {
            let message = sentence(named);
            let (namespace, service) = (&key.namespace, &key.name);
            if !named.class.is_alarm() {
                tracing::info!(%namespace, %service, message, "a Service is unsettled");
                continue;
            }
            tracing::warn!(%namespace, %service, message, "a Service is not as it should be");
            self.send(events, input, key, EventType::Warning, "EndpointsDrift", message);
        }
    }

    fn send(
        &self,
        events: &Events,
        input: &ServiceInput,
        key: &ServiceKey,
        kind: EventType,
        reason: &'static str,
        message: String,
    ) {
        if self.options.sends_events {
            let object = ObjectKey::new("Service", &key.namespace, &key.name);
            events.say(Event { kind, reason, message, object }, input);
        }
    }
}

/// Whether it is the address of a pod that has ended, and is served as its condition says: the reference looks at the condition, and
/// forgets a phase alone.
fn has_ended_unnoticed(input: &ServiceInput, drift: &Drift) -> bool {
    let ended = |pod: &&Arc<Pod>| *pod.name() == drift.pod && pod.phase != PodPhase::Live && !pod.deleting;
    let Some(pod) = input.pods.iter().find(ended).filter(|_| drift.class == DriftClass::StaleAddress) else {
        return false;
    };
    let is_at = |address: &EndpointAddress| address.ip == drift.what;
    let is_served_ready = match drift.list {
        PublishedList::Endpoints => {
            let mut subsets = input.endpoints.iter().flat_map(|endpoints| &endpoints.subsets);
            subsets.any(|subset| subset.addresses.iter().any(is_at))
        }
        PublishedList::Slices => {
            let mut endpoints = input.slices.iter().flat_map(|slice| &slice.endpoints);
            endpoints.any(|endpoint| endpoint.ready() && endpoint.addresses.contains(&drift.what))
        }
    };
    is_served_ready == pod.ready()
}

/// The plan of a Service, and what differs from it.
fn compared(copy: &ClusterCopy, input: &ServiceInput) -> (Plan, Vec<Drift>) {
    let is_left_over = input.service.is_none() && input.endpoints.as_deref().is_some_and(is_written_by_controller);
    let cause = if is_left_over { Cause::Leftover } else { Cause::Change };
    let compare = || {
        if !copy.is_in_scope(input) {
            return (Plan::default(), Vec::new());
        }
        let (plan, _) = copy.plan_of(input, cause);
        let drifts = input.with_state(|state| drift(state, &plan, copy.controllers()));
        (plan, drifts)
    };
    input.aside_if_large(compare)
}

#[cfg(test)]
mod tests {
    use std::{future::pending, sync::Arc};

    use axum::{
        Json, Router,
        extract::Request,
        http::{Method, StatusCode},
        response::{IntoResponse, Response},
    };
    use serde_json::{Value, json};
    use tokio::time::sleep;

    use super::*;
    use crate::{
        runtime::{clock::Clock, telemetry::traces::Tracer},
        servers::controller::{
            cluster_copy_tests::copy_of,
            event_sender::events,
            metrics::ControllerMetrics,
            service_scope::ServiceScope,
            worker::{Duty, work},
        },
    };

    fn meta(name: &str) -> Value {
        json!({ "name": name, "namespace": "shop", "uid": "u", "labels": { "app": "web" } })
    }

    fn service() -> Value {
        let spec =
            json!({ "selector": { "app": "web" }, "clusterIP": "None", "ports": [{ "port": 80, "targetPort": 80 }] });
        json!({ "metadata": meta("web"), "spec": spec })
    }

    /// A Service with a ready pod, and nothing that a controller has written. Nobody may write it.
    async fn read_only(request: Request) -> Response {
        if request.method() != Method::GET {
            let status = json!({ "status": "Failure", "reason": "Forbidden", "code": 403, "message": "forbidden" });
            return (StatusCode::FORBIDDEN, Json(status)).into_response();
        }
        let items = match request.uri().path().rsplit('/').next() {
            Some("services") => json!([service()]),
            Some("pods") => {
                let status = json!({ "podIP": "10.0.0.1", "podIPs": [{ "ip": "10.0.0.1" }],
                    "conditions": [{ "type": "Ready", "status": "True" }] });
                json!([{ "metadata": meta("web-0"), "spec": { "nodeName": "n" }, "status": status }])
            }
            _ => json!([]),
        };
        Json(json!({ "metadata": { "resourceVersion": "1" }, "items": items })).into_response()
    }

    #[tokio::test(start_paused = true)]
    async fn a_healing_that_fails_is_counted() {
        let client = kube::Client::new(Router::new().fallback(read_only), "default");
        let copy = Arc::new(copy_of(ServiceScope::default(), vec![service()], Vec::new(), Vec::new()));
        let options = ShadowOptions { heal_after: Some(Duration::ZERO), sends_events: false };
        let shadow = Arc::new(Shadow::new(options));
        let applier = Arc::new(Applier::new(client.clone(), copy.clone(), None));
        let (events, _sending) = events(client, Clock::system());
        let duty = Duty::Compare(shadow.clone());
        let worker =
            tokio::spawn(work(copy, duty, applier, events, ControllerMetrics::new(), Tracer::default(), pending()));
        assert_eq!(shadow.failed_heals(), 0);
        sleep(Duration::from_mins(1)).await;
        assert!(shadow.failed_heals() > 0);
        worker.abort();
    }
}
