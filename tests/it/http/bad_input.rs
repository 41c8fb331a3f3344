//! Hostile and broken requests: each gets a clear answer.

use std::io::Write;

use axum::{
    body::Body,
    http::{Method, Request, StatusCode},
};
use flate2::{Compression, write::GzEncoder};
use roster::servers::rest::RestLimits;
use serde_json::{Value, json};

use super::{JSON, YAML, app, app_with, pod, post, send, state};

/// A body, and what it is answered with: status, the end of the problem's type, the first pointer.
type Case<'a> = (&'a str, &'a str, Vec<u8>, u16, &'a str, Option<&'a str>);

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

fn with(path: &str, value: Value) -> Vec<u8> {
    let mut state = state();
    *state.pointer_mut(path).unwrap() = value;
    state.to_string().into()
}

#[tokio::test]
async fn a_body_that_cannot_be_used_is_refused_with_a_reason() {
    let deep = format!("{{\"service\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let mut cut = br#"{"service":{"metadata":{"name":""#.to_vec();
    cut.extend([0xE2, 0x82]);
    let cases: Vec<Case<'_>> = vec![
        ("empty", JSON, vec![], 400, "malformed-body", None),
        ("blank", JSON, b" \n".to_vec(), 400, "malformed-body", None),
        ("null", JSON, b"null".to_vec(), 400, "malformed-body", None),
        ("a number", JSON, b"1".to_vec(), 400, "malformed-body", None),
        ("a list", JSON, b"[]".to_vec(), 400, "malformed-body", None),
        ("text", JSON, b"\"x\"".to_vec(), 400, "malformed-body", None),
        ("truncated", JSON, br#"{"pods":[{"metadata""#.to_vec(), 400, "malformed-body", None),
        ("trailing garbage", JSON, b"{} x".to_vec(), 400, "malformed-body", None),
        ("a cut character", JSON, cut, 400, "malformed-body", None),
        ("a depth bomb", JSON, deep.into(), 422, "invalid-object", Some("/service")),
        ("not YAML", YAML, b"a: [1\nb: }".to_vec(), 400, "malformed-body", None),
        ("an alias bomb", YAML, alias_bomb().into(), 400, "malformed-body", None),
        ("another type", "text/plain", b"{}".to_vec(), 415, "media-type", None),
        ("another charset", "application/json; charset=latin1", b"{}".to_vec(), 415, "media-type", None),
        ("too many objects", JSON, too_many(r#""pods""#), 413, "too-large", None),
        ("too many documents", YAML, "--- {}\n".repeat(500_002).into(), 413, "too-large", None),
        ("too many in a list", JSON, too_many(r#""kind":"List","items""#), 413, "too-large", None),
    ];
    refused(cases).await;
}

/// Each document is read as the JSON of one body, which ends before the next.
#[tokio::test]
async fn a_request_is_one_yaml_document() {
    let text = "line 3: another YAML document begins, and this call needs one: post one with all objects in its \
                fields, or the objects alone, each with its kind";
    for (path, field) in [("/v1/plan", "service"), ("/v1/review", "object"), ("/v1/view", "services")] {
        let body = format!("{field}: {{kind: Service}}\n---\n{field}: {{kind: Service}}\n");
        let answer = post(&app().1, path, YAML, body).await;
        let problem: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!((answer.status, problem["detail"].as_str()), (StatusCode::BAD_REQUEST, Some(text)), "{path}");
    }
}

#[tokio::test]
async fn a_field_that_cannot_be_used_is_named() {
    let cases: Vec<Case<'_>> = vec![
        (
            "a Pod as Service",
            JSON,
            with("/service", json!({ "kind": "Pod", "metadata": { "name": "web-1" } })),
            422,
            "invalid-object",
            Some("/service/kind"),
        ),
        ("a list as Service", JSON, with("/service", json!([])), 422, "invalid-object", Some("/service")),
        (
            "text as port",
            JSON,
            with("/service/spec/ports/0/port", json!("80")),
            422,
            "invalid-object",
            Some("/service/spec/ports/0/port"),
        ),
        (
            "a huge port",
            JSON,
            with("/service/spec/ports/0/port", json!(3_000_000_000_u64)),
            422,
            "invalid-object",
            Some("/service/spec/ports/0/port"),
        ),
        (
            "a number as name",
            JSON,
            with("/service/metadata/name", json!(1)),
            422,
            "invalid-object",
            Some("/service/metadata/name"),
        ),
        (
            "a number as label",
            JSON,
            with("/service/spec/selector", json!({"a/b": 1})),
            422,
            "invalid-object",
            Some("/service/spec/selector/a~1b"),
        ),
        ("nothing", JSON, b"{}".to_vec(), 422, "invalid-object", Some("/service")),
        ("pods of no Service", JSON, br#"{"pods":[]}"#.to_vec(), 422, "invalid-object", Some("/service")),
        ("a misspelt field", JSON, br#"{"servise":{}}"#.to_vec(), 422, "invalid-object", Some("/servise")),
        (
            "another case",
            JSON,
            br#"{"service":{},"endpointslices":[]}"#.to_vec(),
            422,
            "invalid-object",
            Some("/endpointslices"),
        ),
        ("an unknown field", YAML, b"service: {}\nx: 1".to_vec(), 422, "invalid-object", Some("/x")),
        ("pods that are not a list", JSON, with("/pods", json!({})), 422, "invalid-object", Some("/pods")),
        (
            "a release that is not known",
            JSON,
            br#"{"options":{"compat":"1.21"}}"#.to_vec(),
            422,
            "invalid-object",
            Some("/options/compat"),
        ),
        (
            "a limit out of range",
            JSON,
            br#"{"options":{"maxEndpointsPerSlice":0}}"#.to_vec(),
            422,
            "invalid-object",
            Some("/options/maxEndpointsPerSlice"),
        ),
        (
            "a controller that is not known",
            JSON,
            br#"{"controllers":["endpoints","x"]}"#.to_vec(),
            422,
            "invalid-object",
            Some("/controllers/1"),
        ),
        (
            "a controller that is not a string",
            JSON,
            br#"{"controllers":[5]}"#.to_vec(),
            422,
            "invalid-object",
            Some("/controllers/0"),
        ),
        (
            "broken Endpoints",
            JSON,
            br#"{"endpoints":{"subsets":1}}"#.to_vec(),
            422,
            "invalid-object",
            Some("/endpoints/subsets"),
        ),
    ];
    refused(cases).await;
}

async fn refused(cases: Vec<Case<'_>>) {
    let (_, router) = app();
    for (name, content_type, body, status, kind, pointer) in cases {
        let answer = post(&router, "/v1/plan", content_type, body).await;
        assert_eq!(answer.status.as_u16(), status, "{name}: {}", answer.text());
        assert_eq!(answer.header("content-type"), "application/problem+json", "{name}");
        let problem = answer.json();
        assert_eq!(problem["type"], format!("urn:roster:problem:{kind}"), "{name}: {problem}");
        assert_eq!(problem["status"], status, "{name}");
        assert_eq!(problem["instance"], format!("urn:roster:request:{}", answer.header("x-request-id")), "{name}");
        assert_eq!(problem["errors"][0]["pointer"].as_str(), pointer, "{name}: {problem}");
        assert!(problem["detail"].as_str().unwrap().len() < 1000, "{name}: {problem}");
        // Clients know JSON, and nothing of this program's types.
        let text = answer.text();
        assert!(!["struct", "Raw", "i32", "enum"].iter().any(|word| text.contains(word)), "{name}: {text}");
    }
}

/// A body of few bytes for each object, one more than may be.
fn too_many(field: &str) -> Vec<u8> {
    format!("{{{field}:[{}{{}}]}}", "{},".repeat(500_000)).into()
}

fn alias_bomb() -> String {
    let mut text = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for i in 1..12 {
        let before = format!("*a{}", i - 1);
        let ten = [before.as_str(); 10].join(",");
        text = format!("{text}a{i}: &a{i} [{ten}]\n");
    }
    text + "service: *a11\n"
}

#[tokio::test]
async fn one_broken_object_does_not_lose_the_others() {
    let (_, router) = app();
    let broken = json!({ "metadata": { "name": "broken", "namespace": "shop", "labels": { "app": 1 } } });
    let mut body = state();
    body["pods"] = json!([broken, pod("web-1", "10.0.0.1"), null, []]);
    body["nodes"] = json!([{ "metadata": { "name": 5 } }, { "metadata": { "name": "node-1" } }]);
    body["endpointSlices"] = json!([{ "endpoints": {} }]);
    let answer = post(&router, "/v1/plan", JSON, body.to_string()).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
    let plan = answer.json();
    assert_eq!(plan["endpoints"]["object"]["subsets"][0]["addresses"][0]["ip"], "10.0.0.1");
    let problems = plan["problems"].as_array().unwrap();
    let found: Vec<_> = problems
        .iter()
        .filter(|p| p["code"] == "invalid-object")
        .map(|p| (p["pointer"].as_str().unwrap(), p["object"]["kind"].as_str().unwrap()))
        .collect();
    assert_eq!(
        found,
        [
            ("/pods/0/metadata/labels/app", "Pod"),
            ("/pods/2", "Pod"),
            ("/pods/3", "Pod"),
            ("/nodes/0/metadata/name", "Node"),
            ("/endpointSlices/0/endpoints", "EndpointSlice"),
        ]
    );
    let text = answer.text();
    assert!(!text.contains("struct") && !text.contains("at line"), "{text}");
    let pod = problems.iter().find(|p| p["pointer"] == "/pods/0/metadata/labels/app").unwrap();
    assert_eq!(pod["object"], json!({ "kind": "Pod", "namespace": "shop", "name": "broken" }));
}

#[tokio::test]
async fn odd_but_usable_bodies_are_planned() {
    let (_, router) = app();
    let text = state().to_string();
    let twice = text.replacen("\"name\":\"web\"", "\"name\":\"x\",\"name\":\"web\"", 1);
    let twice_on_top = text.replacen("\"service\":", "\"service\":{\"spec\":{}},\"service\":", 1);
    let mut many = state();
    for i in 0..10_000 {
        many["service"]["metadata"]["labels"][format!("l{i}")] = json!("v");
        many["pods"][0]["spec"][format!("unknown{i}")] = json!({ "a": [1] });
    }
    let bomb = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep = text.replacen("\"service\":{", &format!("\"service\":{{\"unknown\":{bomb},"), 1);
    assert_ne!(deep, text);
    let refused = post(&router, "/v1/plan", JSON, text.replacen('{', &format!("{{\"spec\":{bomb},"), 1)).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", refused.text());
    assert_eq!(refused.json()["errors"][0]["pointer"], "/spec");
    for (name, body) in [
        ("a depth bomb that nobody reads", deep),
        ("a key twice", twice),
        ("a field twice", twice_on_top),
        ("many labels and unknown fields", many.to_string()),
        ("a byte more than a megabyte", text.clone() + &" ".repeat(1 << 20)),
    ] {
        let answer = post(&router, "/v1/plan", JSON, body).await;
        assert_eq!(answer.status, StatusCode::OK, "{name}: {}", answer.text());
        assert_eq!(answer.json()["endpoints"]["object"]["metadata"]["name"], "web", "{name}");
    }
}

#[tokio::test]
async fn compressed_bodies_are_read_up_to_the_limit() {
    let limits = RestLimits { body: 1 << 20, ..RestLimits::default() };
    let (_, router) = app_with(limits);
    let text = state().to_string();
    let good = gzip(text.as_bytes());
    let mut two_members = gzip(&text.as_bytes()[..10]);
    two_members.extend(gzip(&text.as_bytes()[10..]));
    let bomb = gzip(&vec![b' '; 100 << 20]);
    let exact = text.clone() + &" ".repeat((1 << 20) - text.len());
    for (name, encoding, body, want) in [
        ("gzip", "gzip", good.clone(), 200),
        ("two members", "gzip", two_members, 200),
        ("no encoding by name", "identity", text.clone().into(), 200),
        ("exactly the limit", "identity", exact.clone().into(), 200),
        ("exactly the limit, compressed", "gzip", gzip(exact.as_bytes()), 200),
        ("one byte more", "identity", (exact.clone() + " ").into(), 413),
        ("one byte more, compressed", "gzip", gzip((exact.clone() + " ").as_bytes()), 413),
        ("a bomb", "gzip", bomb, 413),
        ("cut short", "gzip", good[..good.len() - 9].to_vec(), 400),
        ("not gzip", "gzip", text.clone().into(), 400),
        ("another encoding", "br", text.clone().into(), 415),
    ] {
        let request = Request::post("/v1/plan").header("content-type", JSON).header("content-encoding", encoding);
        let answer = send(&router, request.body(Body::from(body)).unwrap()).await;
        assert_eq!(answer.status.as_u16(), want, "{name}: {}", answer.text());
    }
}

/// A byte of YAML takes about ten times as long to read as one of JSON.
#[tokio::test]
async fn yaml_is_read_up_to_an_eighth_of_the_limit() {
    let (_, router) = app_with(RestLimits { body: 1 << 20, ..RestLimits::default() });
    let text = state().to_string();
    let exact = text.clone() + &" ".repeat((1 << 17) - text.len());
    for (encoding, body, want) in [
        ("identity", exact.clone().into_bytes(), 200),
        ("gzip", gzip(exact.as_bytes()), 200),
        ("identity", (exact.clone() + " ").into(), 413),
        ("gzip", gzip((exact.clone() + " ").as_bytes()), 413),
    ] {
        let request = Request::post("/v1/plan").header("content-type", YAML).header("content-encoding", encoding);
        let answer = send(&router, request.body(Body::from(body)).unwrap()).await;
        assert_eq!(answer.status.as_u16(), want, "{encoding}: {}", answer.text());
        let names_json =
            answer.text().contains("131072 bytes of YAML after decompression; of JSON, it may have 1048576");
        assert_eq!(names_json, want == 413, "{}", answer.text());
    }
}

#[tokio::test]
async fn wrong_paths_methods_and_queries_are_problems_too() {
    let (_, router) = app();
    for (method, path, status, kind) in [
        (Method::GET, "/nothing", 404, "not-found"),
        (Method::GET, "/docs/nothing", 404, "not-found"),
        (Method::GET, "/v1/plan", 405, "method-not-allowed"),
        (Method::DELETE, "/healthz", 405, "method-not-allowed"),
        (Method::POST, "/v1/plan?compat=9", 400, "invalid-query"),
        (Method::POST, "/v1/plan?x=9", 400, "invalid-query"),
        (Method::GET, "/v1/compat?from=x", 400, "invalid-query"),
        (Method::GET, "/readyz", 503, "not-ready"),
    ] {
        let request = Request::builder().method(&method).uri(path).body(Body::empty()).unwrap();
        let answer = send(&router, request).await;
        assert_eq!(answer.status.as_u16(), status, "{method} {path}: {}", answer.text());
        assert_eq!(answer.json()["type"], format!("urn:roster:problem:{kind}"), "{method} {path}");
        assert_eq!(answer.header("allow").is_empty(), status != 405, "{method} {path}");
    }
}

/// What an API server does not store is reported of every object that was never in a cluster, with the pointer to the field.
#[tokio::test]
async fn fields_that_no_api_server_stores_are_reported() {
    const WRONG: [&str; 3] = ["unknown-field", "wrong-type", "invalid-value"];
    let (_, router) = app();
    let codes = |list: &Value| -> Vec<String> {
        let codes = list.as_array().unwrap().iter().map(|p| p["code"].as_str().unwrap().to_owned());
        codes.filter(|code| WRONG.contains(&code.as_str())).collect()
    };
    let found = |answer: &Value| -> Vec<String> {
        let problems = answer["problems"].as_array().unwrap().iter();
        let wrong = problems.filter(|p| WRONG.contains(&p["code"].as_str().unwrap()));
        wrong.map(|p| format!("{} {}", p["code"].as_str().unwrap(), p["pointer"].as_str().unwrap())).collect()
    };
    let unstored = || {
        let mut state = state();
        for object in ["/service", "/pods/0"] {
            state.pointer_mut(object).unwrap()["metadata"].as_object_mut().unwrap().remove("uid");
        }
        state
    };
    let mut misspelt = unstored();
    misspelt["service"]["spec"]["sessionAfinity"] = "ClientIP".into();
    misspelt["pods"][0]["spec"]["nodename"] = "node-1".into();
    let mut recorded = misspelt.clone();
    recorded["service"]["metadata"]["uid"] = "u".into();
    recorded["pods"][0]["metadata"]["uid"] = "u".into();
    let mut wrong_value = unstored();
    wrong_value["service"]["spec"]["type"] = "Loadbalancer".into();
    for (name, body, want) in [
        ("nothing", unstored(), &[][..]),
        (
            "misspelt",
            misspelt.clone(),
            &["unknown-field /service/spec/sessionAfinity", "unknown-field /pods/0/spec/nodename"],
        ),
        ("of a cluster", recorded, &[]),
        ("a value", wrong_value, &["invalid-value /service/spec/type"]),
    ] {
        let answer = post(&router, "/v1/plan", JSON, body.to_string()).await;
        assert_eq!(found(&answer.json()), want, "{name}: {}", answer.text());
        let answer = post(&router, "/v1/explain", JSON, body.to_string()).await;
        let of_plan: Vec<&str> = want.iter().filter_map(|f| f.split(' ').next()).collect();
        assert_eq!(codes(&answer.json()["reasons"]), of_plan, "{name}: {}", answer.text());
    }
    let mut service = misspelt["service"].clone();
    service["kind"] = "Service".into();
    service["apiVersion"] = "v1".into();
    let list = json!({ "kind": "List", "items": [service] });
    let answer = post(&router, "/v1/plan", JSON, list.to_string()).await.json();
    assert_eq!(found(&answer), ["unknown-field /items/0/spec/sessionAfinity"], "{answer}");
}

/// A Service of which the body has nothing is not planned as deleted.
#[tokio::test]
async fn a_service_that_the_body_does_not_have_is_not_found() {
    let (_, router) = app();
    let mut service = state()["service"].clone();
    service["kind"] = "Service".into();
    service["apiVersion"] = "v1".into();
    let left = json!({ "apiVersion": "v1", "kind": "Endpoints", "metadata": { "name": "gone", "namespace": "shop" } });
    let body = json!({ "kind": "List", "items": [service, left] }).to_string();
    let none = "the body has no Service, Endpoints or slice of the name";
    for (query, status, want) in [
        ("shop/web", 200, String::new()),
        ("shop/gone", 200, String::new()),
        ("shop/webb", 404, format!("{none} shop/webb; did you mean shop/web?")),
        ("acme/web", 404, format!("{none} acme/web; did you mean shop/web?")),
        ("shop/database", 404, format!("{none} shop/database")),
    ] {
        for path in ["/v1/plan", "/v1/explain", "/v1/picture", "/v1/endpoints", "/v1/endpointslices"] {
            let answer = post(&router, &format!("{path}?service={query}"), JSON, body.clone()).await;
            assert_eq!(answer.status, status, "{path} {query}: {}", answer.text());
            if status == 404 {
                assert_eq!(
                    (&answer.json()["detail"], &answer.json()["errors"][0]["parameter"]),
                    (&json!(want), &json!("service"))
                );
            }
        }
    }
}
