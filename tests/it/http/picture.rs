//! `POST /v1/picture`.

use axum::{
    body::Body,
    http::{Request, StatusCode},
};
use serde_json::Value;

use super::{JSON, YAML, app, document::fits, post, send, state};
use crate::cli::roster;

const SHOP: &str = "examples/shop.yaml";

#[tokio::test]
async fn a_picture_is_data_or_a_drawing() {
    let (_, router) = app();
    let answer = post(&router, "/v1/picture", JSON, state().to_string()).await;
    assert_eq!((answer.status, answer.header("content-type")), (StatusCode::OK, JSON), "{}", answer.text());
    let picture = answer.json();
    fits("/v1/picture", "post", "200", JSON, &picture);
    let kinds: Vec<&str> =
        picture["nodes"].as_array().unwrap().iter().filter_map(|node| node["kind"].as_str()).collect();
    assert!(kinds.starts_with(&["service", "port", "slice", "pod"]), "{kinds:?}");

    for (query, accept, want) in [
        ("", "image/svg+xml", "image/svg+xml"),
        ("?format=svg", "application/json", "image/svg+xml"),
        ("?format=json", "image/svg+xml", JSON),
        ("", "*/*", JSON),
    ] {
        let request =
            Request::post(format!("/v1/picture{query}")).header("content-type", JSON).header("accept", accept);
        let answer = send(&router, request.body(Body::from(state().to_string())).unwrap()).await;
        assert_eq!((answer.status, answer.header("content-type")), (StatusCode::OK, want), "{query} {accept}");
        assert_eq!(answer.text().starts_with("<svg "), want != JSON, "{query} {accept}");
    }
    let refused = post(&router, "/v1/picture?format=png", JSON, state().to_string()).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{}", refused.text());
}

/// The command line draws the same.
#[tokio::test]
async fn every_way_in_draws_the_same_picture() {
    let (_, router) = app();
    let routes = "tests/data/cli/routes.yaml";
    let texts = [SHOP, routes].map(|file| std::fs::read_to_string(file).unwrap());
    let body = texts.join("\n---\n");
    for service in ["catalog", "cart", "payment", "warehouse", "web", "search"] {
        let service = format!("shop/{service}");
        let drawn = roster(&["explain", "-f", SHOP, "-f", routes, &service, "-o", "svg"]).out;
        let answer = post(&router, &format!("/v1/picture?format=svg&service={service}"), YAML, body.clone()).await;
        assert_eq!(answer.text(), drawn, "{service}");
    }
    let answer = post(&router, "/v1/picture?service=shop/catalog", YAML, body).await;
    let broken = |node: &Value| node["state"] == "broken" && node["kind"] == "route";
    assert!(answer.json()["nodes"].as_array().unwrap().iter().any(broken), "{}", answer.text());
}
