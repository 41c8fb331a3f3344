//! `GET /debug/services/NAMESPACE/NAME` of the admin listener: what the controller knows of a Service and did for it, and which pods
//! serve it and why.
//! Who may read it: [`AdminReaders`].

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::{Path, Request, State},
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::get,
};
use roster_engine::{
    explain::Explanation,
    model::{Resource, dns},
    unknown_kinds::UnknownKinds,
};
use serde_json::{Value, json};
use tokio::{sync::Semaphore, task::spawn_blocking, time::Instant};

use super::{
    admin_readers::AdminReaders,
    cluster_copy::{ClusterCopy, ServiceReport},
    permissions::watches,
    queue::{QueuedReport, ServiceKey},
    service_scope::NotServed,
    sync_counts::{SliceCounts, WantedSlices},
    sync_records::{SyncRecord, SyncResult},
};
use crate::runtime::status_error::StatusError;

/// How many explanations are made at once.
const AT_ONCE: usize = 2;

struct DebugState {
    copy: Arc<ClusterCopy>,
    readers: Arc<AdminReaders>,
    places: Semaphore,
}

/// The routes.
pub(super) fn debug_routes(copy: Arc<ClusterCopy>, readers: Arc<AdminReaders>) -> Router {
    let state = DebugState { copy, readers, places: Semaphore::new(AT_ONCE) };
    Router::new().route("/debug/services/{namespace}/{name}", get(report)).with_state(Arc::new(state))
}

async fn report(
    State(state): State<Arc<DebugState>>,
    Path((namespace, name)): Path<(String, String)>,
    request: Request,
) -> Result<Response, StatusError> {
    // Also before a path is made of them, which the API server compares with those that a user may read.
    if !dns::is_label(namespace.as_bytes()) || !dns::is_subdomain(name.as_bytes()) {
        return Err(unknown(&namespace, &name));
    }
    state.readers.may_get(&request.into_parts().0, &format!("/debug/services/{namespace}/{name}")).await?;
    state.copy.synced().map_err(StatusError::busy)?;
    let _place = state.places.try_acquire().map_err(|_| StatusError::busy("too many requests at once"))?;
    let (copy, key) = (state.copy.clone(), ServiceKey { namespace: namespace.into(), name: name.into() });
    let report = spawn_blocking(move || of_service(&copy, &key, Instant::now())).await;
    let report = report.map_err(|_| StatusError::internal("the explanation has failed"))??;
    Ok(Json(report).into_response())
}

/// What is known of a Service, as JSON.
fn of_service(copy: &ClusterCopy, key: &ServiceKey, now: Instant) -> Result<Value, StatusError> {
    let report = copy.report_of(key);
    let (input, namespace_pods) = copy.input_to_explain(key);
    let not_served = copy.not_served(key, &input);
    let is_watched = !matches!(not_served, Some(NotServed::OtherNamespace(_)));
    let is_known = input.service.is_some() || input.endpoints.is_some() || !input.slices.is_empty();
    if is_watched && !is_known && report.queued.is_none() && report.record.is_none() {
        return Err(unknown(&key.namespace, &key.name));
    }
    let watches = |resource| watches(copy.controllers(), resource);
    let unknown = UnknownKinds {
        pods: !watches(Resource::Pod),
        nodes: !watches(Resource::Node),
        endpoints: !watches(Resource::Endpoints),
        ..UnknownKinds::default()
    };
    // The objects of another controller would be explained as if they were written by hand.
    let explanation = not_served.is_none().then(|| copy.explain(&input, unknown, namespace_pods));
    let shown = ShownService { key, not_served, report: &report, explanation };
    Ok(shown.json(now))
}

struct ShownService<'a> {
    key: &'a ServiceKey,
    not_served: Option<NotServed>,
    report: &'a ServiceReport,
    explanation: Option<Explanation>,
}

impl ShownService<'_> {
    fn json(&self, now: Instant) -> Value {
        let ServiceReport { leads, queued, is_doubted, is_contested, record } = self.report;
        json!({
            "namespace": self.key.namespace,
            "name": self.key.name,
            "leads": leads,
            "served": self.not_served.is_none(),
            "reason": self.not_served.as_ref().map(ToString::to_string),
            "queue": queued.map(|queued| of_queue(&queued, *is_contested, now)),
            "readBeforePlan": is_doubted,
            "lastSync": record.as_ref().map(|record| of_record(record, now)),
            "explanation": self.explanation,
        })
    }
}

/// Times are in seconds. What is past is not negative, and has a name that says so.
fn of_queue(queued: &QueuedReport, is_contested: bool, now: Instant) -> Value {
    let QueuedReport { due, held_until, running_since, failures, first } = queued;
    json!({
        "dueIn": due.map(|due| due.saturating_duration_since(now).as_secs_f64()),
        "heldFor": held_until.map(|until| until.saturating_duration_since(now).as_secs_f64()),
        "contested": is_contested,
        "runningFor": running_since.map(|since| ago(since, now)),
        "failures": failures,
        "changed": first.map(|(origin, seen)| json!({ "origin": origin.name(), "ago": ago(seen, now) })),
    })
}

fn of_record(record: &SyncRecord, now: Instant) -> Value {
    let SyncRecord { ended, took, result, last_write, last_error } = record;
    json!({
        "ago": ago(*ended, now),
        "took": took.as_secs_f64(),
        "plan": result.as_ref().map(of_result),
        "lastWriteAgo": last_write.map(|at| ago(at, now)),
        "lastError": last_error.as_ref().map(|(at, text)| json!({ "ago": ago(*at, now), "text": text })),
    })
}

fn of_result(result: &SyncResult) -> Value {
    let SyncResult { counts, endpoints, slices: [create, update, delete], writes, .. } = result;
    json!({
        "endpoints": endpoints,
        "slices": { "create": create, "update": update, "delete": delete },
        "wanted": { "slices": counts.slices.map(of_counts), "mirrored": counts.mirrored.map(of_counts) },
        "writes": writes,
    })
}

fn of_counts(counts: SliceCounts) -> Value {
    let WantedSlices { endpoints, slices, .. } = counts.wanted;
    json!({ "endpoints": endpoints, "slices": slices })
}

fn ago(at: Instant, now: Instant) -> f64 {
    now.saturating_duration_since(at).as_secs_f64()
}

fn unknown(namespace: &str, name: &str) -> StatusError {
    let message = format!("there is nothing of a Service {namespace:?}/{name:?}");
    StatusError::new(StatusCode::NOT_FOUND, "NotFound", message)
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, time::Duration};

    use axum::{
        body::{Body, to_bytes},
        http::header,
    };
    use kube::Client;
    use roster_engine::model::{
        EndpointSlice,
        installed::{MANAGER, SELECTOR},
        names,
    };
    use tokio::time::advance;
    use tower::{ServiceExt, service_fn};

    use super::*;
    use crate::{
        kube_api::ReaderReviews,
        runtime::net::{Exchange, Peer},
        servers::controller::{
            cluster_copy_tests::{copy_of, synced},
            service_scope::ServiceScope,
        },
    };

    /// An API server that lets the user of the token `good` read everything, and knows the token `other`.
    fn readers() -> Arc<AdminReaders> {
        let server = service_fn(|request: http::Request<kube::client::Body>| async move {
            let body = to_bytes(Body::new(request.into_body()), 1 << 20).await.unwrap();
            let review: Value = serde_json::from_slice(&body).unwrap();
            let token = &review["spec"]["token"];
            let known = token == "good" || token == "other";
            let status = json!({ "authenticated": known, "user": { "username": token },
                "allowed": review["spec"]["user"] == "good" });
            let answer = json!({ "metadata": {}, "spec": review["spec"], "status": status });
            Ok::<_, Infallible>(http::Response::new(Body::from(answer.to_string())))
        });
        Arc::new(AdminReaders::new(ReaderReviews::new(Client::new(server, "default"))))
    }

    fn request(path: &str, authorization: &str, peer: Option<&str>) -> Request {
        let (host, path) = path.split_at(path.find('/').unwrap());
        let host = if host.is_empty() { "localhost:10270" } else { host };
        let request = Request::get(path).header(header::AUTHORIZATION, authorization).header(header::HOST, host);
        let mut request = request.body(Body::empty()).unwrap();
        let mut exchange = Exchange::of(request.extensions());
        if let Some(ip) = peer {
            exchange.peer = Peer::of(format!("{ip}:7").parse().unwrap());
        }
        request.extensions_mut().insert(exchange);
        request
    }

    #[tokio::test]
    async fn who_is_not_on_the_machine_needs_a_token() {
        let routes = debug_routes(Arc::new(synced()), readers());
        let web = "/debug/services/shop/web";
        for (path, authorization, peer, want) in [
            (web, "", Some("127.0.0.1"), 200),
            (web, "", Some("[::1]"), 200),
            (web, "", Some("127.0.0.6"), 401),
            ("127.0.0.1/debug/services/shop/web", "", Some("127.0.0.1"), 200),
            ("[::1]:10270/debug/services/shop/web", "", Some("[::1]"), 200),
            ("rebound.example.com:10270/debug/services/shop/web", "", Some("127.0.0.1"), 401),
            (web, "", Some("10.0.0.1"), 401),
            (web, "", None, 401),
            (web, "Bearer good", Some("10.0.0.1"), 200),
            (web, "bearer  good", Some("10.0.0.1"), 200),
            (web, "Bearer other", Some("10.0.0.1"), 403),
            (web, "Bearer unknown", Some("10.0.0.1"), 401),
            (web, "Bearer ", Some("10.0.0.1"), 401),
            (web, "Basic good", Some("10.0.0.1"), 401),
            (web, "Bearer good good", Some("10.0.0.1"), 401),
            ("/debug/services/shop/other", "", Some("127.0.0.1"), 404),
            ("/debug/services/shop/other", "", Some("10.0.0.1"), 401),
            ("/debug/services/shop%2Fweb/web", "Bearer good", Some("10.0.0.1"), 404),
            ("/debug/services/shop/..%2Fweb", "Bearer good", Some("10.0.0.1"), 404),
        ] {
            let response = routes.clone().oneshot(request(path, authorization, peer)).await.unwrap();
            assert_eq!(response.status().as_u16(), want, "{path} {authorization:?} {peer:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn it_tells_what_waits_what_was_done_and_why() {
        let copy = synced();
        let key = ServiceKey { namespace: "shop".into(), name: "web".into() };
        let told = of_service(&copy, &key, Instant::now()).unwrap();
        assert_eq!(
            (&told["leads"], &told["lastSync"], &told["queue"]["dueIn"]),
            (&json!(true), &Value::Null, &json!(0.0))
        );

        let due = copy.next().await;
        let result = SyncResult { writes: 1, endpoints: "create", slices: [0, 1, 0], ..SyncResult::default() };
        copy.record(&due, Some(result), &[], Duration::from_millis(5));
        advance(Duration::from_secs(2)).await;
        assert_eq!(of_service(&copy, &key, Instant::now()).unwrap()["queue"]["runningFor"], 2.0);
        copy.record(&due, None, &["Failed to update".to_owned()], Duration::ZERO);
        copy.end(&due, super::super::queue::SyncEnd::Failed(Some(Duration::from_secs(7))), None);
        copy.doubt(&key);
        advance(Duration::from_secs(3)).await;
        let told = of_service(&copy, &key, Instant::now()).unwrap();
        let queue = json!({ "dueIn": 4.0, "heldFor": 4.0, "contested": false, "runningFor": null, "failures": 1,
            "changed": { "origin": "other", "ago": 5.0 } });
        assert_eq!((&told["queue"], &told["readBeforePlan"]), (&queue, &json!(true)));
        let (last, error) = (&told["lastSync"], json!({ "ago": 3.0, "text": "Failed to update" }));
        assert_eq!((&last["ago"], &last["lastWriteAgo"], &last["lastError"]), (&json!(3.0), &json!(5.0), &error));
        assert_eq!(told["explanation"]["summary"]["pods"], 1);
        assert!(!told["explanation"]["rows"].as_array().unwrap().is_empty());

        copy.stop_leading();
        let told = of_service(&copy, &key, Instant::now()).unwrap();
        assert_eq!((&told["leads"], &told["lastSync"], &told["queue"]), (&json!(false), &Value::Null, &Value::Null));
    }

    /// A Service with the objects that a controller beside the built-in ones has written for it.
    fn annotated(team: &str, annotation: &str, spec: &Value) -> [Value; 3] {
        let meta = |labels: Value| json!({ "name": "web", "namespace": "shop", "uid": "s", "labels": labels });
        let mut service = json!({ "metadata": meta(json!({ "team": team })), "spec": spec });
        service["spec"]["ipFamilies"] = json!(["IPv4"]);
        if !annotation.is_empty() {
            service["metadata"]["annotations"] = json!({ SELECTOR: annotation });
        }
        let endpoints = meta(json!({ names::ENDPOINTS_MANAGED_BY: MANAGER, names::SKIP_MIRROR: "true" }));
        let mut slice = meta(json!({ names::SERVICE_NAME: "web", names::SLICE_MANAGED_BY: MANAGER }));
        let owner = json!({ "apiVersion": "v1", "kind": "Service", "name": "web", "uid": "s", "controller": true });
        slice["ownerReferences"] = json!([owner]);
        [service, json!({ "metadata": endpoints }), json!({ "metadata": slice, "addressType": "IPv4" })]
    }

    /// Why a Service is not served, or what its explanation says of it as a whole.
    fn why(copy: &ClusterCopy) -> String {
        let key = ServiceKey { namespace: "shop".into(), name: "web".into() };
        let shown = of_service(copy, &key, Instant::now()).unwrap();
        let text = shown.to_string();
        assert!(!text.contains("hand-made") && !text.contains("by others"), "{text}");
        let (reason, explanation) = (&shown["reason"], &shown["explanation"]);
        if shown["served"] == false {
            assert_eq!(explanation, &Value::Null);
            return reason.as_str().unwrap().to_owned();
        }
        assert_eq!(reason, &Value::Null);
        let causes = explanation["reasons"].as_array().unwrap().iter();
        let causes = causes.map(|cause| format!("{}: {}", cause["code"], cause["detail"]).replace('"', ""));
        causes.collect::<Vec<_>>().join("; ")
    }

    #[tokio::test(start_paused = true)]
    async fn a_service_that_is_not_served_says_so_and_one_that_is_names_the_right_cause() {
        let all = ServiceScope::default();
        let beside = ServiceScope { is_beside: true, ..ServiceScope::default() };
        let team = ServiceScope { labels: Some("team=a".parse().unwrap()), ..ServiceScope::default() };
        let bank = ServiceScope { namespace: Some("bank".to_owned()), ..ServiceScope::default() };
        let (selector, none) = (json!({ "selector": { "app": "web" } }), json!({}));
        let other = json!({ "selector": { "app": "api" } });
        let external = json!({ "type": "ExternalName", "selector": { "app": "web" } });
        let by_the_built_in = "it has a selector: the built-in controllers serve it";
        let nothing = "selector-matches-nothing: the only pod in namespace shop does not match";
        let by_annotation = "no-selector: there are Endpoints by `roster controller --beside` with 0 addresses, and 1 slice by \
            `roster controller --beside`; only `roster controller --beside` reads the annotation roster.dev/selector";
        for (scope, team, annotation, spec, want) in [
            (&beside, "a", "", &selector, by_the_built_in),
            (&beside, "a", "app=web", &selector, by_the_built_in),
            (&beside, "a", "app in web", &selector, by_the_built_in),
            (&beside, "a", "app=web", &external, "it is of type ExternalName, and has no endpoints"),
            (&beside, "a", "", &none, "it has no annotation roster.dev/selector"),
            (
                &beside,
                "a",
                "app in web",
                &none,
                "the annotation roster.dev/selector cannot be read: \"app in web\" is not the key of a label",
            ),
            (&beside, "a", " ", &none, "the annotation roster.dev/selector cannot be read: it is empty"),
            (&beside, "a", "app=web", &none, ""),
            (&beside, "a", "!tier", &none, ""),
            (&beside, "a", "tier in (a,b)", &none, nothing),
            (&beside, "a", "app=web,tier", &none, nothing),
            (&beside, "a", "app=api", &none, nothing),
            (&team, "a", "", &other, nothing),
            (&team, "b", "", &selector, "--service-selector does not select it"),
            (&bank, "a", "", &selector, "this controller serves namespace bank only (--namespace)"),
            (&all, "b", "", &other, nothing),
            (&all, "b", "", &json!({ "selector": {} }), "selects-everything: 1 pod of namespace shop"),
            (&all, "a", "app=web", &none, by_annotation),
        ] {
            let [service, endpoints, slice] = annotated(team, annotation, spec);
            let copy = copy_of(scope.clone(), vec![service], vec![endpoints], vec![slice]);
            assert!(why(&copy).starts_with(want), "{scope:?} {team} {annotation:?} {spec}: {}", why(&copy));
            assert_eq!(want.is_empty(), why(&copy).is_empty(), "{annotation:?} {spec}: {}", why(&copy));
        }
        let other = copy_of(bank, Vec::new(), Vec::new(), Vec::new());
        assert_eq!(why(&other), "this controller serves namespace bank only (--namespace)", "nothing of it is watched");
        for scope in [all, beside, team] {
            let copy = copy_of(scope, Vec::new(), Vec::new(), Vec::new());
            let key = ServiceKey { namespace: "shop".into(), name: "web".into() };
            assert!(of_service(&copy, &key, Instant::now()).is_err(), "nothing is there");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_contested_service_says_so() {
        let [service, ..] = annotated("a", "", &json!({ "selector": { "app": "web" } }));
        let team = ServiceScope { labels: Some("team=a".parse().unwrap()), ..ServiceScope::default() };
        let copy = copy_of(team, vec![service], Vec::new(), Vec::new());
        let key = ServiceKey { namespace: "shop".into(), name: "web".into() };
        let due = copy.next().await;
        copy.end(&due, super::super::queue::SyncEnd::Settled, None);
        let slice = |version: &str| {
            let labels = json!({ names::SERVICE_NAME: "web", names::SLICE_MANAGED_BY: names::SLICE_CONTROLLER });
            let meta = json!({ "name": "web-1", "namespace": "shop", "uid": "u", "resourceVersion": version, "labels": labels });
            serde_json::from_value::<EndpointSlice>(json!({ "metadata": meta, "addressType": "IPv4" })).unwrap()
        };
        copy.wrote(slice("7"));
        for (version, held, contested) in [("8", json!(null), false), ("9", json!(300.0), true)] {
            copy.apply(Arc::new(slice(version)));
            let queue = &of_service(&copy, &key, Instant::now()).unwrap()["queue"];
            assert_eq!((&queue["heldFor"], &queue["contested"]), (&held, &json!(contested)), "{version}");
        }
    }
}
