//! Tests of the node proxy as a client sees it that accepts protobuf only: it gets what JSON has.

use std::time::Duration;

use axum::{
    body::to_bytes,
    http::{Method, header},
};
use futures::{FutureExt, StreamExt};
use prometheus_client::{encoding::text::encode_registry, registry::Registry};
use roster_engine::model::Resource;
use serde_json::{Value, json};

use crate::runtime::{status_error::StatusError, telemetry::memory_log::logged};
use crate::servers::edge::{
    access::caller::CallerDigest,
    cache::{raw_object::ObjectName, scheme::EdgeScheme},
    encoding::{body_encoding::BodyEncoding, protobuf::ProtobufKind},
    tests::{GOOD, PROTOBUF, SERVICES, SLICES, TestedEdge, service},
    upstream::upstream_event::UpstreamEvent,
};

const WEB: &str = "/api/v1/namespaces/shop/services/web";
const EVENTS: &str = "application/vnd.kubernetes.protobuf;stream=watch";

/// Status, type and body of a response to a protobuf client.
async fn get(edge: &TestedEdge, path: &str) -> (u16, String, Vec<u8>) {
    let response = edge.send(Method::GET, path, &[GOOD, PROTOBUF]).await;
    let content_type = response.headers()[header::CONTENT_TYPE].to_str().unwrap().to_owned();
    (response.status().as_u16(), content_type, to_bytes(response.into_body(), 1 << 24).await.unwrap().to_vec())
}

/// A list as protobuf, made from what it is as JSON.
fn list_of(resource: Resource, list: &Value) -> Vec<u8> {
    let (kind, mut items, mut out) = (ProtobufKind::of(resource).unwrap(), Vec::new(), Vec::new());
    for item in list["items"].as_array().unwrap() {
        kind.write_item(item.to_string().as_bytes(), &mut items).unwrap();
    }
    let version = list["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
    kind.write_list_head(version, items.len(), &mut out).unwrap();
    out.extend_from_slice(&items);
    ProtobufKind::write_list_end(&mut out);
    out
}

#[tokio::test]
async fn gets_and_lists_have_what_json_has() {
    let edge = TestedEdge::new(EdgeScheme::SuperEdge);
    for name in ["a", "b", "c"] {
        edge.put(&service(name, &json!({ "long": "x".repeat(100_000) })));
    }
    let (_, object) = edge.get(WEB, &[GOOD]).await;
    let mut want = Vec::new();
    ProtobufKind::of(Resource::Service).unwrap().write(object.to_string().as_bytes(), &mut want).unwrap();
    assert_eq!(get(&edge, WEB).await, (200, PROTOBUF.1.to_owned(), want));
    for (path, resource, count) in [
        (SERVICES, Resource::Service, 4),
        (SLICES, Resource::EndpointSlice, 1),
        ("/api/v1/endpoints", Resource::Endpoints, 0),
        ("/api/v1/namespaces", Resource::Namespace, 1),
        ("/api/v1/services?labelSelector=app%3Dweb", Resource::Service, 1),
    ] {
        let (_, list) = edge.get(path, &[GOOD]).await;
        assert_eq!(list["items"].as_array().unwrap().len(), count, "{path}");
        assert_eq!(get(&edge, path).await, (200, PROTOBUF.1.to_owned(), list_of(resource, &list)), "{path}");
    }
    // What the scheme removes is not there.
    let (_, _, slices) = get(&edge, SLICES).await;
    let has = |text: &str| slices.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(has("10.0.0.1") && !has("10.0.0.2"));
    // Errors are JSON: clients look at the type.
    for (path, code) in [(&*format!("{WEB}-none"), 404), ("/api/v1/services?resourceVersion=9999999999999999", 410)] {
        let (status, content_type, body) = get(&edge, path).await;
        assert_eq!((status, &*content_type), (code, "application/json"), "{path}");
        assert_eq!(serde_json::from_slice::<Value>(&body).unwrap()["code"], code, "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn watches_have_the_events_that_json_has() {
    for query in [
        "watch=1&timeoutSeconds=70&allowWatchBookmarks=true",
        "watch=1&timeoutSeconds=70&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
        "watch=1&timeoutSeconds=70&resourceVersion=1",
    ] {
        let edge = TestedEdge::new(EdgeScheme::SuperEdge);
        let path = format!("{SERVICES}?{query}");
        let response = edge.send(Method::GET, &path, &[GOOD, PROTOBUF]).await;
        assert_eq!(
            (response.status().as_u16(), &response.headers()[header::CONTENT_TYPE]),
            (200, &EVENTS.parse().unwrap())
        );
        let events = edge.watch(&path).await;
        edge.put(&service("api", &json!({})));
        edge.put(&service("api", &json!({ "b": "2", "a": "1" })));
        edge.cache.apply(vec![UpstreamEvent::Delete(Resource::Service, ObjectName::new("shop", "api"))]);
        let (events, body) = tokio::join!(events.collect::<Vec<Value>>(), to_bytes(response.into_body(), 1 << 20));
        let mut want = Vec::new();
        for event in &events {
            let kind = match event["type"].as_str() {
                Some("ERROR") => ProtobufKind::STATUS,
                _ => ProtobufKind::of(Resource::Service).unwrap(),
            };
            let object = event["object"].to_string();
            kind.write_event(event["type"].as_str().unwrap(), object.as_bytes(), &mut want).unwrap();
        }
        assert!(!events.is_empty() && body.unwrap() == want, "{query}: {events:?}");
    }
}

#[tokio::test]
async fn an_object_that_cannot_be_written_is_an_error_not_another_object() {
    let edge = TestedEdge::new(EdgeScheme::SuperEdge);
    let mut bad = service("bad", &json!({}));
    bad["spec"] = json!({ "ports": [{ "port": "http" }] });
    edge.put(&bad);
    let message = "Service shop/bad cannot be written as protobuf: spec.ports.port: invalid type: string \"http\", \
        expected a whole number of 32 bits";
    let path = "/api/v1/namespaces/shop/services/bad";
    assert_eq!(edge.get(path, &[GOOD]).await.0, 200);
    for path in [path, SERVICES] {
        let (status, content_type, body) = get(&edge, path).await;
        let body: Value = serde_json::from_slice(&body).unwrap();
        let said = body["message"].as_str().unwrap();
        assert_eq!(
            (status, &*content_type, &body["reason"]),
            (500, "application/json", &json!("InternalError")),
            "{path}"
        );
        assert!(said.starts_with(message), "{path}: {said}");
    }
    // A watch ends with the error, and sends nothing after it.
    let (status, _, body) = get(&edge, &format!("{SERVICES}?watch=1&timeoutSeconds=5")).await;
    let text = String::from_utf8_lossy(&body);
    assert_eq!((status, text.contains("ERROR"), text.contains(message)), (200, true, true), "{text}");
    assert_eq!(get(&edge, WEB).await.0, 200);
    let mut registry = Registry::default();
    edge.metrics.unencodable.register(&mut registry);
    let mut metrics = String::new();
    encode_registry(&mut metrics, &registry).unwrap();
    assert!(metrics.contains("roster_edge_unencodable_reads_total{kind=\"services\"} 3\n"), "{metrics}");
}

#[test]
fn an_object_that_cannot_be_written_is_logged_once_a_minute_without_its_value() {
    let log = logged(async || {
        tokio::time::pause();
        let edge = TestedEdge::new(EdgeScheme::SuperEdge);
        let mut bad = service("bad", &json!({}));
        bad["spec"] = json!({ "ports": [{ "port": "secret" }] });
        edge.put(&bad);
        for seconds in [30, 31, 10] {
            get(&edge, SERVICES).await;
            tokio::time::advance(Duration::from_secs(seconds)).await;
        }
    });
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("cannot be written as protobuf")).collect();
    assert_eq!(lines.len(), 2, "{log}");
    for part in ["Service", "namespace=shop", "name=bad", "spec.ports.port"] {
        assert!(lines.iter().all(|line| line.contains(part)), "{part}: {log}");
    }
    assert!(!log.contains("secret"), "{log}");
}

#[tokio::test]
async fn a_client_that_reads_fast_does_not_delay_others() {
    let edge = TestedEdge::new(EdgeScheme::SuperEdge);
    for name in ["a", "b", "c"] {
        edge.put(&service(name, &json!({ "long": "x".repeat(100_000) })));
    }
    edge.get(SERVICES, &[GOOD]).await;
    // Three objects are measured, with a pause after each, and the fourth is small.
    let mut response = Box::pin(edge.send(Method::GET, SERVICES, &[GOOD, PROTOBUF]));
    for _ in 0..3 {
        assert!(response.as_mut().now_or_never().is_none());
    }
    let mut body = response.await.into_body().into_data_stream();
    assert!(body.next().now_or_never().flatten().is_some());
    for _ in 0..2 {
        assert!(body.next().now_or_never().is_none());
        assert!(body.next().now_or_never().flatten().is_some());
    }
}

#[tokio::test]
async fn only_what_has_changed_is_measured_again() {
    let edge = TestedEdge::new(EdgeScheme::SuperEdge);
    let put = |name: &str, letter: &str| edge.put(&service(name, &json!({ "long": letter.repeat(100_000) })));
    put("a", "x");
    put("b", "x");
    edge.get(SERVICES, &[GOOD]).await;
    // How often the response lets others run before its first byte.
    let pauses = || {
        let mut response = Box::pin(edge.send(Method::GET, SERVICES, &[GOOD, PROTOBUF]));
        (0..10).position(|_| response.as_mut().now_or_never().is_some())
    };
    assert_eq!((pauses(), pauses()), (Some(2), Some(0)));
    put("b", "y");
    assert_eq!((pauses(), pauses()), (Some(1), Some(0)));
    let (_, list) = edge.get(SERVICES, &[GOOD]).await;
    assert_eq!(get(&edge, SERVICES).await.2, list_of(Resource::Service, &list));
}

#[tokio::test(start_paused = true)]
async fn a_few_lists_are_measured_at_once() {
    let edge = TestedEdge::new(EdgeScheme::SuperEdge);
    let take = |caller: &str| edge.protobuf_lists.places.take(CallerDigest::from_hex(&caller.repeat(32)).unwrap(), ());
    let mut held = Vec::new();
    // The first caller may have two places, and later ones those that it leaves.
    for caller in ["0a", "0a", "0b", "0c"] {
        held.push(take(caller).unwrap());
    }
    let response = edge.send(Method::GET, SERVICES, &[GOOD, PROTOBUF]).await;
    assert_eq!((response.status().as_u16(), &response.headers()[header::RETRY_AFTER]), (429, &"1".parse().unwrap()));
    for (path, headers) in [(SERVICES, &[GOOD][..]), (WEB, &[GOOD, PROTOBUF])] {
        assert_eq!(edge.send(Method::GET, path, headers).await.status(), 200, "{path}");
    }
    held.pop();
    assert_eq!(get(&edge, SERVICES).await.0, 200);
    // All sizes are known now.
    held.push(take("0d").unwrap());
    assert_eq!(get(&edge, SERVICES).await.0, 200);
}

#[test]
fn an_error_is_written_in_either_encoding() {
    let status = StatusError::unreadable("why");
    for (encoding, begin) in [
        (BodyEncoding::Json, &br#"{"type":"ERROR","object":{"kind":"Status""#[..]),
        (BodyEncoding::Protobuf, b"\0\0\0"),
    ] {
        let mut out = Vec::new();
        encoding.write_error(&status, &mut out);
        assert!(out.starts_with(begin) && out.windows(3).any(|part| part == b"why"), "{encoding:?}");
    }
}
