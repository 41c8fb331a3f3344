//! The `OpenAPI` document: committed, whole, and true.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex},
};

use axum::http::StatusCode;
use roster::servers::rest::{openapi_30_json, openapi_json};
use roster_calls::{Call, CallLimits, CallRequest};
use roster_engine::model::Interrupt;
use serde_json::{Value, json};

use super::{Answer, JSON, app, get, post, state};

pub(super) fn document() -> &'static Value {
    static DOCUMENT: LazyLock<Value> = LazyLock::new(|| serde_json::from_str(&openapi_json()).unwrap());
    &DOCUMENT
}

#[test]
fn every_reference_resolves() {
    let document = document();
    let text = document.to_string();
    let mut references = 0;
    for part in text.split("\"$ref\":\"#").skip(1) {
        let pointer = part.split('"').next().unwrap();
        assert!(document.pointer(pointer).is_some(), "{pointer}");
        references += 1;
    }
    assert!(references > 250, "{references}");
    for kind in ["core.v1.Service", "core.v1.Pod", "core.v1.Node", "core.v1.Endpoints", "discovery.v1.EndpointSlice"] {
        let schema = &document["components"]["schemas"][format!("io.k8s.api.{kind}")];
        assert!(schema["properties"]["metadata"].is_object(), "{kind}");
    }
    for own in ["PlanRequest", "Options", "KubernetesObject", "KubernetesList", "ClusterLine", "Plan", "Problem"] {
        assert!(document["components"]["schemas"][own]["properties"].is_object(), "{own}");
    }
}

#[tokio::test]
async fn the_page_tells_browsers_what_it_may_do() {
    let (_, router) = app();
    for path in ["/docs/", "/docs/swagger-ui-bundle.js"] {
        let answer = get(&router, path).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}");
        for (name, want) in [
            ("content-security-policy", "default-src 'none'; script-src 'self'; "),
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "no-referrer"),
        ] {
            assert!(answer.headers[name].to_str().unwrap().starts_with(want), "{path} {name}");
        }
    }
}

/// A validator of one schema inside the document. All the kinds of Kubernetes belong to each, so it is made once.
fn validator(schema: &Value) -> Arc<jsonschema::Validator> {
    static MADE: LazyLock<Mutex<HashMap<String, Arc<jsonschema::Validator>>>> = LazyLock::new(Mutex::default);
    let make = || {
        let mut root = schema.clone();
        root["components"] = document()["components"].clone();
        Arc::new(jsonschema::validator_for(&root).unwrap())
    };
    MADE.lock().unwrap().entry(schema.to_string()).or_insert_with(make).clone()
}

/// The path with an example of each parameter that must be there.
fn with_query(path: &str, operation: &Value) -> String {
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    let required = parameters.filter(|p| p["required"] == true);
    let pairs: Vec<String> = required
        .map(|p| format!("{}={}", p["name"].as_str().unwrap(), p["example"].as_str().expect("an example")))
        .collect();
    format!("{path}?{}", pairs.join("&"))
}

/// That an answer has the shape that the document tells.
pub(super) fn fits(path: &str, method: &str, status: &str, content_type: &str, answer: &Value) {
    let document = document();
    let content = &document["paths"][path][method]["responses"][status]["content"][content_type];
    let valid = validator(&content["schema"]);
    valid.validate(answer).unwrap_or_else(|e| panic!("{path} {status}: {e}\n{answer}"));
}

/// That the table of calls answers as the server does.
fn called_alike(path: &str, operation: &Value, content_type: &str, body: &str, answer: &Answer) {
    // A whole cluster is answered while it is computed.
    let name = path.strip_prefix("/v1/").filter(|name| *name != "cluster");
    let Some(name) = name else { return };
    let call = Call::named(name).unwrap_or_else(|| panic!("{path} is not in the table of calls"));
    let query = with_query(path, operation);
    let (_, query) = query.split_once('?').unwrap();
    let request = CallRequest { query, content_type: Some(content_type), body: body.as_bytes() };
    let called = call.answer(&request, CallLimits::default(), Interrupt::NEVER).unwrap();
    assert_eq!((called.content_type, &called.bytes), (answer.header("content-type"), &answer.body), "{path}");
    let problems = called.problems.map(|count| count.to_string());
    assert_eq!(problems.as_deref().unwrap_or_default(), answer.header("roster-problems"), "{path}");
}

#[test]
fn every_call_is_a_documented_path() {
    // The answer to the page may change with its script.
    for call in Call::ALL.iter().filter(|call| **call != Call::Page) {
        let method = if call.reads_body() { "post" } else { "get" };
        assert!(document()["paths"][call.path()][method].is_object(), "{}", call.path());
    }
}

#[tokio::test]
async fn every_example_runs_and_every_answer_fits_its_schema() {
    let (_, router) = app();
    let document = document();
    let mut ran = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        let Some(operation) = item.get("post") else { continue };
        for (content_type, content) in operation["requestBody"]["content"].as_object().unwrap() {
            let mut examples: Vec<Value> = content.get("example").into_iter().cloned().collect();
            if let Some(named) = content["examples"].as_object() {
                examples.extend(named.values().map(|e| e["value"].clone()));
            }
            assert!(!examples.is_empty(), "{path} {content_type} has no example");
            for example in examples {
                if let Some(schema) = content.get("schema") {
                    validator(schema).validate(&example).unwrap_or_else(|e| panic!("{path}: {e}"));
                }
                let body = match example {
                    Value::String(text) => text,
                    other => other.to_string(),
                };
                let answer = post(&router, &with_query(path, operation), content_type, body.clone()).await;
                assert_eq!(answer.status, StatusCode::OK, "{path} {content_type}: {}", answer.text());
                called_alike(path, operation, content_type, &body, &answer);
                let ok = &operation["responses"]["200"]["content"];
                let schema = ok.get(answer.header("content-type")).map(|c| &c["schema"]);
                let schema =
                    schema.unwrap_or_else(|| panic!("{path}: {} is not documented", answer.header("content-type")));
                // A stream has no schema for its lines.
                let line = json!({ "$ref": "#/components/schemas/ClusterLine" });
                let validator = validator(if path == "/v1/cluster" { &line } else { schema });
                for line in answer.text().lines() {
                    let line: Value = serde_json::from_str(line).unwrap();
                    validator.validate(&line).unwrap_or_else(|e| panic!("{path}: {e}\n{line}"));
                }
                ran += 1;
            }
        }
    }
    assert!(ran >= 6, "{ran}");
}

#[tokio::test]
async fn other_answers_fit_their_schemas_too() {
    let (_, router) = app();
    fits("/v1/compat", "get", "200", JSON, &get(&router, "/v1/compat").await.json());
    let differences = "/v1/compat/differences";
    for query in ["", "?from=1.22", "?from=1.30&to=1.33"] {
        let answer = get(&router, &format!("{differences}{query}")).await.json();
        fits(differences, "get", "200", JSON, &answer);
        if !query.is_empty() {
            assert_eq!(get(&router, &format!("/v1/compat{query}")).await.json(), answer);
        }
    }
    let compared = post(&router, "/v1/compare?against=1.22", JSON, state().to_string()).await.json();
    fits("/v1/compare", "post", "200", JSON, &compared);
    let unknown = post(&router, "/v1/plan?against=1.22", JSON, state().to_string()).await;
    assert_eq!(
        (unknown.status, &unknown.json()["errors"][0]["parameter"]),
        (StatusCode::BAD_REQUEST, &json!("against"))
    );
    let problem = post(&router, "/v1/compare", JSON, state().to_string()).await;
    assert_eq!(
        (problem.status, &problem.json()["errors"][0]["parameter"]),
        (StatusCode::BAD_REQUEST, &json!("against"))
    );
    let mut stored = state();
    stored["endpoints"] = post(&router, "/v1/endpoints", JSON, state().to_string()).await.json();
    fits("/v1/plan", "post", "200", JSON, &post(&router, "/v1/plan", JSON, stored.to_string()).await.json());
    let problem = "application/problem+json";
    for (body, status) in [("{", "400"), (r#"{"service":1}"#, "422")] {
        fits("/v1/plan", "post", status, problem, &post(&router, "/v1/plan", JSON, body).await.json());
    }
    fits("/v1/plan", "post", "415", problem, &post(&router, "/v1/plan", "text/plain", "").await.json());
}

#[tokio::test]
async fn the_page_and_the_document_are_served() {
    let (_, router) = app();
    assert_eq!(get(&router, "/openapi.json").await.text(), openapi_json());
    assert_eq!(get(&router, "/openapi-3.0.json").await.text(), openapi_30_json());
    assert_eq!(get(&router, "/docs/").await.status, StatusCode::OK);
    for path in ["/docs/swagger-ui-bundle.js", "/docs/swagger-ui.css", "/docs/swagger-initializer.js"] {
        assert_eq!(get(&router, path).await.status, StatusCode::OK, "{path}");
    }
    let init = String::from_utf8(get(&router, "/docs/swagger-initializer.js").await.body).unwrap();
    assert!(init.contains(r#""validatorUrl": "none""#), "{init}");
    assert_eq!(document()["openapi"], json!("3.1.0"));
}

#[tokio::test]
async fn gzip_is_sent_to_those_who_accept_it() {
    let (_, router) = app();
    for (path, begins) in [("/docs/", "<"), ("/openapi.json", "{"), ("/openapi-3.0.json", "{")] {
        for accepts in [None, Some("gzip"), Some("gzip;q=0"), Some("identity")] {
            let mut request = axum::http::Request::get(path);
            if let Some(accepts) = accepts {
                request = request.header("accept-encoding", accepts);
            }
            let answer = super::send(&router, request.body(axum::body::Body::empty()).unwrap()).await;
            assert_eq!(
                (answer.status, answer.header("vary")),
                (StatusCode::OK, "accept-encoding"),
                "{path} {accepts:?}"
            );
            if accepts == Some("gzip") {
                assert_eq!(
                    (answer.header("content-encoding"), &answer.body[..2]),
                    ("gzip", &[0x1f, 0x8b][..]),
                    "{path}"
                );
            } else {
                assert_eq!(answer.header("content-encoding"), "", "{path} {accepts:?}");
                assert!(answer.text().starts_with(begins), "{path} {accepts:?}");
            }
        }
    }
    let all = get(&router, "/openapi.json").await.body.len();
    let request = axum::http::Request::get("/openapi.json").header("accept-encoding", "gzip");
    let compressed = super::send(&router, request.body(axum::body::Body::empty()).unwrap()).await.body.len();
    assert!(compressed * 5 < all, "{compressed} of {all}");
}
