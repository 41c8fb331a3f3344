//! A worker with an API server that stores everything.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
    time::Duration,
};

use http::{Method, Request, Response};
use http_body_util::BodyExt;
use kube::{Client, client::Body};
use roster_engine::{
    model::{EndpointSlice, Endpoints, Node, Pod, Service},
    state::{Controller, Options},
};
use roster_manifests::inventory::Table;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::{sync::mpsc, time::Instant};

use super::{
    applier::Applier,
    cluster_copy::{ClusterCopy, Pacing},
    cluster_copy_tests::copy_of,
    event_sender::events,
    metrics::ControllerMetrics,
    service_scope::ServiceScope,
    watched_value::Watched,
    worker::{Duty, work},
};
use crate::runtime::{
    clock::Clock,
    telemetry::{
        memory_log::logged,
        traces::{
            Tracer,
            recorded_spans::{RecordedSpan, RecordedSpans},
        },
    },
};

fn read<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn list<T: Watched>(copy: &ClusterCopy, objects: Vec<T>) {
    copy.begin_list::<T>();
    let new: Vec<Arc<T>> = objects.into_iter().filter_map(|object| copy.list(Arc::new(object))).collect();
    copy.end_list::<T>(Table::new(new, |_| {}));
}

/// Whether a request is about Endpoints, and not about slices.
fn is_of_endpoints(request: &Request<Body>) -> bool {
    request.uri().path().contains("/endpoints") && !request.uri().path().contains("/endpointslices")
}

/// The object of a write as an API server stores it.
async fn stored(request: Request<Body>) -> Value {
    let (head, body) = request.into_parts();
    let mut object: Value = serde_json::from_slice(&body.collect().await.unwrap().to_bytes()).unwrap();
    let meta = &mut object["metadata"];
    let version: u64 = meta["resourceVersion"].as_str().unwrap_or("0").parse().unwrap();
    meta["resourceVersion"] = json!((version + 1).to_string());
    if head.method == Method::POST {
        (meta["uid"], meta["name"]) = (json!("u"), json!(meta["name"].as_str().unwrap_or("web-1")));
    }
    object
}

/// A client of an API server that stores what it gets. Tells of every write to Endpoints.
fn stores(writes: mpsc::UnboundedSender<Value>) -> Client {
    let answer = move |request: Request<Body>| {
        let writes = writes.clone();
        async move {
            let is_told = is_of_endpoints(&request);
            let object = stored(request).await;
            let text = object.to_string();
            if is_told {
                writes.send(object).unwrap();
            }
            Ok::<_, Infallible>(Response::new(Body::from(text.into_bytes())))
        }
    };
    Client::new(tower::service_fn(answer), "default")
}

/// A client of an API server that stores slices, and answers writes of Endpoints with this code.
fn stores_slices(code: u16) -> Client {
    let answer = move |request: Request<Body>| async move {
        let (code, object) = if is_of_endpoints(&request) && code >= 400 {
            (code, json!({ "kind": "Status", "status": "Failure", "message": "no", "code": code }))
        } else {
            (200, stored(request).await)
        };
        Response::builder().status(code).body(Body::from(object.to_string().into_bytes()))
    };
    Client::new(tower::service_fn(answer), "default")
}

fn pod(name: &str, node: &str, ready: bool) -> Pod {
    let ready = json!([{ "type": "Ready", "status": if ready { "True" } else { "False" } }]);
    let meta = json!({ "name": name, "namespace": "shop", "uid": name, "labels": { "app": "web" } });
    let status = json!({ "podIP": "10.0.0.1", "podIPs": [{ "ip": "10.0.0.1" }], "conditions": ready });
    read(json!({ "metadata": meta, "spec": { "nodeName": node }, "status": status }))
}

fn service() -> Value {
    let spec = json!({ "selector": { "app": "web" }, "clusterIP": "None", "ipFamilies": ["IPv4"],
        "ports": [{ "port": 80, "targetPort": 80 }] });
    json!({ "metadata": { "name": "web", "namespace": "shop" }, "spec": spec })
}

/// A pod whose node is missing makes every plan of its Service incomplete. The other pods do not wait for that.
#[tokio::test(start_paused = true)]
async fn an_incomplete_plan_postpones_nothing() {
    let copy = Arc::new(ClusterCopy::new(
        Controller::ALL.into(),
        Options::default(),
        Pacing::Batch(Duration::ZERO),
        ServiceScope::default(),
    ));
    list(&copy, vec![pod("web-0", "there", false), pod("web-1", "missing", true)]);
    list::<Service>(&copy, vec![read(service())]);
    list::<Node>(&copy, vec![read(json!({ "metadata": { "name": "there" } }))]);
    list::<EndpointSlice>(&copy, Vec::new());
    list::<Endpoints>(&copy, Vec::new());
    let (writes, mut written) = mpsc::unbounded_channel();
    let client = stores(writes);
    let applier = Arc::new(Applier::new(client.clone(), copy.clone(), None));
    let (events, _sending) = events(client, Clock::system());
    copy.begin_to_lead();
    let metrics = ControllerMetrics::new();
    let worker = tokio::spawn(work(
        copy.clone(),
        Duty::Keep,
        applier,
        events,
        metrics,
        Tracer::default(),
        std::future::pending(),
    ));
    written.recv().await.unwrap();
    for n in 0..8 {
        let changed = Instant::now();
        copy.apply(Arc::new(pod("web-0", "there", n % 2 == 0)));
        written.recv().await.unwrap();
        assert!(changed.elapsed() < Duration::from_millis(10), "change {n}: {:?}", changed.elapsed());
    }
    worker.abort();
}

/// The spans of a sync of one Service before an API server that answers writes of Endpoints with this code.
async fn traced(code: u16) -> [RecordedSpan; 3] {
    let copy = Arc::new(copy_of(ServiceScope::default(), vec![service()], Vec::new(), Vec::new()));
    let client = stores_slices(code);
    let applier = Arc::new(Applier::new(client.clone(), copy.clone(), None));
    let (events, _sending) = events(client, Clock::system());
    let (tracer, mut spans) = RecordedSpans::of_share(1.0);
    let (metrics, stop) = (ControllerMetrics::new(), std::future::pending());
    let worker = tokio::spawn(work(copy, Duty::Keep, applier, events, metrics, tracer, stop));
    let of_sync = [spans.next().await, spans.next().await, spans.next().await];
    worker.abort();
    of_sync
}

#[tokio::test(start_paused = true)]
async fn a_sync_is_a_trace_with_its_plan_and_its_writes() {
    for (code, result, writes, has_failed) in
        [(200, "success", 2, false), (409, "stale", 1, false), (403, "error", 1, true), (500, "error", 1, true)]
    {
        let [plan, write, sync] = traced(code).await;
        let names = [&plan, &write, &sync].map(|span| span.name.as_str());
        assert_eq!(names, ["plan", "write", "sync"], "{code}");
        let want = [
            "k8s.namespace.name=shop",
            "roster.service=web",
            "roster.origin=other",
            &format!("roster.result={result}"),
            &format!("roster.writes={writes}"),
        ];
        assert_eq!(sync.attributes, want, "{code}");
        assert_eq!((sync.parent.as_str(), sync.has_failed), ("", has_failed), "{code}");
        for part in [plan, write] {
            assert_eq!((&part.trace, &part.parent), (&sync.trace, &sync.id), "{code}: {}", part.name);
        }
    }
}

#[test]
fn the_log_of_a_sync_that_fails_names_its_trace() {
    let trace = Mutex::default();
    let log = logged(async || {
        let [.., sync] = traced(403).await;
        *trace.lock().unwrap() = format!(" trace_id={} ", sync.trace);
    });
    let trace = trace.into_inner().unwrap();
    let failures: Vec<&str> = log.lines().filter(|line| line.contains("a write has failed")).collect();
    assert!(failures.len() == 1 && failures[0].contains(&trace), "{trace}: {log}");
}
