//! A worker with an API server that stores everything.

use std::{convert::Infallible, sync::Arc, time::Duration};

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
    event_sender::events,
    metrics::ControllerMetrics,
    service_scope::ServiceScope,
    watched_value::Watched,
    worker::{Duty, work},
};
use crate::runtime::{clock::Clock, telemetry::traces::Tracer};

fn read<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn list<T: Watched>(copy: &ClusterCopy, objects: Vec<T>) {
    copy.begin_list::<T>();
    let new: Vec<Arc<T>> = objects.into_iter().filter_map(|object| copy.list(Arc::new(object))).collect();
    copy.end_list::<T>(Table::new(new, |_| {}));
}

/// A client of an API server that stores what it gets. Tells of every write to Endpoints.
fn stores(writes: mpsc::UnboundedSender<Value>) -> Client {
    let answer = move |request: Request<Body>| {
        let writes = writes.clone();
        async move {
            let (head, body) = request.into_parts();
            let mut object: Value = serde_json::from_slice(&body.collect().await.unwrap().to_bytes()).unwrap();
            let meta = &mut object["metadata"];
            let version: u64 = meta["resourceVersion"].as_str().unwrap_or("0").parse().unwrap();
            meta["resourceVersion"] = json!((version + 1).to_string());
            if head.method == Method::POST {
                (meta["uid"], meta["name"]) = (json!("u"), json!(meta["name"].as_str().unwrap_or("web-1")));
            }
            let text = object.to_string();
            if head.uri.path().contains("/endpoints") && !head.uri.path().contains("/endpointslices") {
                writes.send(object).unwrap();
            }
            Ok::<_, Infallible>(Response::new(Body::from(text.into_bytes())))
        }
    };
    Client::new(tower::service_fn(answer), "default")
}

fn pod(name: &str, node: &str, ready: bool) -> Pod {
    let ready = json!([{ "type": "Ready", "status": if ready { "True" } else { "False" } }]);
    let meta = json!({ "name": name, "namespace": "shop", "uid": name, "labels": { "app": "web" } });
    let status = json!({ "podIP": "10.0.0.1", "podIPs": [{ "ip": "10.0.0.1" }], "conditions": ready });
    read(json!({ "metadata": meta, "spec": { "nodeName": node }, "status": status }))
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
    let spec =
        json!({ "selector": { "app": "web" }, "clusterIP": "None", "ports": [{ "port": 80, "targetPort": 80 }] });
    list::<Service>(&copy, vec![read(json!({ "metadata": { "name": "web", "namespace": "shop" }, "spec": spec }))]);
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
