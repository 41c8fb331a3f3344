//! Manifests as people write them, in the bodies of requests.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{JSON, app, post};

fn written() -> Value {
    json!({
        "service": { "metadata": { "name": "web" }, "spec": { "selector": { "app": "web" }, "ports": [{ "port": 80 }] } },
        "pods": [{
            "metadata": { "name": "web-1", "labels": { "app": "web" } },
            "status": {
                "podIP": "10.0.0.1", "podIPs": [{ "ip": "10.0.0.1" }, { "ip": "fd00::1" }],
                "conditions": [{ "type": "Ready", "status": "True" }],
            },
        }],
    })
}

/// `namespace, port of the Endpoints, address types, number of assumptions` of a plan.
fn outline(plan: &Value) -> String {
    let slices = plan["endpointSlices"]["create"].as_array().unwrap();
    let types: Vec<&str> = slices.iter().map(|s| s["addressType"].as_str().unwrap()).collect();
    let assumed = plan["problems"].as_array().unwrap().iter().filter(|p| p["code"] == "assumed").count();
    let object = &plan["endpoints"]["object"];
    format!(
        "{} {} {} {assumed}",
        object["metadata"]["namespace"],
        object["subsets"][0]["ports"][0]["port"],
        types.join(",")
    )
}

#[tokio::test]
async fn manifests_are_planned_as_they_would_be_stored() {
    let (_, router) = app();
    let list = |of: &Value| {
        let typed = |object: &Value, kind: &str| {
            let mut object = object.clone();
            (object["apiVersion"], object["kind"]) = (json!("v1"), json!(kind));
            object
        };
        json!({ "kind": "List", "items": [typed(&of["service"], "Service"), typed(&of["pods"][0], "Pod")] })
    };
    let dual = json!(["IPv4", "IPv6"]);
    for (options, query, want) in [
        (json!({}), "", r#""default" 80 IPv4 5"#),
        (json!({ "defaults": null, "ipFamilies": null }), "", r#""default" 80 IPv4 5"#),
        (json!({ "ipFamilies": ["IPv6"] }), "?defaults=auto", r#""default" 80 IPv6 5"#),
        (json!({ "ipFamilies": dual }), "", r#""default" 80 IPv4 5"#),
        (json!({ "defaults": "always" }), "", r#""default" 80 IPv4 5"#),
        (json!({ "defaults": "never" }), "", "null null IPv4,IPv6 0"),
        (json!({ "defaults": "never" }), "?defaults=auto&ipFamilies=IPv6", r#""default" 80 IPv6 5"#),
    ] {
        let mut body = written();
        body["options"] = options;
        let answer = post(&router, &format!("/v1/plan{query}"), JSON, body.to_string()).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
        assert_eq!(outline(&answer.json()), want, "{query} {body}\n{}", answer.text());
    }
    for (query, want) in [("", r#""default" 80 IPv4 5"#), ("?ipFamilies=IPv6", r#""default" 80 IPv6 5"#)] {
        let answer = post(&router, &format!("/v1/plan{query}"), JSON, list(&written()).to_string()).await;
        assert_eq!(outline(&answer.json()), want, "{query}");
    }
    let answer = post(&router, "/v1/cluster", JSON, list(&written()).to_string()).await.text();
    let summary: Value = serde_json::from_str(answer.lines().last().unwrap()).unwrap();
    assert_eq!(summary["summary"]["inputProblems"].as_array().unwrap().len(), 5, "{answer}");
}

#[tokio::test]
async fn wrong_options_are_refused() {
    let (_, router) = app();
    for (options, pointer) in [
        (json!({ "defaults": "sometimes" }), "/options/defaults"),
        (json!({ "ipFamilies": ["IPv4", "IPv4"] }), "/options/ipFamilies"),
        (json!({ "ipFamilies": "IPv4" }), "/options/ipFamilies"),
    ] {
        let answer = post(&router, "/v1/plan", JSON, json!({ "options": options }).to_string()).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", answer.text());
        assert_eq!(answer.json()["errors"][0]["pointer"], pointer, "{}", answer.text());
    }
}
