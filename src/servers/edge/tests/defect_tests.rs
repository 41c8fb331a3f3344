//! Defects of SuperEdge's application-grid-wrapper that this proxy must not have, and that no other test names.

use std::{sync::Arc, thread, time::Duration};

use axum::http::Method;
use futures::StreamExt;
use roster_engine::model::Resource;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::runtime::telemetry::memory_log::logged;
use crate::servers::edge::{
    cache::{edge_cache::EdgeCache, raw_object::ObjectName, scheme::EdgeScheme, selection::Selection},
    tests::{GOOD, SLICES, TestedEdge, read},
    upstream::upstream_event::UpstreamEvent,
};

const EVENT: Duration = Duration::from_secs(10);

/// A node of a region.
fn node(name: &str, region: usize) -> Value {
    json!({ "kind": "Node", "metadata": { "name": name, "labels": { "region": region.to_string() } } })
}

/// A slice of the Service `web` with an endpoint on the own node and one on the node `far`.
fn slice(name: &str, address: &str) -> Value {
    json!({ "kind": "EndpointSlice", "metadata": { "name": name, "namespace": "shop",
        "labels": { "kubernetes.io/service-name": "web" } }, "addressType": "IPv4",
        "endpoints": [{ "addresses": [address], "nodeName": "edge-1", "hints": { "forZones": [{ "name": "z" }] } },
            { "addresses": ["10.0.0.2"], "nodeName": "far" }] })
}

fn addresses(slice: &Value) -> Vec<&str> {
    slice["endpoints"].as_array().unwrap().iter().map(|e| e["addresses"][0].as_str().unwrap()).collect()
}

/// The addresses of a slice as clients see it.
fn served(cache: &EdgeCache, name: &str) -> Value {
    let object = cache.get(Resource::EndpointSlice, &ObjectName::new("shop", name)).unwrap();
    let mut text = Vec::new();
    object.object.write(object.version, &mut text);
    serde_json::from_slice(&text).unwrap()
}

#[test]
fn a15_p6_events_of_writers_on_many_threads_are_in_the_order_of_what_they_change() {
    let edge = TestedEdge::new(EdgeScheme::SuperEdge);
    let begin = edge.cache.version();
    let write = |cache: Arc<EdgeCache>, object: fn(usize) -> Value| {
        thread::spawn(move || {
            for i in 0..300 {
                let object = object(i);
                let resource = if object["kind"] == "Node" { Resource::Node } else { Resource::EndpointSlice };
                cache.apply(vec![UpstreamEvent::Apply(read(resource, &object))]);
            }
        })
    };
    let writers = [
        write(edge.cache.clone(), |i| node("far", i % 3)),
        write(edge.cache.clone(), |i| node("edge-1", i % 2)),
        write(edge.cache.clone(), |i| slice("web-1", &format!("10.0.1.{}", i % 250))),
    ];
    for writer in writers {
        writer.join().unwrap();
    }
    let batch = edge.cache.events_since(Resource::EndpointSlice, begin, &Selection::default(), usize::MAX).unwrap();
    assert!(batch.events.len() > 300, "{}", batch.events.len());
    assert!(batch.events.is_sorted_by(|a, b| a.version < b.version));
    let last = batch.events.last().unwrap();
    let mut text = Vec::new();
    last.object.write(last.version, &mut text);
    assert_eq!(serde_json::from_slice::<Value>(&text).unwrap(), served(&edge.cache, "web-1"));
}

#[tokio::test]
async fn a15_p12_the_own_node_is_read_and_watched_and_others_are_the_api_servers() {
    let edge = TestedEdge::new(EdgeScheme::SuperEdge);
    let (code, list) = edge.get("/api/v1/nodes?fieldSelector=metadata.name%3Dedge-1", &[GOOD]).await;
    assert_eq!((code, &list["items"][0]["metadata"]["name"]), (200, &json!("edge-1")));
    for path in ["/api/v1/nodes", "/api/v1/nodes/far", "/api/v1/nodes/edge-1/status", "/api/v1/nodes/edge-1/proxy/pods"]
    {
        let (code, body) = edge.get(path, &[GOOD]).await;
        assert_eq!((code, &body["upstream"]), (200, &json!(format!("/cluster-a{path}"))), "{path}");
    }
    let mut events = edge.watch("/api/v1/nodes?watch=1&fieldSelector=metadata.name%3Dedge-1").await;
    edge.put(&node("edge-1", 7));
    let regions: Vec<Value> = vec![events.next().await.unwrap(), events.next().await.unwrap()];
    let regions = regions.iter().map(|event| event["object"]["metadata"]["labels"]["region"].clone());
    assert_eq!(regions.collect::<Vec<_>>(), ["1", "7"]);
}

#[tokio::test]
async fn a15_p19_p21_a_label_of_a_node_is_an_event_and_what_is_deleted_is_as_it_was_seen() {
    let edge = TestedEdge::new(EdgeScheme::SuperEdge);
    let mut events = edge.watch(&format!("{SLICES}?watch=1")).await;
    edge.put(&node("far", 1));
    edge.cache.apply(vec![UpstreamEvent::Delete(Resource::EndpointSlice, ObjectName::new("shop", "web-1"))]);
    let mut seen = Vec::new();
    for _ in 0..3 {
        let event = timeout(EVENT, events.next()).await.unwrap().unwrap();
        seen.push(format!("{} {}", event["type"].as_str().unwrap(), addresses(&event["object"]).join(" ")));
    }
    assert_eq!(seen, ["ADDED 10.0.0.1", "MODIFIED 10.0.0.1 10.0.0.2", "DELETED 10.0.0.1 10.0.0.2"]);
}

#[test]
fn a15_t15_the_hints_of_endpoints_that_stay_are_served_as_they_are() {
    let edge = TestedEdge::new(EdgeScheme::SuperEdge);
    edge.put(&slice("web-1", "10.0.0.1"));
    let served = served(&edge.cache, "web-1");
    assert_eq!(addresses(&served), ["10.0.0.1"]);
    assert_eq!(served["endpoints"][0]["hints"], json!({ "forZones": [{ "name": "z" }] }));
}

#[tokio::test]
async fn a15_l5_a_watch_ends_when_the_server_stops() {
    let edge = TestedEdge::new(EdgeScheme::SuperEdge);
    edge.health.set_running(true);
    let mut events = edge.watch(&format!("{SLICES}?watch=1")).await;
    timeout(EVENT, events.next()).await.unwrap().unwrap();
    assert_eq!(edge.get("/readyz", &[]).await.0, 200);
    edge.health.set_running(false);
    assert_eq!(timeout(EVENT, events.next()).await.unwrap(), None);
    assert_eq!((edge.get("/readyz", &[]).await.0, edge.slots.held()), (503, 0));
}

#[tokio::test]
async fn a15_p22_what_is_cached_is_not_compressed_for_clients_of_the_same_node() {
    let edge = TestedEdge::new(EdgeScheme::SuperEdge);
    let response = edge.send(Method::GET, SLICES, &[GOOD, ("accept-encoding", "gzip")]).await;
    assert_eq!((response.status().as_u16(), response.headers().get("content-encoding")), (200, None));
    let (code, list) = edge.get(SLICES, &[GOOD, ("accept-encoding", "gzip, identity;q=0")]).await;
    assert_eq!((code, &list["kind"]), (200, &json!("EndpointSliceList")));
}

#[tokio::test]
async fn a15_p23_s3_paths_and_headers_of_ingress_mean_nothing() {
    const ENDPOINTS: &str = "/api/v1/namespaces/shop/endpoints";
    let edge = TestedEdge::new(EdgeScheme::SuperEdge);
    for (method, path) in [
        (Method::GET, "/superedge-ingress"),
        (Method::GET, "/superedge-ingress/pool/api/v1/endpoints"),
        (Method::POST, "/superedge-ingress"),
        (Method::POST, ENDPOINTS),
        (Method::DELETE, ENDPOINTS),
        (Method::PUT, "/api/v1/namespaces/shop/endpoints/web"),
    ] {
        let response = edge.send(method.clone(), path, &[GOOD, ("superedge-ingress", "pool")]).await;
        assert_eq!(response.status(), 200, "{method} {path}");
        let want = (method.to_string(), format!("/cluster-a{path}"), "Bearer good".to_owned());
        assert_eq!(edge.api.requests(), [want]);
    }
    let plain = edge.get(SLICES, &[GOOD]).await;
    assert_eq!(edge.get(SLICES, &[GOOD, ("superedge-ingress", "pool")]).await, plain);
}

#[tokio::test]
async fn a15_t16_lists_gets_and_watches_are_pruned_alike_also_what_is_not_ready() {
    let edge = TestedEdge::new(EdgeScheme::SuperEdge);
    let mut unready = slice("web-1", "10.0.0.1");
    unready["endpoints"].as_array_mut().unwrap().push(json!({ "addresses": ["10.0.0.3"], "nodeName": "far",
        "conditions": { "ready": false } }));
    edge.put(&unready);
    let list = edge.get(SLICES, &[GOOD]).await.1;
    let one = edge.get("/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices/web-1", &[GOOD]).await.1;
    let event = edge.watch(&format!("{SLICES}?watch=1")).await.next().await.unwrap();
    for seen in [&list["items"][0], &one, &event["object"]] {
        assert_eq!(addresses(seen), ["10.0.0.1"], "{seen}");
    }
}

#[tokio::test]
async fn a15_l2_a_watch_of_nodes_leaves_nothing() {
    let edge = TestedEdge::new(EdgeScheme::SuperEdge);
    let mut events = edge.watch("/api/v1/nodes?watch=1&fieldSelector=metadata.name%3Dedge-1").await;
    events.next().await.unwrap();
    assert_eq!(edge.slots.held(), 1);
    drop(events);
    assert_eq!(edge.slots.held(), 0);
}

#[test]
fn a15_l6_a_list_is_the_state_of_one_moment_while_others_write() {
    let edge = TestedEdge::new(EdgeScheme::SuperEdge);
    let cache = edge.cache.clone();
    let writer = thread::spawn(move || {
        for i in 0..300 {
            // Both in one event.
            let both = [slice("web-1", &format!("10.0.1.{}", i % 250)), slice("web-2", &format!("10.0.1.{}", i % 250))];
            let both = both.iter().map(|slice| read(Resource::EndpointSlice, slice)).collect();
            cache.apply(vec![UpstreamEvent::Replace(Resource::EndpointSlice, both)]);
        }
    });
    let read_lists = |cache: Arc<EdgeCache>| {
        let mut last = 0;
        for _ in 0..300 {
            let list = cache.list(Resource::EndpointSlice, None);
            assert!(list.version >= last && list.objects.iter().all(|object| object.version <= list.version));
            last = list.version;
            let texts: Vec<Value> = list
                .objects
                .iter()
                .map(|object| {
                    let mut text = Vec::new();
                    object.object.write(object.version, &mut text);
                    serde_json::from_slice(&text).unwrap()
                })
                .collect();
            assert!(texts.windows(2).all(|pair| addresses(&pair[0]) == addresses(&pair[1])));
        }
    };
    let readers = [edge.cache.clone(), edge.cache].map(|cache| thread::spawn(move || read_lists(cache)));
    for thread in readers.into_iter().chain([writer]) {
        thread.join().unwrap();
    }
}

#[test]
fn a15_l7_requests_and_objects_are_not_logged() {
    let log = logged(async || {
        tracing::info!("begin");
        let edge = TestedEdge::new(EdgeScheme::SuperEdge);
        for (path, headers) in [(SLICES, &[GOOD][..]), (SLICES, &[]), ("/api/v1/secrets", &[GOOD]), ("//", &[GOOD])] {
            edge.get(path, headers).await;
        }
        let mut events = edge.watch(&format!("{SLICES}?watch=1")).await;
        edge.put(&node("far", 1));
        events.next().await.unwrap();
    });
    assert!(log.contains("begin") && log.lines().count() == 1, "{log}");
}
