//! A cluster that answers in memory, and what leaves the server of it.

use std::{
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use axum::{
    Json,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, Request},
    response::{IntoResponse, Response},
};
use futures::stream;
use http::Method;
use roster_engine::{explain, model::Resource, profile::Minor, state::Options};
use roster_manifests::{
    decode::{self, Source},
    inventory::Inventory,
};
use serde_json::{Value, json};
use tokio::{
    sync::mpsc,
    time::{Instant, timeout},
};
use tower::ServiceExt;

use super::*;
use crate::{
    runtime::net::Health,
    servers::rest::{RestAccess, RestLimits, routes::guarded},
};

const TOKEN: &str = "of-jane";

/// What the API server was asked: method, path with query, and the header `Authorization`.
type Asked = (Method, String, String);

/// An API server. It lists in pages only.
#[derive(Clone, Default)]
struct ApiServer {
    asked: Arc<Mutex<Vec<Asked>>>,
    pods: Arc<Mutex<Vec<Value>>>,
    /// The open watches of pods: an event is sent to each.
    watches: Arc<Mutex<Vec<mpsc::UnboundedSender<io::Result<Bytes>>>>>,
    /// The resources that the caller may not list.
    forbidden: &'static [&'static str],
    /// The resources that the API server does not have.
    missing: &'static [&'static str],
    /// Resources without an answer.
    silent: &'static [&'static str],
    /// Whether the token is not valid any more.
    has_expired: Arc<AtomicBool>,
    /// What a list has besides, in bytes.
    padding: usize,
}

fn failure(code: u16, message: &str) -> Response {
    let body = json!({ "kind": "Status", "status": "Failure", "message": message, "reason": "X", "code": code });
    (StatusCode::from_u16(code).unwrap(), Json(body)).into_response()
}

fn pod(name: &str, ready: &str) -> Value {
    json!({
        "metadata": { "name": name, "namespace": "shop", "uid": name, "resourceVersion": "2", "labels": { "app": "web" },
            "annotations": { "secret": "hunter2" }, "managedFields": [{}] },
        "spec": { "nodeName": "n", "containers": [{ "name": "web", "image": "private/web", "ports": [{ "containerPort": 80 }],
            "env": [{ "name": "PASSWORD", "value": "hunter2" }], "args": ["--password=hunter2"] }] },
        "status": { "podIP": "10.0.0.1", "podIPs": [{ "ip": "10.0.0.1" }],
            "conditions": [{ "type": "Ready", "status": ready, "message": "hunter2" }] },
    })
}

async fn answer(State(server): State<ApiServer>, request: Request<Body>) -> Response {
    let authorization = request.headers().get("authorization").map_or("", |value| value.to_str().unwrap()).to_owned();
    let target = request.uri().to_string();
    server.asked.lock().unwrap().push((request.method().clone(), target.clone(), authorization.clone()));
    if authorization != format!("Bearer {TOKEN}") || server.has_expired.load(Ordering::Relaxed) {
        return failure(401, "Unauthorized");
    }
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let resource = path.rsplit('/').next().unwrap();
    if server.silent.contains(&resource) {
        return std::future::pending().await;
    }
    if server.forbidden.contains(&resource) {
        return failure(403, &format!("{resource} is forbidden: User \"jane\" cannot list resource \"{resource}\""));
    }
    if server.missing.contains(&resource) {
        return failure(404, "the server could not find the requested resource");
    }
    if query.contains("sendInitialEvents") {
        return failure(422, "sendInitialEvents is forbidden");
    }
    if query.contains("watch=true") {
        let (send, receive) = mpsc::unbounded_channel();
        if resource == "pods" {
            server.watches.lock().unwrap().push(send);
            let events = stream::unfold(receive, async |mut receive| receive.recv().await.map(|part| (part, receive)));
            return Body::from_stream(events).into_response();
        }
        return Body::from_stream(stream::pending::<io::Result<Bytes>>()).into_response();
    }
    let named =
        |name: &str, namespace: &str| json!({ "metadata": { "name": name, "namespace": namespace, "uid": name } });
    let items = match resource {
        "version" => return Json(json!({ "gitVersion": "v1.34.2" })).into_response(),
        "pods" => server.pods.lock().unwrap().clone(),
        "services" => vec![named("web", "shop")],
        "namespaces" => vec![json!({ "metadata": { "name": "shop" } }), json!({ "metadata": { "name": "front" } })],
        "nodes" => vec![named("n", "")],
        _ => Vec::new(),
    };
    Json(json!({ "kind": "List", "apiVersion": "v1", "metadata": { "resourceVersion": "1" }, "items": items,
        "padding": "x".repeat(server.padding) }))
    .into_response()
}

impl ApiServer {
    /// A REST API whose page shows this cluster.
    fn shown(&self, limits: LiveLimits) -> axum::Router {
        let router = axum::Router::new().fallback(answer).with_state(self.clone());
        let cluster = CallerCluster::of(kube::Client::new(router, "default"));
        let live = LiveCluster::within(cluster, limits);
        guarded(RestApp::with_cluster(RestLimits::default(), Health::default(), Some(live)), RestAccess::default())
    }

    fn send(&self, kind: &str, object: &Value) {
        // The type comes first, as in the events of API servers.
        let event = format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n");
        self.watches.lock().unwrap().retain(|watch| watch.send(Ok(event.clone().into())).is_ok());
    }
}

/// The lines of a response as they come.
struct Lines {
    body: axum::body::BodyDataStream,
    rest: String,
}

impl Lines {
    async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some((line, rest)) = self.rest.split_once('\n') {
                let value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
                self.rest = rest.to_owned();
                return Some(value);
            }
            let part = futures::StreamExt::next(&mut self.body).await?.unwrap();
            self.rest.push_str(std::str::from_utf8(&part).unwrap());
        }
    }

    /// Waits until a watch of pods is open: watches are read when the next line is wanted.
    async fn until_watched(&mut self, server: &ApiServer) {
        for _ in 0..1000 {
            let line = timeout(Duration::from_millis(10), self.next()).await;
            assert!(line.is_err() || line == Ok(Some(json!({}))), "{line:?}");
            if !server.watches.lock().unwrap().is_empty() {
                return;
            }
        }
        panic!("pods are not watched");
    }

    /// The next line that is not a heartbeat.
    async fn line(&mut self) -> Value {
        loop {
            let line = timeout(Duration::from_mins(10), self.next()).await.unwrap().expect("the response goes on");
            if line != json!({}) {
                return line;
            }
        }
    }
}

fn request(path: &str, token: Option<&str>) -> Request<Body> {
    let request = Request::get(path);
    match token {
        Some(token) => request.header("roster-cluster-token", token),
        None => request,
    }
    .body(Body::empty())
    .unwrap()
}

async fn respond(router: &axum::Router, path: &str, token: Option<&str>) -> Response {
    router.clone().oneshot(request(path, token)).await.unwrap()
}

async fn lines(router: &axum::Router, path: &str) -> Lines {
    let response = respond(router, path, Some(TOKEN)).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "application/x-ndjson");
    Lines { body: response.into_body().into_data_stream(), rest: String::new() }
}

/// The names of listed objects.
fn names(list: &Value) -> Vec<String> {
    let items = list.as_array().unwrap().iter();
    items
        .map(|item| format!("{} {}", item["kind"].as_str().unwrap(), item["metadata"]["name"].as_str().unwrap()))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn the_objects_come_first_and_then_their_changes() {
    let server = ApiServer::default();
    *server.pods.lock().unwrap() = vec![pod("a", "True"), pod("b", "True")];
    let router = server.shown(LiveLimits::default());
    let mut lines = lines(&router, "/v1/live").await;
    assert_eq!(lines.line().await, json!({ "cluster": { "release": "1.34" } }));
    let list = lines.line().await;
    assert_eq!(names(&list["list"]["items"]), ["Service web", "Pod a", "Pod b", "Node n"]);
    assert_eq!((&list["namespaces"], &list["unread"]), (&json!(["front", "shop"]), &json!([])));
    assert!(!list.to_string().contains("hunter2") && !list.to_string().contains("private/web"), "{list}");
    lines.until_watched(&server).await;
    // Changes that come together are one line; what is not different is none.
    server.send("MODIFIED", &pod("a", "False"));
    server.send("MODIFIED", &pod("b", "True"));
    server.send("ADDED", &pod("c", "True"));
    let changes = lines.line().await;
    assert_eq!(names(&changes["applied"]), ["Pod a", "Pod c"]);
    assert_eq!((&changes["deleted"], &changes["namespaces"]), (&json!([]), &Value::Null));
    let sent = Instant::now();
    server.send("DELETED", &pod("b", "True"));
    let gone = lines.line().await;
    assert_eq!(gone["deleted"], json!([{ "kind": "Pod", "namespace": "shop", "name": "b" }]));
    assert!(sent.elapsed() >= Duration::from_secs(1), "{:?}", sent.elapsed());
    // Nothing happens: heartbeats, until the time is over.
    assert_eq!(lines.next().await, Some(json!({})));
    assert_eq!(lines.line().await["end"]["code"], "time");
    assert_eq!(lines.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn every_request_is_a_get_with_the_token_of_the_caller() {
    let server = ApiServer::default();
    let router = server.shown(LiveLimits::default());
    let mut lines = lines(&router, "/v1/live?namespace=shop").await;
    lines.line().await;
    lines.line().await;
    lines.until_watched(&server).await;
    let asked = server.asked.lock().unwrap().clone();
    assert!(asked.iter().all(|(method, _, token)| *method == Method::GET && token == "Bearer of-jane"), "{asked:?}");
    let mut paths: Vec<&str> = asked.iter().map(|(_, target, _)| target.split('?').next().unwrap()).collect();
    paths.sort_unstable();
    paths.dedup();
    let want = [
        "/api/v1/namespaces",
        "/api/v1/namespaces/shop/endpoints",
        "/api/v1/namespaces/shop/pods",
        "/api/v1/namespaces/shop/services",
        "/api/v1/nodes",
        "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices",
        "/apis/gateway.networking.k8s.io/v1/namespaces/shop/httproutes",
        "/apis/networking.k8s.io/v1/namespaces/shop/ingresses",
        "/version",
    ];
    assert_eq!(paths, want);
}

#[tokio::test(start_paused = true)]
async fn what_the_caller_may_not_see_is_named_and_the_rest_is_shown() {
    let server = ApiServer {
        forbidden: &["nodes", "namespaces", "ingresses"],
        missing: &["httproutes"],
        silent: &["endpoints"],
        ..ApiServer::default()
    };
    let router = server.shown(LiveLimits::default());
    let mut lines = lines(&router, "/v1/live").await;
    lines.line().await;
    let list = lines.line().await;
    assert_eq!(names(&list["list"]["items"]), ["Service web"]);
    let why = |resource: &str| {
        format!("403 Forbidden: {resource} is forbidden: User \"jane\" cannot list resource \"{resource}\"")
    };
    let want = json!([
        { "resource": "nodes", "code": 403, "why": why("nodes") },
        { "resource": "endpoints", "code": null, "why": "no list in time" },
        { "resource": "namespaces", "code": 403, "why": why("namespaces") },
        { "resource": "ingresses", "code": 403, "why": why("ingresses") },
        { "resource": "httproutes", "code": 404, "why": "404 Not Found: the server could not find the requested resource" },
    ]);
    assert_eq!(list["unread"], want);
}

#[tokio::test]
async fn a_request_without_a_usable_token_or_namespace_is_refused() {
    let server = ApiServer::default();
    let router = server.shown(LiveLimits::default());
    for (path, token, want) in [
        ("/v1/live", None, (401, "cluster-token")),
        ("/v1/live", Some(""), (401, "cluster-token")),
        ("/v1/live", Some("Bearer of-jane"), (401, "cluster-token")),
        ("/v1/live", Some("of-somebody-else"), (401, "cluster-token")),
        ("/v1/live?namespace=a%2Fb", Some(TOKEN), (400, "invalid-query")),
        ("/v1/live?namespace=..", Some(TOKEN), (400, "invalid-query")),
        ("/v1/live?namespace=", Some(TOKEN), (400, "invalid-query")),
        ("/v1/live?name=shop", Some(TOKEN), (400, "invalid-query")),
    ] {
        let response = respond(&router, path, token).await;
        let status = response.status().as_u16();
        let body = axum::body::to_bytes(response.into_body(), 1 << 16).await.unwrap();
        let problem: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(
            (status, &problem["type"]),
            (want.0, &json!(format!("urn:roster:problem:{}", want.1))),
            "{path} {token:?}"
        );
        assert!(!problem.to_string().contains("of-"), "{problem}");
    }
    // Nothing was sent to the API server without a token that can be one.
    let asked = server.asked.lock().unwrap().clone();
    assert_eq!(asked, [(Method::GET, "/version".to_owned(), "Bearer of-somebody-else".to_owned())]);
    // The token of this server is another one.
    let mut of_server = HeaderMap::new();
    of_server.insert("authorization", "Bearer of-jane".parse().unwrap());
    assert!(cluster_token::read(&of_server).is_err());
}

#[tokio::test]
async fn without_the_flag_there_is_no_such_path() {
    let app = RestApp::new(RestLimits::default(), Health::default());
    let response = respond(&guarded(app, RestAccess::default()), "/v1/live", Some(TOKEN)).await;
    assert_eq!(response.status(), 404);
}

#[tokio::test(start_paused = true)]
async fn the_watches_end_with_their_caller() {
    let server = ApiServer::default();
    let router = server.shown(LiveLimits { sessions: 2, ..LiveLimits::default() });
    let mut first = lines(&router, "/v1/live").await;
    first.line().await;
    first.line().await;
    first.until_watched(&server).await;
    // A half of the places is the most for one peer.
    assert_eq!(respond(&router, "/v1/live", Some(TOKEN)).await.status(), 429);
    drop(first);
    let mut again = lines(&router, "/v1/live").await;
    again.line().await;
    let watches = server.watches.lock().unwrap();
    assert!(watches.iter().all(mpsc::UnboundedSender::is_closed), "{}", watches.len());
}

#[tokio::test(start_paused = true)]
async fn what_is_read_and_what_is_held_is_bounded() {
    let too_long = ApiServer { padding: 2 << 20, ..ApiServer::default() };
    let endless = ApiServer::default();
    *endless.pods.lock().unwrap() = (0..2000).map(|i| pod(&format!("p{i}"), "True")).collect();
    for (server, read) in [(too_long, 1 << 20), (endless, 512 << 10)] {
        let router = server.shown(LiveLimits { read, ..LiveLimits::default() });
        let mut lines = lines(&router, "/v1/live").await;
        lines.line().await;
        assert_eq!(lines.line().await["end"]["code"], "size");
        assert_eq!(lines.next().await, None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_that_expires_ends_the_response() {
    let server = ApiServer::default();
    *server.pods.lock().unwrap() = vec![pod("a", "True")];
    let router = server.shown(LiveLimits::default());
    let mut lines = lines(&router, "/v1/live").await;
    lines.line().await;
    lines.line().await;
    lines.until_watched(&server).await;
    // The watch of pods ends, and the next one is refused.
    server.has_expired.store(true, Ordering::Relaxed);
    server.watches.lock().unwrap().clear();
    assert_eq!(lines.line().await["end"]["code"], "token");
}

#[test]
fn the_routes_of_projected_objects_are_the_same() {
    let service = |name: &str| json!({ "name": name, "port": { "number": 80 } });
    let backend = |name: &str| json!({ "name": name, "port": 80, "weight": 1 });
    let mirror = |name: &str| json!({ "type": "RequestMirror", "requestMirror": { "backendRef": backend(name) } });
    let secret = json!({ "type": "RequestHeaderModifier", "requestHeaderModifier": { "set": [{ "name": "k", "value": "hunter2" }] } });
    let meta = json!({ "name": "edge", "namespace": "shop", "annotations": { "secret": "hunter2" } });
    let ingress = json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": meta,
        "spec": { "tls": [{ "secretName": "hunter2" }], "defaultBackend": { "service": service("rest") },
            "rules": [{ "host": "a.example", "http": { "paths": [{ "path": "/b", "backend": { "service": service("web") } }] } }] },
        "status": { "loadBalancer": { "ingress": [{ "ip": "10.0.0.9" }] } },
    });
    let mut referring = backend("other");
    referring["namespace"] = json!("back");
    referring["filters"] = json!([mirror("shadow"), secret]);
    let route = json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": meta,
        "spec": { "hostnames": ["c.example"], "parentRefs": [{ "name": "gate" }], "rules": [{
            "matches": [{ "path": { "value": "/d" }, "headers": [{ "name": "k", "value": "hunter2" }] }],
            "filters": [mirror("copy"), secret], "backendRefs": [referring, backend("web")] }] },
    });
    let routes = |objects: &[Value]| -> Vec<_> {
        let mut inventory = Inventory::default();
        let list = json!({ "kind": "List", "apiVersion": "v1", "items": objects }).to_string();
        decode::read_text(&list, &Source::body(), &mut inventory).unwrap();
        inventory.routes.iter().cloned().collect()
    };
    let objects = [ingress, route];
    let projected = objects.each_ref().map(|object| -> Value {
        let projected = projection::project(resource(object).unwrap(), &object.to_string()).unwrap();
        serde_json::from_slice(&projected.json).unwrap()
    });
    assert_eq!(routes(&projected), routes(&objects));
    assert_eq!(routes(&objects).len(), 6);
    assert!(!json!(projected).to_string().contains("hunter2"));
}

/// The objects of an example, if all of them leave the server.
fn objects(text: &str) -> Option<Vec<Value>> {
    let documents = text.split("---\n").map(|document| {
        let json = decode::yaml_as_json(document, &Source::body()).ok()?;
        serde_json::from_str::<Value>(&json).ok()
    });
    let documents: Vec<Value> = documents.collect::<Option<_>>()?;
    let objects: Vec<Value> =
        documents.into_iter().flat_map(|d| d["items"].as_array().cloned().unwrap_or(vec![d])).collect();
    objects.iter().all(|object| resource(object).is_some()).then_some(objects)
}

fn resource(object: &Value) -> Option<Resource> {
    let resource = Resource::of(object["apiVersion"].as_str()?, object["kind"].as_str()?)?;
    projection::RESOURCES.contains(&resource).then_some(resource)
}

/// What the engine says of each Service among these objects.
fn explained(objects: &[Value], compat: Minor) -> Vec<Value> {
    let mut inventory = Inventory::default();
    let list = json!({ "kind": "List", "apiVersion": "v1", "items": objects }).to_string();
    decode::read_text(&list, &Source { finds_refused: false, ..Source::body() }, &mut inventory).unwrap();
    let index = inventory.index();
    let options = Options { compat, ..Options::default() };
    let explain = |entry| serde_json::to_value(explain(&index.state(entry), &options)).unwrap();
    index.entries().iter().map(explain).collect()
}

#[test]
fn the_engine_says_the_same_of_projected_objects() {
    let mut compared = 0;
    for example in roster_page::examples::all() {
        let Some(objects) = objects(example.text) else { continue };
        let projected = objects.iter().map(|object| {
            let projected = projection::project(resource(object).unwrap(), &object.to_string()).unwrap();
            serde_json::from_slice(&projected.json).unwrap()
        });
        let projected: Vec<Value> = projected.collect();
        assert_eq!(explained(&projected, example.minor()), explained(&objects, example.minor()), "{}", example.code);
        compared += 1;
    }
    assert!(compared > 70, "{compared}");
}
