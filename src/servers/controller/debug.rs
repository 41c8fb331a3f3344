//! `GET /debug/services/NAMESPACE/NAME` of the admin listener: what the controller knows of a Service and did for it, and which pods
//! serve it and why.
//! Who may read it: [`AdminReaders`].

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::{Path, Request, State},
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::get,
};
use roster_engine::{
    explain::Explanation,
    model::{Resource, dns},
    unknown_kinds::UnknownKinds,
};
use serde_json::{Value, json};
use tokio::{sync::Semaphore, task::spawn_blocking, time::Instant};

use super::{
    admin_readers::AdminReaders,
    cluster_copy::{ClusterCopy, ServiceReport},
    permissions::watches,
    queue::{QueuedReport, ServiceKey},
    sync_counts::{SliceCounts, WantedSlices},
    sync_records::{SyncRecord, SyncResult},
};
use crate::runtime::status_error::StatusError;

/// How many explanations are made at once.
const AT_ONCE: usize = 2;

struct DebugState {
    copy: Arc<ClusterCopy>,
    readers: Arc<AdminReaders>,
    places: Semaphore,
}

/// The routes.
pub(super) fn debug_routes(copy: Arc<ClusterCopy>, readers: Arc<AdminReaders>) -> Router {
    let state = DebugState { copy, readers, places: Semaphore::new(AT_ONCE) };
    Router::new().route("/debug/services/{namespace}/{name}", get(report)).with_state(Arc::new(state))
}

async fn report(
    State(state): State<Arc<DebugState>>,
    Path((namespace, name)): Path<(String, String)>,
    request: Request,
) -> Result<Response, StatusError> {
    // Also before a path is made of them, which the API server compares with those that a user may read.
    if !dns::is_label(namespace.as_bytes()) || !dns::is_subdomain(name.as_bytes()) {
        return Err(unknown(&namespace, &name));
    }
    state.readers.may_get(&request.into_parts().0, &format!("/debug/services/{namespace}/{name}")).await?;
    state.copy.synced().map_err(StatusError::busy)?;
    let _place = state.places.try_acquire().map_err(|_| StatusError::busy("too many requests at once"))?;
    let (copy, key) = (state.copy.clone(), ServiceKey { namespace: namespace.into(), name: name.into() });
    let report = spawn_blocking(move || of_service(&copy, &key, Instant::now())).await;
    let report = report.map_err(|_| StatusError::internal("the explanation has failed"))??;
    Ok(Json(report).into_response())
}

/// What is known of a Service, as JSON.
fn of_service(copy: &ClusterCopy, key: &ServiceKey, now: Instant) -> Result<Value, StatusError> {
    let report = copy.report_of(key);
    let input = copy.input(key);
    let is_known = input.service.is_some() || input.endpoints.is_some() || !input.slices.is_empty();
    if !is_known && report.queued.is_none() && report.record.is_none() {
        return Err(unknown(&key.namespace, &key.name));
    }
    let watches = |resource| watches(copy.controllers(), resource);
    let unknown = UnknownKinds {
        pods: !watches(Resource::Pod),
        nodes: !watches(Resource::Node),
        endpoints: !watches(Resource::Endpoints),
        ..UnknownKinds::default()
    };
    let explanation = copy.explain(&input, unknown);
    let shown = ShownService { key, report: &report, explanation: &explanation };
    Ok(shown.json(now))
}

struct ShownService<'a> {
    key: &'a ServiceKey,
    report: &'a ServiceReport,
    explanation: &'a Explanation,
}

impl ShownService<'_> {
    fn json(&self, now: Instant) -> Value {
        let ServiceReport { leads, queued, is_doubted, record } = self.report;
        json!({
            "namespace": self.key.namespace,
            "name": self.key.name,
            "leads": leads,
            "queue": queued.map(|queued| of_queue(&queued, now)),
            "readBeforePlan": is_doubted,
            "lastSync": record.as_ref().map(|record| of_record(record, now)),
            "explanation": self.explanation,
        })
    }
}

/// Times are in seconds. What is past is not negative, and has a name that says so.
fn of_queue(queued: &QueuedReport, now: Instant) -> Value {
    let QueuedReport { due, held_until, running_since, failures, first } = queued;
    json!({
        "dueIn": due.map(|due| due.saturating_duration_since(now).as_secs_f64()),
        "heldFor": held_until.map(|until| until.saturating_duration_since(now).as_secs_f64()),
        "runningFor": running_since.map(|since| ago(since, now)),
        "failures": failures,
        "changed": first.map(|(origin, seen)| json!({ "origin": origin.name(), "ago": ago(seen, now) })),
    })
}

fn of_record(record: &SyncRecord, now: Instant) -> Value {
    let SyncRecord { ended, took, result, last_write, last_error } = record;
    json!({
        "ago": ago(*ended, now),
        "took": took.as_secs_f64(),
        "plan": result.as_ref().map(of_result),
        "lastWriteAgo": last_write.map(|at| ago(at, now)),
        "lastError": last_error.as_ref().map(|(at, text)| json!({ "ago": ago(*at, now), "text": text })),
    })
}

fn of_result(result: &SyncResult) -> Value {
    let SyncResult { counts, endpoints, slices: [create, update, delete], writes, .. } = result;
    json!({
        "endpoints": endpoints,
        "slices": { "create": create, "update": update, "delete": delete },
        "wanted": { "slices": counts.slices.map(of_counts), "mirrored": counts.mirrored.map(of_counts) },
        "writes": writes,
    })
}

fn of_counts(counts: SliceCounts) -> Value {
    let WantedSlices { endpoints, slices, .. } = counts.wanted;
    json!({ "endpoints": endpoints, "slices": slices })
}

fn ago(at: Instant, now: Instant) -> f64 {
    now.saturating_duration_since(at).as_secs_f64()
}

fn unknown(namespace: &str, name: &str) -> StatusError {
    let message = format!("there is nothing of a Service {namespace:?}/{name:?}");
    StatusError::new(StatusCode::NOT_FOUND, "NotFound", message)
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, time::Duration};

    use axum::{
        body::{Body, to_bytes},
        http::header,
    };
    use kube::Client;
    use tokio::time::advance;
    use tower::{ServiceExt, service_fn};

    use super::*;
    use crate::{
        kube_api::ReaderReviews,
        runtime::net::{Exchange, Peer},
        servers::controller::cluster_copy_tests::synced,
    };

    /// An API server that lets the user of the token `good` read everything, and knows the token `other`.
    fn readers() -> Arc<AdminReaders> {
        let server = service_fn(|request: http::Request<kube::client::Body>| async move {
            let body = to_bytes(Body::new(request.into_body()), 1 << 20).await.unwrap();
            let review: Value = serde_json::from_slice(&body).unwrap();
            let token = &review["spec"]["token"];
            let known = token == "good" || token == "other";
            let status = json!({ "authenticated": known, "user": { "username": token },
                "allowed": review["spec"]["user"] == "good" });
            let answer = json!({ "metadata": {}, "spec": review["spec"], "status": status });
            Ok::<_, Infallible>(http::Response::new(Body::from(answer.to_string())))
        });
        Arc::new(AdminReaders::new(ReaderReviews::new(Client::new(server, "default"))))
    }

    fn request(path: &str, authorization: &str, peer: Option<&str>) -> Request {
        let (host, path) = path.split_at(path.find('/').unwrap());
        let host = if host.is_empty() { "localhost:10270" } else { host };
        let request = Request::get(path).header(header::AUTHORIZATION, authorization).header(header::HOST, host);
        let mut request = request.body(Body::empty()).unwrap();
        let mut exchange = Exchange::of(request.extensions());
        if let Some(ip) = peer {
            exchange.peer = Peer::of(format!("{ip}:7").parse().unwrap());
        }
        request.extensions_mut().insert(exchange);
        request
    }

    #[tokio::test]
    async fn who_is_not_on_the_machine_needs_a_token() {
        let routes = debug_routes(Arc::new(synced()), readers());
        let web = "/debug/services/shop/web";
        for (path, authorization, peer, want) in [
            (web, "", Some("127.0.0.1"), 200),
            (web, "", Some("[::1]"), 200),
            (web, "", Some("127.0.0.6"), 401),
            ("127.0.0.1/debug/services/shop/web", "", Some("127.0.0.1"), 200),
            ("[::1]:10270/debug/services/shop/web", "", Some("[::1]"), 200),
            ("rebound.example.com:10270/debug/services/shop/web", "", Some("127.0.0.1"), 401),
            (web, "", Some("10.0.0.1"), 401),
            (web, "", None, 401),
            (web, "Bearer good", Some("10.0.0.1"), 200),
            (web, "bearer  good", Some("10.0.0.1"), 200),
            (web, "Bearer other", Some("10.0.0.1"), 403),
            (web, "Bearer unknown", Some("10.0.0.1"), 401),
            (web, "Bearer ", Some("10.0.0.1"), 401),
            (web, "Basic good", Some("10.0.0.1"), 401),
            (web, "Bearer good good", Some("10.0.0.1"), 401),
            ("/debug/services/shop/other", "", Some("127.0.0.1"), 404),
            ("/debug/services/shop/other", "", Some("10.0.0.1"), 401),
            ("/debug/services/shop%2Fweb/web", "Bearer good", Some("10.0.0.1"), 404),
            ("/debug/services/shop/..%2Fweb", "Bearer good", Some("10.0.0.1"), 404),
        ] {
            let response = routes.clone().oneshot(request(path, authorization, peer)).await.unwrap();
            assert_eq!(response.status().as_u16(), want, "{path} {authorization:?} {peer:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn it_tells_what_waits_what_was_done_and_why() {
        let copy = synced();
        let key = ServiceKey { namespace: "shop".into(), name: "web".into() };
        let told = of_service(&copy, &key, Instant::now()).unwrap();
        assert_eq!(
            (&told["leads"], &told["lastSync"], &told["queue"]["dueIn"]),
            (&json!(true), &Value::Null, &json!(0.0))
        );

        let due = copy.next().await;
        let result = SyncResult { writes: 1, endpoints: "create", slices: [0, 1, 0], ..SyncResult::default() };
        copy.record(&due, Some(result), &[], Duration::from_millis(5));
        advance(Duration::from_secs(2)).await;
        assert_eq!(of_service(&copy, &key, Instant::now()).unwrap()["queue"]["runningFor"], 2.0);
        copy.record(&due, None, &["Failed to update".to_owned()], Duration::ZERO);
        copy.end(&due, super::super::queue::SyncEnd::Failed(Some(Duration::from_secs(7))), None);
        copy.doubt(&key);
        advance(Duration::from_secs(3)).await;
        let told = of_service(&copy, &key, Instant::now()).unwrap();
        let queue = json!({ "dueIn": 4.0, "heldFor": 4.0, "runningFor": null, "failures": 1,
            "changed": { "origin": "other", "ago": 5.0 } });
        assert_eq!((&told["queue"], &told["readBeforePlan"]), (&queue, &json!(true)));
        let (last, error) = (&told["lastSync"], json!({ "ago": 3.0, "text": "Failed to update" }));
        assert_eq!((&last["ago"], &last["lastWriteAgo"], &last["lastError"]), (&json!(3.0), &json!(5.0), &error));
        assert_eq!(told["explanation"]["summary"]["pods"], 1);
        assert!(!told["explanation"]["rows"].as_array().unwrap().is_empty());

        copy.stop_leading();
        let told = of_service(&copy, &key, Instant::now()).unwrap();
        assert_eq!((&told["leads"], &told["lastSync"], &told["queue"]), (&json!(false), &Value::Null, &Value::Null));
    }
}
