//! Metrics can be scraped, and logs hold no body.

use std::{
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{body::Body, http::Request};
use tokio::time::timeout;
use tracing_subscriber::fmt::MakeWriter;

use super::{JSON, app, get, post, send, state};

#[tokio::test]
async fn metrics_can_be_scraped() {
    let (_, router) = app();
    post(&router, "/v1/plan", JSON, state().to_string()).await;
    post(&router, "/v1/plan", JSON, "{").await;
    get(&router, "/whatever").await;
    let answer = get(&router, "/metrics").await;
    assert_eq!(answer.header("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    let text = answer.text();
    let accept = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3";
    let asked = Request::get("/metrics").header("accept", accept).body(Body::empty()).unwrap();
    let open_metrics = send(&router, asked).await;
    assert_eq!(open_metrics.header("content-type"), "application/openmetrics-text; version=1.0.0; charset=utf-8");
    assert!(open_metrics.text().ends_with("# EOF\n") && !text.contains("# EOF"));
    for line in text.lines().filter(|l| !l.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(value.parse::<f64>().is_ok(), "{line}");
        assert!(name.starts_with(|c: char| c.is_ascii_lowercase()), "{line}");
    }
    for line in [
        r#"http_requests_total{route="/v1/plan",method="POST",code="200"} 1"#,
        r#"http_requests_total{route="/v1/plan",method="POST",code="400"} 1"#,
        r#"http_requests_total{route="none",method="GET",code="404"} 1"#,
        r#"http_request_duration_seconds_count{route="/v1/plan",method="POST"} 2"#,
        r#"roster_plans_total{outcome="change"} 1"#,
        "http_requests_in_flight 1",
        "http_requests_shed_total 0",
    ] {
        assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
    }
    let build = concat!(r#"roster_build_info{version=""#, env!("CARGO_PKG_VERSION"), r#"",git_commit=""#);
    assert!(text.contains(build), "{text}");
}

#[tokio::test]
async fn a_request_whose_client_goes_away_is_counted() {
    let (app, router) = app();
    let body = Body::from_stream(futures::stream::pending::<io::Result<Vec<u8>>>());
    let waiting = timeout(Duration::ZERO, post(&router, "/v1/plan", JSON, body)).await;
    assert!(waiting.is_err() && app.metrics.in_flight.get() == 0);
    let text = get(&router, "/metrics").await.text();
    let line = r#"http_requests_total{route="/v1/plan",method="POST",code="499"} 1"#;
    assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;
    fn make_writer(&self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn logs_name_the_request_and_hold_no_body() {
    let log = Log::default();
    let subscriber =
        tracing_subscriber::fmt().json().with_max_level(tracing::Level::TRACE).with_writer(log.clone()).finish();
    // For all threads: with a subscriber of one thread only, others would switch the call sites off.
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let (_, router) = app();
    let mut body = state();
    body["service"]["metadata"]["annotations"] = serde_json::json!({ "password": "hunter2" });
    let good = post(&router, "/v1/plan?compat=1.30", JSON, body.to_string()).await;
    post(&router, "/v1/plan", JSON, r#"{"service":"hunter2"}"#).await;
    post(&router, "/v1/plan", JSON, r#"{"service":{"spec":{"type":["hunter2"]}}"#).await;
    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(text.contains(good.header("x-request-id")) && text.contains("/v1/plan"), "{text}");
    assert!(!text.contains("hunter2"), "{text}");
}
