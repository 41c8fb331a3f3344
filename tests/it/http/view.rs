//! `POST /v1/view`.

use serde_json::{Value, json};

use super::{JSON, YAML, app, document::fits, post};

fn node(name: &str, zone: &str) -> Value {
    json!({ "metadata": { "name": name, "labels": { "topology.kubernetes.io/zone": zone, "site": zone } } })
}

fn endpoint(address: &str, node: &str, zone: &str) -> Value {
    json!({
        "addresses": [address], "conditions": { "ready": true }, "nodeName": node,
        "hints": { "forZones": [{ "name": zone }] },
    })
}

/// Two zones with an endpoint each, and Endpoints of the same.
fn body() -> Value {
    let addresses = [json!({ "ip": "10.0.1.5", "nodeName": "n1" }), json!({ "ip": "10.0.2.7", "nodeName": "n2" })];
    json!({
        "node": "n1",
        "nodes": [node("n1", "a"), node("n2", "b")],
        "services": [{
            "metadata": {
                "name": "web", "namespace": "shop",
                "annotations": { "topologyKeys": r#"["site"]"#, "openyurt.io/topologyKeys": "openyurt.io/nodepool" },
            },
            "spec": { "selector": { "app": "web" }, "ports": [{ "name": "http", "port": 80, "targetPort": 8080 }] },
        }],
        "endpoints": [{
            "metadata": { "name": "web", "namespace": "shop" },
            "subsets": [{ "addresses": addresses, "ports": [{ "name": "http", "port": 8080 }] }],
        }],
        "endpointSlices": [{
            "metadata": { "name": "web-1", "namespace": "shop", "labels": { "kubernetes.io/service-name": "web" } },
            "addressType": "IPv4",
            "ports": [{ "name": "http", "protocol": "TCP", "port": 8080 }],
            "endpoints": [endpoint("10.0.1.5", "n1", "a"), endpoint("10.0.2.7", "n2", "b")],
        }],
    })
}

fn with(changes: &Value) -> Value {
    let mut body = body();
    body.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    body
}

#[tokio::test]
async fn each_scheme_answers_for_a_node() {
    let (_, router) = app();
    let pool = json!({ "metadata": { "name": "p" }, "status": { "nodes": ["n1"] } });
    let mut pooled = with(&json!({ "scheme": "openyurt", "nodePools": [pool], "options": { "poolTopology": true } }));
    pooled["nodes"][0]["metadata"]["labels"]["apps.openyurt.io/nodepool"] = "p".into();
    let slice = "/endpointSlices/0/endpoints/0/addresses/0";
    for (body, pointer, count, want) in [
        (body(), "/ports/0/cluster", 1, json!(["10.0.1.5:8080"])),
        (with(&json!({ "node": "n2" })), "/ports/0/reachable", 1, json!(["10.0.2.7:8080"])),
        (with(&json!({ "node": "n3" })), "/ports/0/cluster", 1, json!(["10.0.1.5:8080", "10.0.2.7:8080"])),
        (body(), "/ports/0/endpoints/1/reason", 1, json!("hinted-elsewhere")),
        (body(), "/ports/0/local", 1, Value::Null),
        (with(&json!({ "ipFamily": "IPv6" })), "/reasons/0/code", 0, json!("not-proxied")),
        (with(&json!({ "scheme": "superedge" })), slice, 1, json!("10.0.1.5")),
        (with(&json!({ "scheme": "superedge" })), "/endpoints/0/subsets/0/addresses/0/ip", 1, json!("10.0.1.5")),
        (
            with(&json!({ "scheme": "superedge", "options": { "healthFilter": true, "health": { "n1": false } } })),
            "/endpointSlices/0/endpoints",
            1,
            json!([]),
        ),
        (
            with(&json!({ "scheme": "superedge", "options":
                { "healthFilter": true, "health": { "n1": false }, "topologyMode": "ordered" } })),
            slice,
            1,
            json!("10.0.2.7"),
        ),
        (pooled, slice, 1, json!("10.0.1.5")),
        (with(&json!({ "scheme": "openyurt" })), "/endpointSlices/0/endpoints/1/addresses/0", 1, json!("10.0.2.7")),
    ] {
        for content_type in [JSON, YAML] {
            let answer = post(&router, "/v1/view", content_type, body.to_string()).await;
            assert_eq!(answer.status, 200, "{}", answer.text());
            let answer = answer.json();
            fits("/v1/view", "post", "200", JSON, &answer);
            assert_eq!(answer.pointer(pointer), Some(&want), "{pointer} of {answer}");
            let list = answer.get("ports").or(answer.get("endpointSlices")).and_then(Value::as_array).unwrap();
            assert_eq!(list.len(), count, "{answer}");
        }
    }
}

#[tokio::test]
async fn what_was_filled_in_or_cannot_be_read_is_reported() {
    let (_, router) = app();
    let mut body = body();
    body["endpointSlices"].as_array_mut().unwrap().push(json!(5));
    let answer = post(&router, "/v1/view", JSON, body.to_string()).await.json();
    let codes: Vec<&str> = answer["problems"].as_array().unwrap().iter().filter_map(|p| p["code"].as_str()).collect();
    assert!(codes.contains(&"invalid-object") && codes.contains(&"assumed"), "{answer}");
    let never = with(&json!({ "options": { "defaults": "never" } }));
    let answer = post(&router, "/v1/view", JSON, never.to_string()).await.json();
    assert_eq!((&answer["ports"], &answer["reasons"][0]["code"]), (&json!([]), &json!("not-proxied")), "{answer}");
}

#[tokio::test]
async fn a_body_that_cannot_be_used_is_refused_with_its_field() {
    let (_, router) = app();
    for (body, status, want) in [
        (json!({}), 422, "/node: is missing"),
        (json!({ "node": "" }), 422, "/node: is missing"),
        (json!({ "node": 5 }), 422, "/node: invalid type: integer `5`, expected a string"),
        (json!({ "node": "n", "scheme": "cilium" }), 422, "/scheme: unknown variant `cilium`"),
        (json!({ "node": "n", "ipFamily": "IPv5" }), 422, "/ipFamily: unknown variant `IPv5`"),
        (json!({ "node": "n", "slices": [] }), 422, "/slices: is not a field of the request"),
        (
            json!({ "node": "n", "options": { "poolTopolgy": true } }),
            422,
            "/options/poolTopolgy: is not a field of the options; did you mean poolTopology?",
        ),
        (json!({ "node": "n", "services": {} }), 422, "/services: "),
        (json!({ "node": "n", "nodePools": [{ "status": { "nodes": [5] } }] }), 422, "/nodePools"),
        (json!([]), 400, "the body is a list"),
        (json!({ "kind": "List", "items": [] }), 400, "the body is a Kubernetes object, or a list of them"),
    ] {
        let answer = post(&router, "/v1/view", JSON, body.to_string()).await;
        let problem = answer.json();
        fits("/v1/view", "post", &status.to_string(), "application/problem+json", &problem);
        let detail = problem["detail"].as_str().unwrap();
        assert!(answer.status == status && detail.starts_with(want), "{body}: {} {detail}", answer.status);
    }
}

#[tokio::test]
async fn many_ports_of_many_endpoints_have_a_bound() {
    let (_, router) = app();
    let number = |i: usize| json!({ "name": format!("p{i}"), "protocol": "TCP", "port": i + 1 });
    let ports: Vec<Value> = (0..300).map(number).collect();
    let endpoints: Vec<Value> =
        (0..1000).map(|i| json!({ "addresses": [format!("10.0.{}.{}", i / 250, i % 250)] })).collect();
    let mut body = with(&json!({ "nodes": [] }));
    body["services"][0]["spec"]["ports"] = ports.clone().into();
    body["endpointSlices"][0]["ports"] = ports.into();
    body["endpointSlices"][0]["endpoints"] = endpoints.into();
    let answer = post(&router, "/v1/view", JSON, body.to_string()).await;
    assert_eq!(answer.status, 413, "{}", answer.text());
}

/// A view from a node of which nothing is known looks like that of any other one.
#[tokio::test]
async fn a_node_that_nothing_knows_is_told() {
    let (_, router) = app();
    for (node, nodes, want) in [
        ("node-1", json!([{ "metadata": { "name": "node-1" } }]), Value::Null),
        (
            "node-2x",
            json!([{ "metadata": { "name": "node-1x" } }]),
            json!("nothing is known of node node-2x, neither labels nor a zone; did you mean node-1x?"),
        ),
        ("elsewhere", json!([]), json!("nothing is known of node elsewhere, neither labels nor a zone")),
    ] {
        let answer = post(&router, "/v1/view", JSON, with(&json!({ "node": node, "nodes": nodes })).to_string()).await;
        assert_eq!(answer.status, 200, "{node}: {}", answer.text());
        let answer = answer.json();
        let problems = answer["problems"].as_array().unwrap();
        let found = problems.iter().find(|p| p["pointer"] == "/node").map_or(&Value::Null, |p| &p["message"]);
        assert_eq!(*found, want, "{node}: {answer}");
    }
}
