//! The webhook without a socket: requests in, answers out.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    Json, Router,
    body::{Body, HttpBody, to_bytes},
    extract::State,
    http::{Request, StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures::StreamExt;
use hyper::body::{Frame, SizeHint};
use roster_admission::{AdmissionRequest as Review, Mode, Nothing, Rule, Settings};
use roster_engine::model::{EndpointSlice, Node, Pod, Service};
use roster_manifests::inventory::{Answers, NamespaceRow, Store};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tower::ServiceExt;

use super::{
    ActivePolicies, AdmissionMetrics, FailureMode, NamespaceLookup, NamespaceMetrics, Webhook, WebhookLimits, router,
};
use crate::runtime::{net::Health, telemetry::registry::MetricsRegistry};

pub(super) const LIMITS: WebhookLimits = WebhookLimits {
    review: 1 << 20,
    conversion: 2 << 20,
    memory: 5 << 20,
    conversion_memory: 5 << 20,
    body_pace: 1,
    request: Duration::from_secs(30),
    large: 1,
    conversions: 1,
    queue: 1,
};

pub(super) fn webhook(failure_mode: FailureMode) -> (Arc<Webhook>, MetricsRegistry) {
    let (metrics, registry) = registered();
    let policies = Arc::new(ActivePolicies::default());
    (Webhook::new(Arc::new(Nothing), policies, metrics, LIMITS, failure_mode, &Health::default()), registry)
}

pub(super) fn registered() -> (AdmissionMetrics, MetricsRegistry) {
    let (metrics, registry) = (AdmissionMetrics::default(), MetricsRegistry::default());
    registry.register(|registry| metrics.register(registry));
    (metrics, registry)
}

/// A review of a Service whose annotations take `padding` bytes.
pub(super) fn review(uid: &str, padding: usize) -> String {
    json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": uid,
            "kind": { "group": "", "version": "v1", "kind": "Service" },
            "namespace": "shop",
            "name": "web",
            "operation": "CREATE",
            "userInfo": { "username": "me" },
            "object": {
                "metadata": { "name": "web", "namespace": "shop", "annotations": { "note": "x".repeat(padding) } },
                "spec": { "ports": [{ "port": 80 }] },
            },
            "oldObject": null,
        },
    })
    .to_string()
}

pub(super) async fn ask(webhook: &Arc<Webhook>, request: Request<Body>) -> (StatusCode, Option<String>, Value) {
    let response = router(webhook.clone()).oneshot(request).await.unwrap();
    let allow = response.headers().get(header::ALLOW).map(|v| v.to_str().unwrap().to_owned());
    assert!(response.headers().get(header::CONTENT_ENCODING).is_none());
    assert!(response.headers().get(header::RETRY_AFTER).is_none(), "an API server would ask again within its time");
    let status = response.status();
    let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
    (status, allow, serde_json::from_slice(&body).unwrap())
}

pub(super) fn post(path: &str, body: impl Into<Body>) -> Request<Body> {
    Request::post(path).header(header::CONTENT_TYPE, "application/json").body(body.into()).unwrap()
}

#[tokio::test]
async fn a_request_without_a_review_gets_a_status() {
    let (webhook, _) = webhook(FailureMode::Open);
    let typed = |kind: &str| Request::post("/validate").header(header::CONTENT_TYPE, kind).body(review("u", 0).into());
    let gzip = Request::post("/validate").header(header::CONTENT_ENCODING, "gzip").body(review("u", 0).into());
    for (name, request, want, reason) in [
        ("GET", Request::get("/mutate").body(Body::empty()).unwrap(), 405, "MethodNotAllowed"),
        ("PUT", Request::put("/convert").body(Body::empty()).unwrap(), 405, "MethodNotAllowed"),
        ("another path", post("/validate/x", review("u", 0)), 404, "NotFound"),
        ("YAML", typed("application/yaml").unwrap(), 415, "UnsupportedMediaType"),
        ("gzip", gzip.unwrap(), 415, "UnsupportedMediaType"),
        ("no JSON", post("/validate", "nonsense"), 400, "BadRequest"),
        ("nothing", post("/validate", ""), 400, "BadRequest"),
        ("an empty uid", post("/validate", review("", 0)), 400, "BadRequest"),
        ("over the limit", post("/validate", review("u", 1 << 20)), 413, "RequestEntityTooLarge"),
    ] {
        let (status, allow, body) = ask(&webhook, request).await;
        assert_eq!((status.as_u16(), body["reason"].as_str()), (want, Some(reason)), "{name}: {body}");
        assert_eq!((&body["kind"], &body["apiVersion"], &body["code"]), (&"Status".into(), &"v1".into(), &want.into()));
        assert_eq!(allow.as_deref(), (want == 405).then_some("POST"), "{name}");
    }
}

#[tokio::test]
async fn a_review_gets_a_review() {
    let (webhook, metrics) = webhook(FailureMode::Closed);
    let typeless = Request::post("/mutate?timeout=10s&x=y").body(review("no type", 0).into()).unwrap();
    let charset = Request::post("/mutate").header(header::CONTENT_TYPE, "Application/JSON; charset=utf-8");
    for (uid, request) in [
        ("mutate", post("/mutate", review("mutate", 0))),
        ("validate", post("/validate?timeout=2s", review("validate", 0))),
        ("no type", typeless),
        ("charset", charset.body(review("charset", 0).into()).unwrap()),
        ("large", post("/validate", review("large", 500_000))),
    ] {
        let (status, _, body) = ask(&webhook, request).await;
        assert_eq!((status, &body["response"]), (StatusCode::OK, &json!({ "uid": uid, "allowed": true })), "{uid}");
        assert_eq!((&body["kind"], &body["apiVersion"]), (&"AdmissionReview".into(), &"admission.k8s.io/v1".into()));
    }
    let text = metrics.encode().unwrap();
    for line in [
        "roster_admission_decisions_total{stage=\"mutate\",kind=\"Service\",operation=\"CREATE\",allowed=\"true\",patched=\"false\"} 3",
        "roster_admission_duration_seconds_count{stage=\"validate\"} 2",
        "roster_admission_in_flight 0",
    ] {
        assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
    }
}

/// The mutating webhook allows what cannot be checked; the validating one follows its failure mode.
#[tokio::test]
async fn an_object_that_is_not_checked_follows_the_failure_mode() {
    let cut = review("cut", 0).trim_end_matches('}').to_owned();
    let foreign = review("foreign", 0).replace("admission.k8s.io/v1", "admission.k8s.io/v7");
    let (twice, number) = (
        review("twice", 0).replace(r#""spec":{"#, r#""spec":{},"spec":{"#),
        review("number", 0).replace(r#""ports":[{"port":80}]"#, r#""ports":[{"port":80},null]"#),
    );
    for (uid, path, body, said, code) in [
        ("twice", "/mutate", twice.clone(), "cannot be read", 400),
        ("twice", "/validate", twice, "cannot be read", 400),
        ("number", "/validate", number, "cannot be read", 400),
        ("late", "/mutate?timeout=0s", review("late", 0), "too little time", 503),
        ("late", "/validate?timeout=0s", review("late", 0), "too little time", 503),
        ("late", "/validate?timeout=0s", review("late", 300_000), "too little time", 503),
        ("cut", "/mutate", cut.clone(), "cannot be read", 400),
        ("cut", "/validate", cut, "cannot be read", 400),
        ("foreign", "/validate", foreign, "neither", 400),
    ] {
        for mode in [FailureMode::Policy, FailureMode::Open, FailureMode::Closed] {
            let (webhook, _) = webhook(mode);
            let (status, _, body) = ask(&webhook, post(path, body.clone())).await;
            if mode == FailureMode::Policy && path.starts_with("/validate") {
                assert_eq!((status.as_u16(), &body["kind"], &body["code"]), (code, &"Status".into(), &code.into()));
                assert!(body["message"].as_str().unwrap().contains(said), "{path}: {body}");
                continue;
            }
            let allowed = mode != FailureMode::Closed || path.starts_with("/mutate");
            assert_eq!((status.as_u16(), &body["response"]["uid"]), (200, &uid.into()), "{body}");
            assert_eq!(body["response"]["allowed"], allowed, "{path} {mode:?}: {body}");
            assert!(body["response"]["warnings"][0].as_str().unwrap().contains(said), "{path} {mode:?}: {body}");
        }
    }
}

/// An enforced rule that takes too much work leaves the decision to the failure mode; another one only counts.
#[tokio::test]
async fn a_rule_that_takes_too_much_work_follows_the_failure_mode() {
    // The same addresses for other ports: nothing is wrong with them.
    let addresses: Vec<Value> = (0..1000).map(|i| json!({ "ip": format!("10.0.{}.{}", i / 200, i % 200) })).collect();
    let subset = |first: i32| -> Value {
        let ports: Vec<Value> = (first..first + 1000).map(|p| json!({ "name": p.to_string(), "port": p })).collect();
        json!({ "addresses": addresses, "ports": ports })
    };
    let body = json!({
        "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": "wide", "operation": "CREATE", "namespace": "shop", "name": "web",
            "kind": { "group": "", "version": "v1", "kind": "Endpoints" },
            "object": { "metadata": {}, "subsets": [subset(1), subset(1001)] },
        },
    });
    for (rule_mode, failure_mode, allowed) in [
        (Mode::Enforce, FailureMode::Policy, None),
        (Mode::Enforce, FailureMode::Closed, Some(false)),
        (Mode::Enforce, FailureMode::Open, Some(true)),
        (Mode::Warn, FailureMode::Closed, Some(true)),
    ] {
        let mut settings = Settings::default();
        for rule in Rule::ALL {
            settings.set(*rule, Mode::Off);
        }
        settings.set(Rule::DuplicateAddress, rule_mode);
        let settings = Arc::new(settings);
        let source = move |_: &Review<'_>| settings.clone();
        let (metrics, registry) = registered();
        let webhook =
            Webhook::new(Arc::new(Nothing), Arc::new(source), metrics, LIMITS, failure_mode, &Health::default());
        let (status, _, answer) = ask(&webhook, post("/validate", body.to_string())).await;
        assert_eq!(answer["response"]["allowed"].as_bool(), allowed, "{rule_mode:?} {failure_mode:?}: {answer}");
        assert_eq!(status.as_u16(), if allowed.is_none() { 503 } else { 200 });
        let text = registry.encode().unwrap();
        assert!(text.contains(r#"roster_admission_shed_total{stage="validate",reason="budget"} 1"#), "{text}");
    }
}

/// A store in which every resource is listed, and nothing exists.
pub(super) fn empty_store() -> Arc<Store> {
    let store = Arc::new(Store::new());
    store.fill::<Pod>(Vec::new());
    store.fill::<Service>(Vec::new());
    store.fill::<Node>(Vec::new());
    store.fill::<EndpointSlice>(Vec::new());
    store.fill::<NamespaceRow>(Vec::new());
    store
}

/// A webhook with one policy, which enforces `address-provenance` in the namespaces of team a.
fn webhook_for_team_a(store: &Arc<Store>, namespaces: NamespaceLookup) -> Arc<Webhook> {
    let policies = ActivePolicies::new(Some(namespaces));
    let policy = json!({
        "apiVersion": "roster.dev/v1", "kind": "EndpointPolicy", "metadata": { "name": "a" },
        "spec": {
            "rules": [{ "name": "address-provenance", "mode": "enforce" }],
            "match": { "namespaces": { "selector": { "matchLabels": { "team": "a" } } } },
        },
    });
    let (policy, _) = roster_admission::policy::read(&serde_json::value::to_raw_value(&policy).unwrap());
    policies.set_file(policy.into_iter().collect());
    let (metrics, _) = registered();
    Webhook::new(
        Arc::new(Answers(store.clone())),
        Arc::new(policies),
        metrics,
        LIMITS,
        FailureMode::Open,
        &Health::default(),
    )
}

/// A review of Endpoints with the address 10.0.0.1.
fn endpoints_review(padding: usize) -> String {
    let text = review("early", padding)
        .replace(r#""Service""#, r#""Endpoints""#)
        .replace(r#""spec":{"ports":[{"port":80}]}"#, r#""subsets":[{"addresses":[{"ip":"10.0.0.1"}]}]"#);
    assert!(text.contains("subsets"));
    text
}

fn add_pod(store: &Store) {
    let pod =
        json!({ "metadata": { "namespace": "shop", "name": "a" }, "status": { "podIPs": [{ "ip": "10.0.0.1" }] } });
    store.apply::<Pod>(serde_json::from_value(pod).unwrap());
}

fn add_namespace(store: &Store) {
    store.apply(NamespaceRow::new("shop", [("team", "a")].into_iter().collect()));
}

/// The copy of the cluster is a moment behind: a review waits for it if its deadline allows.
#[tokio::test(start_paused = true)]
async fn a_review_that_may_be_early_is_checked_again() {
    // A large review waits for a worker, and is checked twice as well.
    for padding in [0, 300_000] {
        for (name, pod_comes, query, allowed) in [
            ("a pod comes", true, "", true),
            ("no time is left for it", true, "?timeout=200ms", false),
            ("nothing comes", false, "", false),
        ] {
            let store = empty_store();
            add_namespace(&store);
            let webhook = webhook_for_team_a(&store, NamespaceLookup::new(store.clone()));
            let later = async {
                sleep(Duration::from_millis(100)).await;
                if pod_comes {
                    add_pod(&store);
                }
            };
            let request = post(&format!("/validate{query}"), endpoints_review(padding));
            let ((_, _, body), ()) = tokio::join!(ask(&webhook, request), later);
            assert_eq!(body["response"]["allowed"], allowed, "{name}, {padding}: {body}");
        }
    }
}

/// An API server whose namespace `shop` belongs to this team; without a team it answers with an error, or not at all.
async fn namespace_of(State(team): State<Result<&'static str, Duration>>) -> Response {
    match team {
        Ok(team) => Json(json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "shop", "labels": { "team": team } },
        }))
        .into_response(),
        Err(pause) => {
            sleep(pause).await;
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// The policy must hold for the first object of a namespace, which the watch may not have delivered yet.
#[tokio::test(start_paused = true)]
async fn a_namespace_that_the_copy_does_not_know_is_read_before_the_decision() {
    let (at_once, never) = (Duration::ZERO, Duration::from_hours(1));
    for padding in [0, 300_000] {
        for (name, team, query, allowed, longest) in [
            ("the policy selects it", Ok("a"), "", false, 300),
            ("the policy does not select it", Ok("b"), "", true, 10),
            ("it cannot be read", Err(at_once), "", false, 300),
            ("the API server is silent", Err(never), "", false, 800),
            ("the same with little time", Err(never), "?timeout=200ms", false, 110),
        ] {
            let store = empty_store();
            let api = Router::new().fallback(namespace_of).with_state(team);
            let client = kube::Client::new(api, "default");
            let lookup = NamespaceLookup::reading(store.clone(), client, NamespaceMetrics::default());
            let webhook = webhook_for_team_a(&store, lookup);
            let began = Instant::now();
            let (_, _, body) = ask(&webhook, post(&format!("/validate{query}"), endpoints_review(padding))).await;
            assert_eq!(body["response"]["allowed"], allowed, "{name}, {padding}: {body}");
            assert!(began.elapsed() <= Duration::from_millis(longest), "{name}, {padding}: {:?}", began.elapsed());
        }
    }
}

#[tokio::test]
async fn a_panic_in_a_rule_gets_an_answer() {
    let (metrics, registry) = registered();
    let bug = |_: &Review<'_>| -> Arc<Settings> { panic!("on purpose") };
    let webhook =
        Webhook::new(Arc::new(Nothing), Arc::new(bug), metrics, LIMITS, FailureMode::Closed, &Health::default());
    let (status, _, body) = ask(&webhook, post("/validate", review("u", 0))).await;
    assert_eq!((status.as_u16(), &body["response"]["status"]["code"]), (200, &500.into()), "{body}");
    let (_, _, body) = ask(&webhook, post("/mutate", review("u", 0))).await;
    assert_eq!(body["response"]["allowed"], true);
    assert!(registry.encode().unwrap().contains("roster_admission_shed_total{stage=\"mutate\",reason=\"bug\"} 1"));
}

/// A body that arrives in pieces, one per second.
fn slow(pieces: Vec<String>) -> Body {
    Body::from_stream(futures::stream::iter(pieces).then(|piece| async move {
        sleep(Duration::from_secs(1)).await;
        Ok::<_, std::io::Error>(Bytes::from(piece))
    }))
}

#[tokio::test(start_paused = true)]
async fn a_slow_body_has_the_time_of_the_request_timeout() {
    let (webhook, _) = webhook(FailureMode::Open);
    let text = review("slow", 0);
    let pieces = || text.as_bytes().chunks(100).map(|c| String::from_utf8(c.to_vec()).unwrap()).collect::<Vec<_>>();
    let seconds = pieces().len();
    for (path, want) in [
        ("/validate".to_owned(), 200),
        (format!("/validate?timeout={}s", seconds + 1), 200),
        ("/validate?timeout=2s".to_owned(), 408),
    ] {
        let (status, _, body) = ask(&webhook, post(&path, slow(pieces()))).await;
        assert_eq!(status.as_u16(), want, "{path}: {body}");
    }
}

#[tokio::test(start_paused = true)]
async fn all_bodies_together_stay_within_the_memory_limit() {
    let (webhook, _) = webhook(FailureMode::Open);
    // Five bodies of nearly a mebibyte whose ends arrive late: the memory is enough for four.
    let open: Vec<_> = (0..5)
        .map(|_| {
            let webhook = webhook.clone();
            let (text, rest) = (review("u", 1_000_000), "  ".to_owned());
            tokio::spawn(async move { ask(&webhook, post("/validate", slow(vec![text, rest]))).await.0 })
        })
        .collect();
    let answers = futures::future::join_all(open).await;
    let answers: Vec<u16> = answers.into_iter().map(|a| a.unwrap().as_u16()).collect();
    assert_eq!(answers.iter().filter(|a| **a == 503).count(), 1, "{answers:?}");
    assert_eq!(answers.iter().filter(|a| **a == 200).count(), 4, "{answers:?}");
    // The memory is released.
    assert_eq!(ask(&webhook, post("/validate", review("u", 1_000_000))).await.0, StatusCode::OK);
}

/// How many of `count` bodies with this beginning and no end are accepted, and the status of a small one beside them.
async fn open(count: usize, begin: &str, announced: Option<u64>) -> (usize, StatusCode) {
    let (webhook, _) = webhook(FailureMode::Open);
    let bodies = (0..count).map(|_| {
        let (webhook, begin) = (webhook.clone(), Bytes::from(begin.to_owned()));
        let pieces = futures::stream::iter([Ok::<_, std::io::Error>(begin)]).chain(futures::stream::pending());
        let body = Announced { body: Body::from_stream(pieces), announced };
        tokio::spawn(async move { ask(&webhook, post("/validate?timeout=5s", Body::new(body))).await.0.as_u16() })
    });
    let bodies: Vec<_> = bodies.collect();
    sleep(Duration::from_secs(1)).await;
    let small = ask(&webhook, post("/validate", review("u", 0))).await.0;
    let answers = futures::future::join_all(bodies).await;
    (answers.into_iter().filter(|a| matches!(a, Ok(408))).count(), small)
}

/// A body with an announced length, as with `Content-Length`.
struct Announced {
    body: Body,
    announced: Option<u64>,
}

impl HttpBody for Announced {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn size_hint(&self) -> SizeHint {
        self.announced.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

/// Over HTTP/2 there may be a hundred thousand of them: bodies of which little or nothing has arrived count as well.
#[tokio::test(start_paused = true)]
async fn bodies_that_never_end_stay_within_the_memory_limit() {
    let (kilobyte, full) = ("x".repeat(1 << 10), "x".repeat(64_000));
    // One client may take 7/8 of 5 MiB. A body counts as 8 KiB at least, which are 560; the small one
    // that is complete takes nothing.
    for (name, begin, announced, count, remain) in [
        ("nothing has come", "", None, 2000, 2000),
        ("a kilobyte each", kilobyte.as_str(), None, 2000, 560),
        ("what is announced takes nothing", kilobyte.as_str(), Some(1 << 20), 2000, 560),
        ("64 000 bytes each", full.as_str(), None, 80, 71),
        ("no more than the memory allows", full.as_str(), None, 71, 71),
    ] {
        assert_eq!(open(count, begin, announced).await, (remain, StatusCode::OK), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn large_bodies_do_not_keep_small_ones_out() {
    assert_eq!(open(6, &"x".repeat(1 << 20), None).await, (4, StatusCode::OK));
}

/// An API server accepts only a whole list: a conversion that is too late fails as a whole, with a message.
#[tokio::test]
async fn a_late_conversion_is_not_begun() {
    let (webhook, _) = webhook(FailureMode::Open);
    let conversion = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
        "request": {
            "uid": "u", "desiredAPIVersion": "roster.dev/v1alpha1",
            "objects": [{ "apiVersion": "roster.dev/v1", "kind": "EndpointPolicy", "metadata": { "name": "a" } }],
        },
    });
    for (query, objects, result) in [
        ("", 1, json!({ "status": "Success" })),
        ("?timeout=0s", 0, json!({ "status": "Failure", "message": "roster: timed out after 0 of 1 objects" })),
    ] {
        let (status, _, body) = ask(&webhook, post(&format!("/convert{query}"), conversion.to_string())).await;
        assert_eq!((status.as_u16(), &body["response"]["result"]), (200, &result), "{query}");
        assert_eq!(body["response"]["convertedObjects"].as_array().unwrap().len(), objects, "{query}");
    }
}
