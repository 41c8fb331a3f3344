//! The page at `/`: what a browser may do with its files, and what its call refuses.

use axum::http::StatusCode;
use serde_json::json;

use super::{JSON, YAML, app, get, post};

#[tokio::test]
async fn the_files_may_do_nothing_but_ask_their_server() {
    let (_, router) = app();
    for (path, media_type, contains) in [
        ("/", "text/html; charset=utf-8", "<script src=\"page.js\" defer></script>"),
        ("/page.js", "text/javascript; charset=utf-8", "\"use strict\""),
        ("/page.css", "text/css; charset=utf-8", "prefers-color-scheme"),
        ("/picture.css", "text/css; charset=utf-8", ".roster-picture"),
    ] {
        let answer = get(&router, path).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}");
        assert!(answer.text().contains(contains), "{path}");
        for (name, want) in [
            ("content-type", media_type),
            (
                "content-security-policy",
                "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                 form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
            ),
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "no-referrer"),
            ("cache-control", "no-store"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
            ("set-cookie", ""),
        ] {
            assert_eq!(answer.header(name), want, "{path} {name}");
        }
    }
    assert_eq!(post(&router, "/", JSON, "{}").await.status, StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(get(&router, "/index.html").await.status, StatusCode::NOT_FOUND);
}

#[test]
fn the_files_have_no_script_or_style_of_their_own_and_store_nothing() {
    let of = |name: &str| roster_page::FILES.iter().find(|file| file.name == name).unwrap().text;
    let (page, script) = (of("index.html"), of("page.js"));
    for inline in [" style=", "<style", " onclick=", " onload=", "javascript:", "http://", "https://"] {
        assert!(!page.contains(inline), "{inline}");
    }
    assert_eq!(page.matches("<script").count(), page.matches("<script src=").count());
    for banned in ["eval(", "new Function", "localStorage", "sessionStorage", "indexedDB", "document.cookie", "http"] {
        assert!(!script.contains(banned), "{banned}");
    }
}

#[tokio::test]
async fn the_call_says_what_it_cannot_read() {
    let (_, router) = app();
    let many = json!({ "changes": vec![json!({ "change": "drain-node", "node": "a" }); 51] });
    let long = json!({ "text": format!("# {}", "a".repeat(9 << 20)) });
    for (media_type, body, status, detail) in [
        (JSON, "{", 400, "the request cannot be read"),
        (JSON, r#"{"evil": 1}"#, 400, "unknown field `evil`"),
        (JSON, r#"{"tab": "evil"}"#, 400, "unknown variant `evil`"),
        (JSON, r#"{"changes": [{"change": "drain-node", "node": "a", "evil": 1}]}"#, 400, "unknown field `evil`"),
        (JSON, r#"{"release": "1.3"}"#, 400, "1.3"),
        (JSON, r#"{"example": "evil"}"#, 422, "there is no example named \"evil\""),
        (JSON, r#"{"text": "a: [1\nb: 2"}"#, 400, "line 2"),
        (JSON, &many.to_string(), 413, "more than 50 changes"),
        (JSON, &long.to_string(), 413, "bytes of YAML"),
        (YAML, "example: shop", 415, "send application/json"),
    ] {
        let answer = post(&router, "/v1/page", media_type, body.to_owned()).await;
        let shown = &body[..body.len().min(60)];
        assert_eq!(answer.status.as_u16(), status, "{shown}: {}", answer.text());
        assert!(answer.json()["detail"].as_str().unwrap().contains(detail), "{shown}: {}", answer.text());
    }
    assert_eq!(post(&router, "/v1/page?evil=1", JSON, "{}").await.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn the_call_answers_with_fragments() {
    let (_, router) = app();
    let body = json!({ "example": "shop", "service": "shop/catalog" });
    let answer = post(&router, "/v1/page", JSON, body.to_string()).await;
    assert_eq!(answer.status, StatusCode::OK);
    let answer = answer.json();
    assert_eq!(
        (&answer["service"], &answer["tab"], &answer["release"]),
        (&json!("shop/catalog"), &json!("picture"), &json!("1.37"))
    );
    for (field, contains) in [
        ("lead", "5 of 6 pod ports get traffic."),
        ("panel", "<svg "),
        ("services", "selector-matches-nothing"),
        ("reasons", "named-port-missing"),
        ("summary", "8 Services"),
        ("examples", "no-pod-ip"),
    ] {
        assert!(answer[field].as_str().unwrap().contains(contains), "{field}");
    }
    let empty = post(&router, "/v1/page", JSON, "{}").await.json();
    assert_eq!(empty["hasObjects"], json!(false));
}
