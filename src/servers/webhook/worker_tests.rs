//! Large reviews and conversions that wait for a worker.

use std::sync::Arc;

use axum::{
    body::Body,
    http::{Extensions, Request, StatusCode},
};
use roster_admission::Nothing;
use roster_engine::model::{EndpointSlice, Pod};
use roster_manifests::inventory::Answers;
use serde_json::{Value, json};
use tokio::task::{JoinHandle, yield_now};

use super::{
    ActivePolicies, FailureMode, Webhook, WebhookLimits,
    tests::{LIMITS, ask, empty_store, post, registered, review, webhook},
};
use crate::runtime::{
    net::{Exchange, Health, Peer},
    workers::Workers,
};

/// Keeps a thread of `workers` busy until the sender is dropped.
async fn occupy(workers: &Workers) -> std::sync::mpsc::Sender<()> {
    let (hold, held) = std::sync::mpsc::channel::<()>();
    let (begun, has_begun) = tokio::sync::oneshot::channel();
    let workers = workers.clone();
    tokio::spawn(async move {
        let wait = move || {
            begun.send(()).unwrap();
            let _ = held.recv();
        };
        workers.run("somebody else", (), 0, wait).await
    });
    has_begun.await.unwrap();
    hold
}

#[tokio::test]
async fn a_limited_number_of_large_reviews_wait_for_a_worker() {
    let (webhook, metrics) = webhook(FailureMode::Closed);
    let large = || post("/validate", review("large", 500_000));
    let turn = occupy(&webhook.large).await;
    // One that cannot wait does not.
    let (_, _, body) = ask(&webhook, post("/validate?timeout=50ms", review("large", 500_000))).await;
    assert!(body["response"]["warnings"][0].as_str().unwrap().contains("too little time"), "{body}");
    let waiting = tokio::spawn({
        let webhook = webhook.clone();
        async move { ask(&webhook, large()).await }
    });
    while webhook.large.waiting() == 0 {
        yield_now().await;
    }
    let (status, _, body) = ask(&webhook, large()).await;
    assert_eq!((status.as_u16(), &body["response"]["status"]["code"]), (200, &503.into()), "{body}");
    drop(turn);
    let (_, _, body) = waiting.await.unwrap();
    assert_eq!(body["response"], json!({ "uid": "large", "allowed": true }));
    let text = metrics.encode().unwrap();
    assert!(text.contains("roster_admission_shed_total{stage=\"validate\",reason=\"busy\"} 1"), "{text}");
}

/// Any client may send conversions: they wait for one another, but not for reviews, and reviews do not wait for them.
#[tokio::test]
async fn conversions_have_their_own_workers() {
    let (webhook, _) = webhook(FailureMode::Closed);
    let conversion = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
        "request": { "uid": "u", "desiredAPIVersion": "roster.dev/v1", "objects": [] },
    })
    .to_string();
    let convert = |query: &str| post(&format!("/convert{query}"), conversion.clone());
    let done = |body: &Value| body["response"]["result"]["status"] == "Success";
    let turn = occupy(&webhook.conversions).await;
    let (_, _, body) = ask(&webhook, post("/validate", review("large", 500_000))).await;
    assert_eq!(body["response"]["allowed"], true);
    let (status, _, body) = ask(&webhook, convert("?timeout=50ms")).await;
    assert_eq!((status.as_u16(), body["reason"].as_str()), (503, Some("ServiceUnavailable")), "{body}");
    drop(turn);
    let _turn = occupy(&webhook.large).await;
    let (status, _, body) = ask(&webhook, convert("")).await;
    assert!(status == StatusCode::OK && done(&body), "{body}");
}

/// A large review of a user, sent by a peer.
fn sent_by(peer: u8, user: &str) -> Request<Body> {
    let body =
        review(&format!("{peer}{user}"), 500_000).replace("\"username\":\"me\"", &format!("\"username\":\"{user}\""));
    let mut exchange = Exchange::of(&Extensions::new());
    exchange.peer = Peer::of(([10, 0, 0, peer], 0).into());
    let mut request = post("/validate", body);
    request.extensions_mut().insert(exchange);
    request
}

/// The user is a part of the body, which a hostile peer writes as it likes.
#[tokio::test]
async fn a_peer_that_invents_users_loses_its_own_reviews() {
    let (metrics, _) = registered();
    let limits = WebhookLimits { queue: 3, ..LIMITS };
    let policies = Arc::new(ActivePolicies::default());
    let webhook = Webhook::new(Arc::new(Nothing), policies, metrics, limits, FailureMode::Closed, &Health::default());
    let turn = occupy(&webhook.large).await;
    let rows = [(1, "me", true), (1, "me", true), (2, "x", true), (2, "y", false), (2, "me", false)];
    let mut sent: Vec<JoinHandle<(StatusCode, Option<String>, Value)>> = Vec::new();
    for (peer, user, _) in rows {
        let sender = webhook.clone();
        sent.push(tokio::spawn(async move { ask(&sender, sent_by(peer, user)).await }));
        // Each waits, or another one has lost its place, before the next one comes.
        while webhook.large.waiting() + sent.iter().filter(|answer| answer.is_finished()).count() < sent.len() {
            yield_now().await;
        }
    }
    drop(turn);
    for ((peer, user, is_reviewed), answer) in rows.into_iter().zip(sent) {
        let (_, _, body) = answer.await.unwrap();
        assert_eq!(body["response"]["allowed"], is_reviewed, "{user} of peer {peer}: {body}");
    }
}

/// A review is small by what there may be to do, not by its bytes alone.
#[tokio::test]
async fn small_reviews_wait_for_no_worker() {
    for (pods, slices, kind, padding, waits) in [
        (0, 0, "Service", 1_000, false),
        (0, 0, "Service", 30_000, false),
        (0, 0, "Service", 33_000, true),
        (100, 0, "Service", 1_000, false),
        (2_000, 0, "Service", 1_000, true),
        (2_000, 20, "EndpointSlice", 1_000, false),
        (0, 100, "EndpointSlice", 1_000, true),
        (2_000, 100, "Endpoints", 1_000, false),
    ] {
        let store = empty_store();
        store.fill::<Pod>((0..pods).map(|i| of_shop("pod", i)).collect());
        store.fill::<EndpointSlice>((0..slices).map(|i| of_shop("slice", i)).collect());
        let (metrics, _) = registered();
        let policies = Arc::new(ActivePolicies::default());
        let webhook =
            Webhook::new(Arc::new(Answers(store)), policies, metrics, LIMITS, FailureMode::Open, &Health::default());
        let _turn = occupy(&webhook.large).await;
        let mut body: Value = serde_json::from_str(&review("u", padding)).unwrap();
        body["request"]["kind"]["kind"] = kind.into();
        if kind == "EndpointSlice" {
            (body["request"]["kind"]["group"], body["request"]["kind"]["version"]) =
                ("discovery.k8s.io".into(), "v1".into());
        }
        let (_, _, answer) = ask(&webhook, post("/validate?timeout=50ms", body.to_string())).await;
        let warnings = answer["response"]["warnings"].to_string();
        assert_eq!(warnings.contains("too little time"), waits, "{pods} {slices} {kind} {padding}: {answer}");
    }
}

/// An object of the namespace `shop`.
fn of_shop<T: serde::de::DeserializeOwned>(name: &str, number: usize) -> T {
    let name = format!("{name}-{number}");
    serde_json::from_value(json!({ "metadata": { "name": name, "namespace": "shop" }, "addressType": "IPv4" })).unwrap()
}

/// A large review that was not checked is answered by its beginning. No API server writes the object first; where a client
/// does, one such review is read at a time.
#[tokio::test]
async fn a_large_review_that_is_not_checked_is_answered() {
    let (webhook, _) = webhook(FailureMode::Open);
    let _turn = occupy(&webhook.large).await;
    let large: Value = serde_json::from_str(&review("uid-1", 500_000)).unwrap();
    let object = format!("\"object\":{}", large["request"]["object"]);
    let uid = "\"uid\":\"uid-1\"";
    let uid_first = format!("{uid},{object}");
    let object_first = format!("{object},{uid}");
    for (fields, another_is_read, want) in
        [(&uid_first, false, 200), (&object_first, false, 200), (&uid_first, true, 200), (&object_first, true, 503)]
    {
        let permit = webhook.whole.clone().acquire_owned().await.unwrap();
        let _another = another_is_read.then_some(permit);
        let envelope = r#""apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview""#;
        let body = format!("{{{envelope},\"request\":{{{fields}}}}}");
        let (status, _, body) = ask(&webhook, post("/validate?timeout=50ms", body)).await;
        let said = body["response"]["warnings"].to_string() + &body["message"].to_string();
        assert!(status == want && said.contains("too little time"), "{status} {body}");
        assert_eq!(body["response"]["uid"] == "uid-1", want == 200, "{body}");
    }
}
