//! The REST API: the router in process; a listener only where time or sockets are the matter.

mod access;
mod bad_input;
mod bodies;
mod convert;
mod defaults;
mod document;
mod lint;
mod live;
mod page;
mod picture;
mod review;
mod server;
mod telemetry;
mod view;

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    http::{HeaderMap, Request, StatusCode},
};
use http_body_util::BodyExt;
use roster::{
    runtime::net::Health,
    servers::rest::{RestApp, RestLimits, router},
};
use serde_json::{Value, json};
use tower::ServiceExt;

pub(super) const JSON: &str = "application/json";
pub(super) const YAML: &str = "application/yaml";

/// An answer, read to its end.
#[derive(Debug)]
pub(super) struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Answer {
    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.text()))
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |v| v.to_str().unwrap())
    }
}

pub(super) fn app() -> (Arc<RestApp>, Router) {
    app_with(RestLimits::default())
}

pub(super) fn app_with(limits: RestLimits) -> (Arc<RestApp>, Router) {
    let app = RestApp::new(limits, Health::default());
    (app.clone(), router(app))
}

pub(super) async fn send(router: &Router, request: Request<Body>) -> Answer {
    let response = router.clone().oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes().to_vec();
    Answer { status: parts.status, headers: parts.headers, body }
}

pub(super) async fn post(router: &Router, path: &str, content_type: &str, body: impl Into<Body>) -> Answer {
    send(router, Request::post(path).header("content-type", content_type).body(body.into()).unwrap()).await
}

pub(super) async fn get(router: &Router, path: &str) -> Answer {
    send(router, Request::get(path).body(Body::empty()).unwrap()).await
}

/// A Service with one ready pod.
pub(super) fn state() -> Value {
    json!({
        "service": {
            "metadata": { "name": "web", "namespace": "shop", "uid": "u" },
            "spec": { "selector": { "app": "web" }, "clusterIP": "10.96.0.10", "ipFamilies": ["IPv4"],
                "ports": [{ "name": "http", "protocol": "TCP", "port": 80, "targetPort": 8080 }] },
        },
        "pods": [pod("web-1", "10.0.0.1")],
        "nodes": [{ "metadata": { "name": "node-1" } }],
    })
}

pub(super) fn pod(name: &str, ip: &str) -> Value {
    json!({
        "metadata": { "name": name, "namespace": "shop", "uid": name, "labels": { "app": "web" } },
        "spec": { "nodeName": "node-1" },
        "status": { "podIP": ip, "podIPs": [{ "ip": ip }], "conditions": [{ "type": "Ready", "status": "True" }] },
    })
}

#[tokio::test]
async fn a_service_is_planned() {
    let (_, router) = app();
    let answer = post(&router, "/v1/plan", JSON, state().to_string()).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
    let plan = answer.json();
    assert_eq!(plan["endpoints"]["action"], "create");
    assert_eq!(plan["endpoints"]["object"]["subsets"][0]["addresses"][0]["ip"], "10.0.0.1");
    assert_eq!(answer.header("content-type"), JSON);
}

#[tokio::test]
async fn single_calls_answer_the_objects() {
    let (_, router) = app();
    let endpoints = post(&router, "/v1/endpoints", JSON, state().to_string()).await.json();
    assert_eq!((&endpoints["kind"], &endpoints["metadata"]["name"]), (&json!("Endpoints"), &json!("web")));

    // Nothing to do: the stored object. Nothing there: null.
    let mut stored = state();
    stored["endpoints"] = endpoints.clone();
    assert_eq!(post(&router, "/v1/endpoints", JSON, stored.to_string()).await.json(), endpoints);
    assert_eq!(post(&router, "/v1/endpoints", JSON, r#"{"service":null}"#).await.json(), Value::Null);
}

#[tokio::test]
async fn two_releases_are_compared() {
    let (_, router) = app();
    let answer = post(&router, "/v1/compare?compat=1.32&against=1.33", JSON, state().to_string()).await.json();
    assert_eq!(answer["differs"], true, "1.33 adds a label");
    let verbs = json!({ "kind": answer["differences"][0]["kind"], "against": answer["differences"][0]["against"] });
    assert_eq!(verbs, json!({ "kind": "Endpoints", "against": "create" }), "{}", answer["differences"]);
    let label = |plan: &Value| {
        plan["endpoints"]["object"]["metadata"]["labels"]["endpoints.kubernetes.io/managed-by"].is_string()
    };
    assert_eq!((label(&answer["plan"]), label(&answer["against"])), (false, true));
}

#[tokio::test]
async fn what_kubectl_prints_is_taken() {
    let (_, router) = app();
    let mut service = state()["service"].clone();
    service["kind"] = "Service".into();
    service["apiVersion"] = "v1".into();
    let mut pod = pod("web-1", "10.0.0.1");
    pod["kind"] = "Pod".into();
    pod["apiVersion"] = "v1".into();
    let mut other = service.clone();
    other["metadata"]["name"] = "other".into();
    let list = |items: &[&Value]| json!({ "apiVersion": "v1", "kind": "List", "items": items }).to_string();
    let yaml = |items: &[&Value]| items.iter().fold(String::new(), |text, i| format!("{text}---\n{i}\n"));
    for (path, content_type, body, want) in [
        ("/v1/plan", JSON, list(&[&service, &pod]), "create"),
        ("/v1/plan", YAML, list(&[&service, &pod]), "create"),
        ("/v1/plan", YAML, yaml(&[&service, &pod]), "create"),
        ("/v1/plan?service=shop/other", JSON, list(&[&service, &pod, &other]), "create"),
        ("/v1/plan?controllers=mirroring", JSON, list(&[&service, &pod]), "none"),
    ] {
        let answer = post(&router, path, content_type, body).await;
        assert_eq!(answer.status, StatusCode::OK, "{path} {content_type}: {}", answer.text());
        assert_eq!(answer.json()["endpoints"]["action"], want, "{path} {content_type}");
    }
    for (body, want) in [
        (list(&[&service, &other]), "the body has 2 Services"),
        (list(&[&pod]), "none of the readable objects is a Service"),
    ] {
        let answer = post(&router, "/v1/plan", JSON, body).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(answer.json()["detail"].as_str().unwrap().starts_with(want), "{}", answer.text());
    }
}

/// What cannot be read is not gone: nothing is deleted for it.
#[tokio::test]
async fn nothing_is_planned_for_a_service_of_which_something_cannot_be_read() {
    let (_, router) = app();
    let meta = |name: &str, labels: Value| json!({ "namespace": "shop", "name": name, "labels": labels });
    let port = json!({ "port": 80, "targetPort": 80, "protocol": "TCP" });
    let good = [
        json!({ "kind": "Service", "metadata": meta("web", json!({})), "spec": { "ports": [port] } }),
        json!({ "kind": "Endpoints", "metadata": meta("web", json!({})),
                "subsets": [{ "addresses": [{ "ip": "10.0.0.9" }], "ports": [{ "port": 80, "protocol": "TCP" }] }] }),
        json!({ "kind": "EndpointSlice", "addressType": "IPv4", "metadata": meta("web-m", json!({
                    "kubernetes.io/service-name": "web",
                    "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io" })),
                "endpoints": [{ "addresses": ["10.0.0.9"] }], "ports": [{ "port": 80, "protocol": "TCP" }] }),
        json!({ "kind": "Service", "metadata": meta("other", json!({})), "spec": { "ports": [port] } }),
    ];
    for (at, field) in [(0, "/spec/ports"), (1, "/subsets/0/addresses"), (2, "/endpoints")] {
        let mut items = good.clone();
        *items[at].pointer_mut(field).unwrap() = "80".into();
        let list = json!({ "kind": "List", "items": items }).to_string();
        for path in ["/v1/plan", "/v1/endpoints", "/v1/endpointslices", "/v1/explain", "/v1/picture"] {
            let answer = post(&router, &format!("{path}?service=shop/web"), JSON, list.clone()).await;
            assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{path}: {}", answer.text());
            assert_eq!(answer.json()["errors"][0]["pointer"], format!("/items/{at}{field}"), "{}", answer.text());
        }
        let answer = post(&router, "/v1/plan?service=shop/other", JSON, list.clone()).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
        let answer = post(&router, "/v1/cluster", JSON, list).await;
        let lines: Vec<Value> = answer.text().lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        assert_eq!((lines.len(), &lines[0]["service"]["name"]), (2, &json!("other")), "{}", answer.text());
        assert_eq!(lines[1]["summary"]["inputProblems"][0]["pointer"], format!("/items/{at}{field}"));
    }
}

#[tokio::test]
async fn releases_are_listed_and_compared() {
    let (_, router) = app();
    let all = get(&router, "/v1/compat").await.json();
    assert_eq!((all["items"].as_array().unwrap().len(), &all["default"]), (16, &json!("1.37")));
    let some = get(&router, "/v1/compat?from=1.35&to=1.36").await.json();
    assert_eq!(some["differences"][0]["switch"], "nilPortsAreEmpty");
}

#[tokio::test]
async fn a_request_id_is_kept_or_made() {
    let (_, router) = app();
    for (given, kept) in [("abc-1.2_X", true), ("", false), ("a b", false), (&"x".repeat(65), false)] {
        let request = Request::get("/healthz").header("x-request-id", given).body(Body::empty()).unwrap();
        let answer = send(&router, request).await;
        assert_eq!(answer.header("x-request-id") == given, kept, "{given}");
        assert!(!answer.header("x-request-id").is_empty());
    }
}

#[tokio::test]
async fn a_cluster_is_answered_line_by_line() {
    let (_, router) = app();
    let object = |kind: &str, mut object: Value| {
        object["kind"] = kind.into();
        object
    };
    let service = object("Service", state()["service"].clone());
    let mut other = service.clone();
    other["metadata"]["namespace"] = "alpha".into();
    let items = [service, object("Pod", pod("web-1", "10.0.0.1")), other, json!({ "kind": "Secret" })];
    let list = json!({ "kind": "List", "items": items }).to_string();
    let lines = items.iter().fold(String::new(), |text, i| format!("{text}{i}\n"));
    for (content_type, body) in [(JSON, list), ("application/x-ndjson", lines)] {
        let answer = post(&router, "/v1/cluster?compat=1.30", content_type, body).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
        assert_eq!(answer.header("content-type"), "application/x-ndjson");
        let lines: Vec<Value> = answer.text().lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        let names: Vec<_> = lines.iter().map(|l| l["service"]["namespace"].as_str()).collect();
        assert_eq!(names, [Some("alpha"), Some("shop"), None]);
        assert_eq!(lines[1]["endpoints"]["object"]["subsets"][0]["addresses"][0]["ip"], "10.0.0.1");
        assert_eq!((&lines[2]["summary"]["services"], &lines[2]["summary"]["changed"]), (&json!(2), &json!(2)));
        assert_eq!(lines[2]["summary"]["inputProblems"][0]["code"], "ignored-object");
    }
    let broken = post(&router, "/v1/cluster", JSON, r#"{"kind":"List","items":[{"#).await;
    assert_eq!((broken.status, &broken.json()["title"]), (StatusCode::BAD_REQUEST, &json!("The body cannot be read")));
}

/// A few bytes for each Service and pod, and hundreds of bytes for each pod of each Service.
#[tokio::test]
async fn a_cluster_of_services_with_the_same_pods_is_refused() {
    let (_, router) = app();
    let list = |services: usize, pods: usize| {
        let meta = |name: String| json!({ "name": name, "namespace": "n", "labels": { "a": "b" } });
        let service = |i| {
            json!({ "kind": "Service", "metadata": meta(format!("s{i}")),
            "spec": { "selector": { "a": "b" }, "ports": [{ "port": 80 }] } })
        };
        let pod = |i| json!({ "kind": "Pod", "metadata": meta(format!("p{i}")) });
        let items: Vec<Value> = (0..services).map(service).chain((0..pods).map(pod)).collect();
        json!({ "kind": "List", "items": items }).to_string()
    };
    let answer = post(&router, "/v1/cluster?defaults=never", JSON, list(300, 400)).await;
    let detail = "the Services select from 120000 pods, counted for each Service; 107000 are allowed for 700 Services and \
                  pods: post fewer Services at a time";
    assert_eq!((answer.status, &answer.json()["detail"]), (StatusCode::PAYLOAD_TOO_LARGE, &json!(detail)));
    let answer = post(&router, "/v1/cluster?defaults=never", JSON, list(30, 400)).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
}

/// A browser saves what it cannot show; programs get the types that they know.
#[tokio::test]
async fn a_browser_shows_texts() {
    let (_, router) = app();
    let metrics = "text/plain; version=0.0.4; charset=utf-8";
    for (path, of_browsers, of_programs) in
        [("/sample", "text/plain; charset=utf-8", YAML), ("/metrics", metrics, metrics)]
    {
        for (accept, want) in [("text/html,application/xhtml+xml,*/*;q=0.8", of_browsers), ("*/*", of_programs)] {
            let answer = send(&router, Request::get(path).header("accept", accept).body(Body::empty()).unwrap()).await;
            assert_eq!((answer.status, answer.header("content-type")), (StatusCode::OK, want), "{path} {accept}");
            assert_eq!((answer.header("vary"), answer.headers.get("content-disposition")), ("accept", None), "{path}");
        }
    }
}

/// What `serve --dev` prints to try: the sample, and the call to post it to.
#[tokio::test]
async fn the_sample_can_be_tried() {
    let (_, router) = app();
    let sample = get(&router, "/sample").await;
    assert_eq!(sample.header("content-type"), YAML);
    let explained = post(&router, "/v1/explain?service=shop/catalog", YAML, sample.body).await;
    assert_eq!(explained.status, StatusCode::OK, "{}", explained.text());
    let rows = explained.json()["rows"].as_array().unwrap().clone();
    let missing = |row: &Value| row["reasons"].to_string().contains("named-port-missing");
    assert!(rows.iter().any(missing), "{rows:?}");
}

/// The same state, as fields and as a list.
#[tokio::test]
async fn an_explanation_reports_what_does_not_hold_any_more() {
    let (_, router) = app();
    let mut state = state();
    let mut slice = post(&router, "/v1/endpointslices", JSON, state.to_string()).await.json()["items"][0].take();
    slice["metadata"]["name"] = json!("web-1");
    let mut endpoint = slice["endpoints"][0].clone();
    (endpoint["addresses"][0], endpoint["targetRef"]["name"]) = (json!("10.0.0.99"), json!("web-99"));
    slice["endpoints"].as_array_mut().unwrap().push(endpoint);
    state["endpointSlices"] = json!([slice]);
    let typed = |kind: &str, version: &str, object: &Value| {
        let mut object = object.clone();
        (object["kind"], object["apiVersion"]) = (json!(kind), json!(version));
        object
    };
    let mut items = vec![typed("Service", "v1", &state["service"]), slice.clone()];
    items.extend(state["pods"].as_array().unwrap().iter().map(|p| typed("Pod", "v1", p)));
    items.extend(state["nodes"].as_array().into_iter().flatten().map(|n| typed("Node", "v1", n)));
    for body in [state, json!({ "kind": "List", "items": items })] {
        let explained = post(&router, "/v1/explain", JSON, body.to_string()).await.json();
        let reasons = explained["reasons"].as_array().unwrap().iter();
        let codes: Vec<&str> = reasons.map(|r| r["code"].as_str().unwrap()).collect();
        assert!(["target-gone", "stored-differs"].iter().all(|code| codes.contains(code)), "{explained}");
        assert_eq!(explained["summary"]["staleAddresses"], 1);
    }
}

/// Names of slices are unique in their namespace only.
#[tokio::test]
async fn a_slice_of_another_namespace_is_not_the_services() {
    let (_, router) = app();
    let mut state = state();
    let wanted = post(&router, "/v1/endpointslices", JSON, state.to_string()).await.json();
    let mut own = wanted["items"][0].clone();
    own["metadata"]["name"] = json!("web-1");
    let mut foreign = own.clone();
    foreign["metadata"]["namespace"] = json!("elsewhere");
    state["endpointSlices"] = json!([own, foreign]);
    let answer = post(&router, "/v1/endpointslices", JSON, state.to_string()).await.json();
    let namespaces: Vec<_> = answer["items"].as_array().unwrap().iter().map(|s| &s["metadata"]["namespace"]).collect();
    assert_eq!(namespaces, ["shop"]);
}

/// What a small body asks for can take long; the server goes on answering meanwhile.
#[tokio::test(flavor = "current_thread")]
async fn a_small_body_with_much_work_does_not_stop_the_server() {
    let (_, router) = app();
    let mut state = state();
    let port = |n: usize| json!({ "name": format!("p{n}"), "protocol": "TCP", "port": n + 1, "targetPort": "a" });
    state["service"]["spec"]["ports"] = (0..500).map(port).collect();
    let pod = |n: usize| {
        let mut pod = pod(&format!("web-{n}"), &format!("10.0.1.{n}"));
        pod["spec"]["containers"] = json!([{ "ports": [{ "name": "a", "protocol": "TCP", "containerPort": n + 1 }] }]);
        pod
    };
    state["pods"] = (0..200).map(pod).collect();
    let busy = router.clone();
    let work = tokio::spawn(async move { post(&busy, "/v1/plan", JSON, state.to_string()).await.status });
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
    assert_eq!(get(&router, "/healthz").await.status, StatusCode::OK);
    assert!(!work.is_finished());
    assert_eq!(work.await.unwrap(), StatusCode::OK);
}
