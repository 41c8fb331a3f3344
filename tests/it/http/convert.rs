//! `POST /v1/convert`.

use serde_json::{Value, json};

use super::{JSON, YAML, app, document::fits, post};

#[tokio::test]
async fn objects_are_converted_and_losses_told() {
    let (_, router) = app();
    let slice = json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": {"name": "db-1", "namespace": "shop", "labels": {"kubernetes.io/service-name": "db"}},
        "endpoints": [{"addresses": ["192.0.2.7"], "zone": "z"}, {"addresses": ["192.0.2.8"], "zone": "z"}],
    });
    let body = json!({"kind": "List", "items": [slice, 5]}).to_string();
    for (content_type, body) in [(JSON, body.clone()), (YAML, body)] {
        let answer = post(&router, "/v1/convert?to=Endpoints", content_type, body).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        fits("/v1/convert", "post", "200", JSON, &answer.json());
        let want = json!({
            "items": [{
                "apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "db", "namespace": "shop"},
                "subsets": [{"addresses": [{"ip": "192.0.2.7"}, {"ip": "192.0.2.8"}]}],
            }],
            "lost": [{
                "object": {"kind": "EndpointSlice", "namespace": "shop", "name": "db-1"},
                "field": "endpoints[0].zone", "why": "Endpoints do not have zones", "more": 1,
            }],
            "failed": [{"index": 1, "object": {"kind": "", "name": ""}, "why": "the value is not an object"}],
        });
        assert_eq!(answer.json(), want);
    }
}

#[tokio::test]
async fn numbers_keep_their_digits() {
    let (_, router) = app();
    let body =
        r#"{"apiVersion":"roster.dev/v1alpha1","kind":"EndpointPolicy","spec":{"future":12345678901234567890123.10}}"#;
    let answer = post(&router, "/v1/convert?to=roster.dev/v1", JSON, body).await;
    let want = body.replace("v1alpha1", "v1");
    assert_eq!(answer.text(), format!(r#"{{"items":[{want}],"lost":[],"failed":[]}}"#));
}

#[tokio::test]
async fn what_cannot_be_asked_is_refused() {
    let (_, router) = app();
    for (path, body, status, slug) in [
        ("/v1/convert", "{}", 400, "invalid-query"),
        ("/v1/convert?to=v2", "{}", 400, "invalid-query"),
        ("/v1/convert?to=Endpoints&x=1", "{}", 400, "invalid-query"),
        ("/v1/convert?to=Endpoints", "", 400, "malformed-body"),
        ("/v1/convert?to=Endpoints", "{", 400, "malformed-body"),
    ] {
        let answer = post(&router, path, JSON, body).await;
        let problem: Value = answer.json();
        assert_eq!(answer.status, status, "{path} {body}");
        assert_eq!(problem["type"], format!("urn:roster:problem:{slug}"), "{path} {body}");
        fits("/v1/convert", "post", &status.to_string(), "application/problem+json", &problem);
    }
}
