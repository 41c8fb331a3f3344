//! Keeps the policies of a cluster in force, and reports in the status of each whether it is.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use kube::{ResourceExt, core::DynamicObject};
use roster_admission::policy::{self, EndpointPolicy};
use roster_manifests::inventory::{Loss, Sink};

use super::policy_status::PolicyStatuses;
use crate::servers::webhook::{ActivePolicies, first_messages};

/// What the watch of policies feeds. Where the CRD is not installed there are none, and the watch asks again.
pub(super) struct PolicySink {
    /// Where they hold.
    in_force: Arc<ActivePolicies>,
    /// Where their statuses are written.
    statuses: PolicyStatuses,
    /// Whether a replica need not wait for them any longer.
    is_known: Arc<AtomicBool>,
    /// The list that is being read.
    listed: Vec<DynamicObject>,
}

impl Sink for PolicySink {
    type Row = DynamicObject;

    fn row(&self, object: &str) -> serde_json::Result<DynamicObject> {
        serde_json::from_str(object)
    }

    fn apply(&mut self, object: DynamicObject) {
        // A policy that cannot be read any longer stays as it was: half a policy protects nobody.
        if let Some(policy) = self.read(&object) {
            self.in_force.set_one(&object.name_any(), Some(policy));
        }
    }

    fn delete(&mut self, _: &str, name: &str) {
        self.statuses.forget(name);
        self.in_force.set_one(name, None);
    }

    fn begin_list(&mut self) {
        self.listed.clear();
    }

    fn list(&mut self, object: DynamicObject) {
        self.listed.push(object);
    }

    fn end_list(&mut self) {
        let objects = std::mem::take(&mut self.listed);
        tracing::info!(policies = objects.len(), "policies of the cluster");
        let policies = objects.iter().map(|object| (object.name_any(), self.read(object)));
        self.in_force.set_cluster(policies.collect());
        self.is_known.store(true, Ordering::Relaxed);
    }

    fn lost(&mut self, loss: Loss) {
        match loss {
            // Without a CRD there are no policies.
            Loss::NotInstalled => self.is_known.store(true, Ordering::Relaxed),
            Loss::Unconverted => {
                tracing::warn!("the API server cannot convert policies: new ones do not hold");
                // The conversion webhook is this one: if it waited for policies, the API server could never convert them.
                self.is_known.store(true, Ordering::Relaxed);
            }
            // The policies that were read hold.
            Loss::Stale => {}
        }
    }
}

impl PolicySink {
    pub(super) fn new(in_force: Arc<ActivePolicies>, statuses: PolicyStatuses, is_known: Arc<AtomicBool>) -> Self {
        Self { in_force, statuses, is_known, listed: Vec::new() }
    }

    fn read(&self, object: &DynamicObject) -> Option<EndpointPolicy> {
        let raw = serde_json::value::to_raw_value(object).ok()?;
        let (policy, findings) = policy::read(&raw);
        if !findings.is_empty() {
            tracing::warn!(policy = object.name_any(), findings = %first_messages(&findings), "a policy has errors");
        }
        self.statuses.see(object, &findings);
        policy
    }
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
    use roster_engine::model::Resource;
    use serde_json::{Value, json};
    use tokio::time::sleep;

    use super::*;
    use crate::{
        kube_api::{ListStreaming, WatchMetrics, reflect},
        runtime::{clock::Clock, telemetry::registry::MetricsRegistry},
    };

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

    /// What is reported about policies that cannot be listed, and once they can.
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
            let (in_force, statuses) = (Arc::new(ActivePolicies::new(None)), PolicyStatuses::new(Clock::system()));
            let sink = PolicySink::new(in_force, statuses, known.clone());
            let watch = tokio::spawn(reflect(
                client,
                Resource::EndpointPolicy,
                ListStreaming::default(),
                sink,
                metrics.clone(),
            ));
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
