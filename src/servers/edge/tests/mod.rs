//! Tests of the node proxy as its clients see it: over its routes, with an API server in memory.

mod client_certificate_tests;
mod connection_tests;
mod defect_tests;
mod node_health_tests;
mod protobuf_tests;
mod trace_tests;
mod unix_socket_tests;

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Method, Request, Response, StatusCode, Uri, header},
};
use futures::{FutureExt, StreamExt};
use roster_engine::{model::Resource, view::KeyOrder};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::runtime::{net::Health, places::Places};
use crate::servers::edge::{
    access::{access_reviews::AccessReviews, caller_places, client_certificates::ClientCertificates},
    cache::{
        edge_cache::EdgeCache, node_state::NodeState, raw_object::ObjectName, scheme::EdgeScheme, versions::Versions,
    },
    clients::app::{EdgeApp, router},
    encoding::protobuf_list::ProtobufLists,
    metrics::EdgeMetrics,
    upstream::{
        api_server::ApiServer,
        proxy::Proxy,
        reachability::Reachability,
        upstream_event::{UpstreamEvent, UpstreamObject},
    },
};

const NODE: &str = "edge-1";
/// The version at which the cache of the tests begins.
const START: u64 = 1000;

/// A node proxy before an API server in memory.
pub(super) struct TestedEdge {
    pub(super) router: Router,
    pub(super) cache: Arc<EdgeCache>,
    pub(super) slots: Places,
    pub(super) metrics: EdgeMetrics,
    pub(super) protobuf_lists: Arc<ProtobufLists>,
    pub(super) health: Health,
    pub(super) access: Arc<AccessReviews>,
    pub(super) reachability: Arc<Reachability>,
    pub(super) api: Arc<FakeApiServer>,
}

/// Knows three tokens: `good` may do everything, `poor` nothing, and `gone` was valid once.
#[derive(Default)]
pub(super) struct FakeApiServer {
    pub(super) is_away: AtomicBool,
    /// The code of its answers to reviews; 0: it allows and denies.
    pub(super) review_code: AtomicU16,
    /// How long its answers to reviews take, in seconds.
    pub(super) review_seconds: AtomicU64,
    /// Method, path and credentials of what arrived.
    requests: Mutex<Vec<(String, String, String)>>,
    /// The spans of which these are parts; empty: none.
    trace_parents: Mutex<Vec<String>>,
}

impl FakeApiServer {
    async fn send(self: Arc<Self>, request: Request<Body>) -> anyhow::Result<Response<Body>> {
        let seconds = self.review_seconds.load(Ordering::Relaxed);
        if seconds > 0 && request.uri().path().ends_with("accessreviews") {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
        }
        self.answer(&request)
    }

    fn answer(&self, request: &Request<Body>) -> anyhow::Result<Response<Body>> {
        if self.is_away.load(Ordering::Relaxed) {
            anyhow::bail!("connection refused");
        }
        let (method, path) = (request.method().to_string(), request.uri().path().to_owned());
        let token = request.headers().get(header::AUTHORIZATION).map_or(Ok(""), |value| value.to_str())?.to_owned();
        self.requests.lock().map_err(|_| anyhow::anyhow!("poisoned"))?.push((method, path.clone(), token.clone()));
        let parent = request.headers().get("traceparent").map_or(Ok(""), |value| value.to_str())?.to_owned();
        self.trace_parents.lock().map_err(|_| anyhow::anyhow!("poisoned"))?.push(parent);
        let is_valid = ["Bearer good", "Bearer poor"].contains(&token.as_str());
        let review_code = self.review_code.load(Ordering::Relaxed);
        let (code, body) = match path.as_str() {
            path if review_code > 0 && path.ends_with("accessreviews") => (review_code, json!({})),
            _ if !is_valid => (401, json!({ "kind": "Status", "code": 401 })),
            path if path.ends_with("/selfsubjectaccessreviews") => {
                (201, json!({ "kind": "SelfSubjectAccessReview", "status": { "allowed": token == "Bearer good" } }))
            }
            path => (200, json!({ "upstream": path })),
        };
        Ok(Response::builder().status(code).body(Body::from(body.to_string()))?)
    }

    pub(super) fn requests(&self) -> Vec<(String, String, String)> {
        std::mem::take(&mut *self.requests.lock().unwrap())
    }

    fn trace_parents(&self) -> Vec<String> {
        std::mem::take(&mut *self.trace_parents.lock().unwrap())
    }
}

impl TestedEdge {
    /// A proxy that has listed everything.
    pub(super) fn new(scheme: EdgeScheme) -> Self {
        Self::unlisted(scheme).listed(scheme)
    }

    fn listed(self, scheme: EdgeScheme) -> Self {
        for resource in NodeState::watched(scheme).collect::<Vec<_>>() {
            let of_resource = objects().into_iter().filter(|object| object["kind"] == resource.kind());
            let all = of_resource.map(|object| read(resource, &object)).collect();
            self.cache.apply(vec![UpstreamEvent::Replace(resource, all)]);
        }
        self
    }

    fn unlisted(scheme: EdgeScheme) -> Self {
        Self::before(scheme, None)
    }

    /// A proxy that has listed everything, and knows clients by their certificates.
    pub(super) fn with_certificates(certificates: ClientCertificates, reviewer: ApiServer) -> Self {
        Self::before(EdgeScheme::SuperEdge, Some((certificates, reviewer))).listed(EdgeScheme::SuperEdge)
    }

    /// A proxy that has listed nothing yet.
    fn before(scheme: EdgeScheme, certificates: Option<(ClientCertificates, ApiServer)>) -> Self {
        let (certificates, reviewer) = certificates.unzip();
        let fake = Arc::<FakeApiServer>::default();
        let answers = fake.clone();
        let base: Uri = "https://192.0.2.1:6443/cluster-a/".parse().unwrap();
        let at = |base: Uri| {
            let answers = answers.clone();
            ApiServer::at(base, move |request| answers.clone().send(request).boxed())
        };
        let (api, reachability) = (Arc::new(at(base.clone())), Reachability::new(at(base)));
        let cache =
            Arc::new(EdgeCache::new(NodeState::new(NODE.into(), scheme, KeyOrder::AnyKey), Versions::from(START)));
        let (slots, health) = (caller_places::of_watches(), Health::default());
        let access = Arc::new(AccessReviews::new(api.clone(), reviewer, reachability.clone(), &health));
        let metrics = EdgeMetrics::default();
        let protobuf_lists = Arc::new(ProtobufLists::new(metrics.unencodable.clone()));
        let app = EdgeApp {
            node: NODE.into(),
            scheme,
            cache: cache.clone(),
            proxy: Proxy::new(api, health.clone()),
            access: access.clone(),
            certificates,
            slots: slots.clone(),
            protobuf_lists: protobuf_lists.clone(),
            metrics: metrics.clone(),
            health: health.clone(),
            hosts: None,
        };
        let router = router(Arc::new(app));
        Self { router, cache, slots, metrics, protobuf_lists, health, access, reachability, api: fake }
    }

    pub(super) fn put(&self, object: &Value) {
        let resource = Resource::ALL.iter().find(|r| object["kind"] == r.kind()).copied().unwrap();
        self.cache.apply(vec![UpstreamEvent::Apply(read(resource, object))]);
    }

    /// Deletes a cluster-scoped object.
    pub(super) fn delete(&self, resource: Resource, name: &str) {
        self.cache.apply(vec![UpstreamEvent::Delete(resource, ObjectName::new("", name))]);
    }

    pub(super) async fn send(&self, method: Method, path: &str, headers: &[(&str, &str)]) -> Response<Body> {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
    }

    pub(super) async fn get(&self, path: &str, headers: &[(&str, &str)]) -> (u16, Value) {
        let response = self.send(Method::GET, path, headers).await;
        let status = response.status().as_u16();
        let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
        (status, serde_json::from_slice(&body).unwrap_or(Value::Null))
    }

    /// The events of a watch as they arrive, until it ends.
    pub(super) async fn watch(&self, path: &str) -> impl StreamExt<Item = Value> + Unpin + use<> {
        let response = self.send(Method::GET, path, &[GOOD]).await;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        let lines = response.into_body().into_data_stream().flat_map(|piece| {
            let piece = piece.unwrap();
            let events: Vec<Value> = piece
                .split(|b| *b == b'\n')
                .filter(|l| !l.is_empty())
                .map(|l| serde_json::from_slice(l).unwrap())
                .collect();
            futures::stream::iter(events)
        });
        Box::pin(lines)
    }
}

pub(super) const GOOD: (&str, &str) = ("authorization", "Bearer good");
const POOR: (&str, &str) = ("authorization", "Bearer poor");
const WRONG: (&str, &str) = ("authorization", "Bearer wrong");
const TABLE: (&str, &str) = ("accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json");
const METADATA: (&str, &str) = ("accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1");
pub(super) const PROTOBUF: (&str, &str) = ("accept", "application/vnd.kubernetes.protobuf");
const YAML: (&str, &str) = ("accept", "application/yaml");
pub(super) const SLICES: &str = "/apis/discovery.k8s.io/v1/endpointslices";
pub(super) const SERVICES: &str = "/api/v1/services";

pub(super) fn read(resource: Resource, object: &Value) -> UpstreamObject {
    UpstreamObject::read(resource, &object.to_string(), NODE).unwrap()
}

pub(super) fn service(name: &str, labels: &Value) -> Value {
    json!({ "kind": "Service", "metadata": { "name": name, "namespace": "shop", "labels": labels,
        "annotations": { "topologyKeys": "[\"region\"]" } } })
}

fn objects() -> Vec<Value> {
    let node = |name: &str, region: &str| json!({ "kind": "Node", "metadata": { "name": name, "labels": { "region": region } } });
    vec![
        node(NODE, "1"),
        node("far", "2"),
        service("web", &json!({ "app": "web" })),
        json!({ "kind": "Namespace", "metadata": { "name": "shop" } }),
        json!({ "kind": "EndpointSlice", "metadata": { "name": "web-1", "namespace": "shop",
            "labels": { "kubernetes.io/service-name": "web" } }, "addressType": "IPv4",
            "endpoints": [{ "addresses": ["10.0.0.1"], "nodeName": NODE }, { "addresses": ["10.0.0.2"], "nodeName": "far" }] }),
    ]
}

#[tokio::test]
async fn a15_s1_without_credentials_a_request_reaches_nothing_but_health() {
    let edge = TestedEdge::new(EdgeScheme::SuperEdge);
    for path in ["/healthz", "/livez"] {
        assert_eq!(edge.get(path, &[]).await.0, 200, "{path}");
    }
    for path in [SERVICES, SLICES, "/api", "/apis", "/api/v1/secrets", "/version", "/metrics", "/", "/openapi/v3"] {
        for headers in [&[][..], &[("authorization", "")], &[GOOD, GOOD], &[("x-remote-user", "admin")]] {
            let (code, body) = edge.get(path, headers).await;
            assert_eq!((code, &body["reason"]), (401, &json!("Unauthorized")), "{path} {headers:?}");
        }
    }
    assert_eq!(edge.api.requests(), []);
}

#[tokio::test]
async fn the_api_server_decides_who_may_read() {
    let edge = TestedEdge::new(EdgeScheme::SuperEdge);
    for (headers, want) in [
        (&[GOOD][..], (200, Value::Null)),
        (&[POOR], (403, json!("Forbidden"))),
        (&[WRONG], (401, json!("Unauthorized"))),
        (&[("authorization", "Basic Z29vZA==")], (401, json!("Unauthorized"))),
        (&[GOOD, ("impersonate-user", "admin")], (403, json!("Forbidden"))),
    ] {
        let (code, body) = edge.get(SERVICES, headers).await;
        assert_eq!((code, body["reason"].clone()), want, "{headers:?}");
    }
    let review = |token: &str| {
        let path = "/cluster-a/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
        ("POST".to_owned(), path.to_owned(), format!("Bearer {token}"))
    };
    assert_eq!(edge.api.requests(), [review("good"), review("poor"), review("wrong")]);
    // The answer is remembered; another verb is another question.
    edge.get(SERVICES, &[GOOD]).await;
    assert_eq!(edge.api.requests(), []);
    edge.get("/api/v1/namespaces/shop/services/web", &[GOOD]).await;
    assert_eq!(edge.api.requests(), [review("good")]);
}

#[tokio::test]
async fn everything_else_goes_to_the_api_server_with_the_credentials_of_the_client() {
    let edge = TestedEdge::new(EdgeScheme::SuperEdge);
    for (method, path) in [
        (Method::GET, "/api/v1/secrets"),
        (Method::POST, "/apis/events.k8s.io/v1/namespaces/default/events"),
        (Method::DELETE, "/api/v1/namespaces/shop/services/web"),
        (Method::GET, "/api/v1/nodes"),
        (Method::GET, "/apis"),
    ] {
        let response = edge.send(method.clone(), path, &[GOOD]).await;
        assert_eq!(response.status(), 200, "{path}");
        let want = (method.to_string(), format!("/cluster-a{path}"), "Bearer good".to_owned());
        assert_eq!(edge.api.requests(), [want]);
    }
}

#[tokio::test]
async fn a15_p2_p13_what_is_read_is_pruned_and_has_a_version() {
    let edge = TestedEdge::new(EdgeScheme::SuperEdge);
    let (code, list) = edge.get(SLICES, &[GOOD]).await;
    assert_eq!(
        (code, &list["kind"], &list["apiVersion"]),
        (200, &json!("EndpointSliceList"), &json!("discovery.k8s.io/v1"))
    );
    let addresses =
        |slice: &Value| slice["endpoints"].as_array().unwrap().iter().map(|e| e["addresses"][0].clone()).collect();
    let all: Vec<Value> =
        list["items"].as_array().unwrap().iter().flat_map(|s| -> Vec<Value> { addresses(s) }).collect();
    assert_eq!(all, ["10.0.0.1"]);
    assert_eq!(list["metadata"]["resourceVersion"], edge.cache.version().to_string());
    for (path, want) in [
        ("/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices/web-1", 200),
        ("/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices/none", 404),
        ("/api/v1/namespaces/other/services/web", 404),
        ("/api/v1/nodes/edge-1", 200),
        ("/api/v1/namespaces/shop", 200),
        ("/api/v1/services?resourceVersion=9999999999999999", 410),
        ("/api/v1/services?labelSelector=a%3Eb", 400),
        ("/api/v1/watch/services", 404),
        ("/api/v1/services/../secrets", 400),
    ] {
        let (code, body) = edge.get(path, &[GOOD]).await;
        let is_status = code == 200 || (body["kind"] == "Status" && body["code"] == code);
        assert!(code == want && is_status, "{path}: {code} {body}");
    }
}

#[tokio::test]
async fn a15_p13_p14_p15_other_forms_come_from_the_api_server_unless_it_would_send_everything() {
    let upstream = |path: &str| (200, json!(format!("/cluster-a{path}")));
    let cached = (200, Value::Null);
    for (scheme, is_away, path, accept, want) in [
        (EdgeScheme::SuperEdge, false, SLICES, TABLE, upstream(SLICES)),
        (EdgeScheme::SuperEdge, true, SLICES, TABLE, cached.clone()),
        (EdgeScheme::SuperEdge, false, SLICES, METADATA, upstream(SLICES)),
        (EdgeScheme::SuperEdge, true, SLICES, METADATA, (406, Value::Null)),
        (EdgeScheme::SuperEdge, false, SLICES, PROTOBUF, cached.clone()),
        (EdgeScheme::SuperEdge, true, SLICES, PROTOBUF, cached.clone()),
        (EdgeScheme::SuperEdge, false, SLICES, YAML, (406, Value::Null)),
        (EdgeScheme::SuperEdge, false, SERVICES, YAML, upstream(SERVICES)),
        (EdgeScheme::OpenYurt, false, SERVICES, YAML, (406, Value::Null)),
        (EdgeScheme::KubeProxy, false, SLICES, YAML, upstream(SLICES)),
        (EdgeScheme::KubeProxy, true, SLICES, YAML, (406, Value::Null)),
    ] {
        let edge = TestedEdge::new(scheme);
        edge.get(path, &[GOOD]).await;
        edge.api.is_away.store(is_away, Ordering::Relaxed);
        let (code, body) = edge.get(path, &[GOOD, accept]).await;
        assert_eq!((code, body["upstream"].clone()), want, "{scheme:?} {path} {accept:?}, away: {is_away}");
    }
}

#[tokio::test(start_paused = true)]
async fn while_the_api_server_is_away_clients_read_what_they_could_read() {
    let edge = TestedEdge::new(EdgeScheme::SuperEdge);
    edge.get(SERVICES, &[GOOD]).await;
    edge.get(SERVICES, &[POOR]).await;
    edge.api.is_away.store(true, Ordering::Relaxed);
    tokio::time::advance(Duration::from_hours(23)).await;
    for (path, token, want) in [
        (SERVICES, GOOD, (200, json!("ServiceList"))),
        (SERVICES, POOR, (503, json!("Status"))),
        (SERVICES, WRONG, (503, json!("Status"))),
        (SLICES, GOOD, (503, json!("Status"))),
        ("/api/v1/secrets", GOOD, (503, json!("Status"))),
        ("/api", GOOD, (200, json!("APIVersions"))),
        ("/apis", GOOD, (200, json!("APIGroupList"))),
        ("/apis/discovery.k8s.io", GOOD, (200, json!("APIGroup"))),
        ("/api/v1", GOOD, (200, json!("APIResourceList"))),
        ("/apis/discovery.k8s.io/v1", GOOD, (200, json!("APIResourceList"))),
    ] {
        let (code, body) = edge.get(path, &[token]).await;
        assert_eq!((code, body["kind"].clone()), want, "{path} {token:?}");
    }
    let response = edge.send(Method::GET, "/api/v1/secrets", &[GOOD]).await;
    assert_eq!(response.headers()[header::RETRY_AFTER], "1");
    tokio::time::advance(Duration::from_hours(1)).await;
    assert_eq!(edge.get(SERVICES, &[GOOD]).await.0, 503);
}

#[tokio::test]
async fn a15_l4_nothing_is_served_before_everything_was_listed() {
    let edge = TestedEdge::unlisted(EdgeScheme::SuperEdge);
    edge.cache.apply(vec![UpstreamEvent::Replace(Resource::Service, Vec::new())]);
    for path in [SERVICES, SLICES, "/readyz", "/api/v1/services?watch=true"] {
        let (code, body) = edge.get(path, &[GOOD]).await;
        assert_eq!((code, &body["reason"]), (503, &json!("ServiceUnavailable")), "{path}");
    }
}

/// Type, name and version of an event, counted from the start of the watch.
fn brief(event: &Value) -> (String, String) {
    let name = event["object"]["metadata"]["name"].as_str().unwrap_or_default();
    (event["type"].as_str().unwrap().to_owned(), name.to_owned())
}

fn pair(kind: &str, name: &str) -> (String, String) {
    (kind.to_owned(), name.to_owned())
}

#[tokio::test(start_paused = true)]
async fn a15_p1_p4_a_watch_begins_as_asked_and_goes_on() {
    let edge = TestedEdge::new(EdgeScheme::SuperEdge);
    let now = edge.cache.version();
    for (query, want) in [
        ("watch=1", vec![pair("ADDED", "web")]),
        ("watch=1&resourceVersion=0", vec![pair("ADDED", "web")]),
        (&*format!("watch=1&resourceVersion={now}"), vec![]),
        (
            "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
            vec![pair("ADDED", "web"), pair("BOOKMARK", "")],
        ),
        ("watch=1&labelSelector=app%3Dother", vec![]),
    ] {
        let edge = TestedEdge::new(EdgeScheme::SuperEdge);
        let mut events = edge.watch(&format!("{SERVICES}?{query}")).await;
        edge.put(&service("api", &json!({ "app": "other" })));
        let mut seen = Vec::new();
        while seen.len() <= want.len() {
            seen.push(events.next().await.unwrap());
        }
        let bookmark = seen.iter().find(|event| event["type"] == "BOOKMARK");
        if let Some(metadata) = bookmark.map(|event| &event["object"]["metadata"]) {
            assert_eq!(metadata["annotations"], json!({ "k8s.io/initial-events-end": "true" }));
            assert_eq!(metadata["resourceVersion"], now.to_string());
        }
        let brief: Vec<_> = seen.iter().map(brief).collect();
        let want: Vec<_> = want.into_iter().chain([pair("ADDED", "api")]).collect();
        assert_eq!(brief, want, "{query}");
        let version = seen.last().unwrap()["object"]["metadata"]["resourceVersion"].clone();
        assert_eq!(version, (now + 1).to_string(), "{query}");
    }
}

#[tokio::test(start_paused = true)]
async fn a15_p8_a_watch_has_bookmarks_and_ends_in_time() {
    let edge = TestedEdge::new(EdgeScheme::SuperEdge);
    let now = edge.cache.version();
    let begin = tokio::time::Instant::now();
    let path = format!("{SERVICES}?watch=1&resourceVersion={now}&allowWatchBookmarks=true&timeoutSeconds=150");
    let events: Vec<Value> = edge.watch(&path).await.collect().await;
    assert_eq!(events.iter().map(brief).collect::<Vec<_>>(), vec![pair("BOOKMARK", ""); 3]);
    assert_eq!(events[2]["object"]["metadata"]["resourceVersion"], now.to_string());
    assert_eq!(begin.elapsed().as_secs(), 150);
    let path = format!("{SERVICES}?watch=1&resourceVersion={now}&timeoutSeconds=5");
    assert_eq!(edge.watch(&path).await.count().await, 0);
    assert_eq!(begin.elapsed().as_secs(), 155);
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_in_time_while_there_is_always_another_event() {
    let edge = TestedEdge::new(EdgeScheme::SuperEdge);
    let mut events = edge.watch(&format!("{SERVICES}?watch=1&timeoutSeconds=5")).await;
    let mut count = 0;
    loop {
        edge.put(&service("web", &json!({ "count": count.to_string() })));
        if events.next().await.is_none() {
            break;
        }
        count += 1;
        tokio::time::advance(Duration::from_secs(1)).await;
    }
    assert_eq!(count, 5);
}

#[tokio::test]
async fn a15_p5_a_watch_from_a_forgotten_version_ends_with_an_error() {
    let edge = TestedEdge::new(EdgeScheme::SuperEdge);
    let newer = edge.cache.version() + 1;
    for version in [1, START, newer] {
        let events: Vec<Value> =
            edge.watch(&format!("{SERVICES}?watch=1&resourceVersion={version}")).await.collect().await;
        let seen: Vec<_> = events.iter().map(|e| (&e["type"], &e["object"]["reason"], &e["object"]["code"])).collect();
        assert_eq!(seen, [(&json!("ERROR"), &json!("Expired"), &json!(410))], "{version}");
    }
    let query = format!("watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion={newer}");
    let (code, body) = edge.get(&format!("{SERVICES}?{query}"), &[GOOD]).await;
    assert_eq!((code, &body["reason"]), (410, &json!("Expired")));
}

#[tokio::test]
async fn a15_l1_a_watch_ends_with_its_client_and_leaves_nothing() {
    let edge = TestedEdge::new(EdgeScheme::SuperEdge);
    for _ in 0..3 {
        let mut events = edge.watch(&format!("{SERVICES}?watch=1")).await;
        events.next().await.unwrap();
        assert_eq!(edge.slots.held(), 1);
        drop(events);
        assert_eq!(edge.slots.held(), 0);
    }
}

#[tokio::test]
async fn a_client_that_reads_fast_does_not_delay_others() {
    let edge = TestedEdge::new(EdgeScheme::SuperEdge);
    for name in ["a", "b", "c"] {
        edge.put(&service(name, &json!({ "long": "x".repeat(100_000) })));
    }
    for path in [SERVICES.to_owned(), format!("{SERVICES}?watch=1")] {
        let mut body = edge.send(Method::GET, &path, &[GOOD]).await.into_body().into_data_stream();
        assert!(body.next().now_or_never().flatten().is_some(), "{path}");
        for _ in 0..2 {
            assert!(body.next().now_or_never().is_none(), "{path}");
            assert!(body.next().now_or_never().flatten().is_some(), "{path}");
        }
    }
}

#[tokio::test]
async fn watches_are_limited() {
    let edge = TestedEdge::new(EdgeScheme::SuperEdge);
    let mut open = Vec::new();
    for _ in 0..256 {
        open.push(edge.watch(&format!("{SERVICES}?watch=1")).await);
    }
    let (code, body) = edge.get(&format!("{SERVICES}?watch=1"), &[GOOD]).await;
    assert_eq!((code, &body["reason"]), (429, &json!("TooManyRequests")));
    open.pop();
    open.push(edge.watch(&format!("{SERVICES}?watch=1")).await);
    assert_eq!(edge.slots.held(), 256);
}
