//! Traces of reviews, as a collector gets them; and collectors that are slow or gone.

use std::{future::pending, net::SocketAddr, time::Instant};

use axum::{Router, body::Bytes, http::StatusCode, routing::post};
use roster::runtime::telemetry::traces::{CollectorHeaders, TraceOptions};
use serde_json::Value;
use tokio::{
    net::TcpListener,
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
};

use super::*;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";

/// How a collector answers.
#[derive(Clone, Copy, Debug)]
enum Collector {
    Good,
    Refusing,
    Silent,
    Gone,
}

/// Starts a collector, and returns the bodies that it gets.
async fn collector(kind: Collector) -> (SocketAddr, UnboundedReceiver<Value>) {
    let (sender, bodies) = unbounded_channel();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let take = move |body: Bytes| {
        let sender = sender.clone();
        async move {
            let body = serde_json::from_slice(&body).unwrap();
            match kind {
                Collector::Silent => pending().await,
                Collector::Refusing => StatusCode::SERVICE_UNAVAILABLE,
                _ => {
                    sender.send(body).unwrap();
                    StatusCode::OK
                }
            }
        }
    };
    if !matches!(kind, Collector::Gone) {
        let router = Router::new().route("/v1/traces", post(take));
        tokio::spawn(async move { axum::serve(listener, router).await });
    }
    (address, bodies)
}

/// A webhook that sends traces there, and its client.
async fn traced(folder: &Folder, collector: SocketAddr) -> (Running, Client) {
    let ours = material();
    folder.swap(&ours);
    let endpoint = format!("http://{collector}").parse().unwrap();
    let headers = CollectorHeaders::default();
    let traces =
        Some(TraceOptions { endpoint, headers, share: 0.0, service: "roster", instance: Some("pod-1".to_owned()) });
    (start(ServeOptions { traces, ..options(folder) }).await, Client::trusting(&ours.bundle))
}

/// The answer to a review of a caller whose trace has these flags.
async fn ask(client: &Client, address: SocketAddr, body: &str, flags: &str) -> String {
    let head = format!(
        "POST /validate HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntraceparent: 00-{TRACE}-{CALLER}-{flags}\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    tls::request_on(client.connect(address).await.unwrap(), &format!("{head}{body}")).await.unwrap()
}

/// The value of an attribute.
fn attribute(of: &Value, key: &str) -> Value {
    let all = of["attributes"].as_array().unwrap();
    all.iter().find(|attribute| attribute["key"] == key).map_or(Value::Null, |attribute| attribute["value"].clone())
}

#[tokio::test]
async fn a_review_is_a_part_of_the_trace_of_the_api_server() {
    let folder = Folder::new();
    let (address, mut bodies) = collector(Collector::Good).await;
    let (server, client) = traced(&folder, address).await;
    let named = |uid| {
        let named = r#""name":"web","namespace":"shop","operation":"CREATE""#;
        review(uid, 100).replace(r#""operation":"CREATE""#, named)
    };
    let secret = named("secret").replace("\"Service\"", "\"Secret\"").replace("\"web\"", "\"hunter2\"");
    assert!(secret.contains(r#""name":"hunter2","namespace""#), "{secret}");
    for (uid, body, flags) in
        [("unsampled", &named("unsampled"), "00"), ("sampled", &named("sampled"), "01"), ("secret", &secret, "01")]
    {
        assert!(ask(&client, server.webhook, body, flags).await.contains(&allowed(uid)), "{uid}");
    }
    // What waits is sent before the end.
    server.signals.unbounded_send(()).unwrap();
    server.done.await.unwrap().unwrap();
    bodies.close();
    let (mut spans, mut texts) = (Vec::new(), String::new());
    while let Some(body) = bodies.recv().await {
        let of_server = &body["resourceSpans"][0];
        for (key, want) in [("service.name", "roster"), ("service.instance.id", "pod-1")] {
            assert_eq!(attribute(&of_server["resource"], key), json!({ "stringValue": want }), "{key}");
        }
        spans.extend(of_server["scopeSpans"][0]["spans"].as_array().unwrap().clone());
        texts += &body.to_string();
    }
    assert_eq!(spans.len(), 4, "two reviews and their decisions: {texts}");
    let of_uid = |span: &&Value| attribute(span, "roster.review.uid") == json!({ "stringValue": "sampled" });
    let request = spans.iter().find(of_uid).unwrap();
    let decision = spans.iter().find(|span| span["parentSpanId"] == request["spanId"]).unwrap();
    assert_eq!((&request["name"], &decision["name"]), (&json!("POST /validate"), &json!("decide")));
    assert_eq!((&request["traceId"], &request["parentSpanId"]), (&json!(TRACE), &json!(CALLER)));
    assert_eq!((&request["kind"], &decision["traceId"]), (&json!(2), &json!(TRACE)));
    for (key, want) in [
        ("http.request.method", json!({ "stringValue": "POST" })),
        ("http.route", json!({ "stringValue": "/validate" })),
        ("http.response.status_code", json!({ "intValue": "200" })),
        ("roster.kind", json!({ "stringValue": "Service" })),
        ("k8s.namespace.name", json!({ "stringValue": "shop" })),
        ("roster.name", json!({ "stringValue": "web" })),
        ("roster.allowed", json!({ "boolValue": true })),
    ] {
        assert_eq!(attribute(request, key), want, "{key}: {request}");
    }
    assert!(!texts.contains("xxx") && !texts.contains("hunter2"), "neither a body nor the name of a Secret: {texts}");
}

/// A caller waits for no collector, and nothing is kept for one.
#[tokio::test]
async fn a_bad_collector_costs_spans_only() {
    for (kind, result) in
        [(Collector::Refusing, "refused"), (Collector::Gone, "unanswered"), (Collector::Silent, "unanswered")]
    {
        let folder = Folder::new();
        let (address, _bodies) = collector(kind).await;
        let (server, client) = traced(&folder, address).await;
        for n in 0..10 {
            let (uid, asked) = (format!("review-{n}"), Instant::now());
            assert!(ask(&client, server.webhook, &review(&uid, 100), "01").await.contains(&allowed(&uid)), "{kind:?}");
            assert!(asked.elapsed() < Duration::from_secs(4), "{kind:?}");
        }
        let dropped = format!("roster_trace_spans_total{{result=\"{result}\"}} 20\n");
        server.until("/metrics", &dropped).await;
        server.signals.unbounded_send(()).unwrap();
        assert!(server.done.await.unwrap().is_ok(), "{kind:?}");
    }
}
