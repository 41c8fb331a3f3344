//! The routes of every admin listener: health and metrics, for kubelets and scrapers.

use std::{fmt::Write, sync::Arc};

use axum::{
    Router,
    extract::{RawQuery, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::get,
};

use super::{health::Health, heartbeat::Heartbeat, readiness::CheckResult, readiness_reports::ReadinessReports};

/// The routes of the admin listener.
pub(super) fn router(heartbeat: Heartbeat, readiness: Arc<ReadinessReports>, health: Health) -> Router {
    let live = get(livez).with_state(heartbeat);
    Router::new()
        .route("/livez", live.clone())
        .route("/healthz", live)
        .route("/readyz", get(readyz).with_state(readiness))
        .route("/metrics", get(metrics).with_state(health))
}

/// Succeeds while the threads of the server run tasks: this listener has its own.
async fn livez(State(heartbeat): State<Heartbeat>) -> (StatusCode, String) {
    match heartbeat.check() {
        Ok(()) => (StatusCode::OK, "ok".to_owned()),
        Err(why) => (StatusCode::SERVICE_UNAVAILABLE, why),
    }
}

/// Answers as kube-apiserver does: `ok`, or a line for each check with `?verbose` or when one fails.
async fn readyz(State(readiness): State<Arc<ReadinessReports>>, RawQuery(query): RawQuery) -> (StatusCode, String) {
    let query = query.unwrap_or_default();
    let pairs = || query.split('&').map(|p| p.split_once('=').unwrap_or((p, "")));
    let checks = readiness.check().await;
    let excluded = |name: &str| pairs().any(|p| p == ("exclude", name));
    report(&checks, pairs().any(|(key, _)| key == "verbose"), excluded)
}

fn report(checks: &[CheckResult], verbose: bool, excluded: impl Fn(&str) -> bool) -> (StatusCode, String) {
    let (mut text, mut ready) = (String::new(), true);
    for CheckResult { name, result } in checks {
        let _ = match result {
            _ if excluded(name) => writeln!(text, "[+]{name} excluded: ok"),
            Ok(()) => writeln!(text, "[+]{name} ok"),
            Err(why) => {
                ready = false;
                writeln!(text, "[-]{name} failed: {why}")
            }
        };
    }
    match (ready, verbose) {
        (true, false) => (StatusCode::OK, "ok".to_owned()),
        (true, true) => (StatusCode::OK, text + "readyz check passed\n"),
        (false, _) => (StatusCode::SERVICE_UNAVAILABLE, text + "readyz check failed\n"),
    }
}

async fn metrics(State(health): State<Health>, headers: HeaderMap) -> Response {
    match health.metrics.scrape(&headers) {
        Ok(scraped) => scraped.into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readyz_reports_like_kube_apiserver() {
        let ok = |name| CheckResult { name, result: Ok(()) };
        let bad = |name| CheckResult { name, result: Err("it is late".to_owned()) };
        for (checks, verbose, want) in [
            (vec![ok("ping")], false, (200, "ok")),
            (vec![ok("ping"), ok("tls")], true, (200, "[+]ping ok\n[+]tls ok\nreadyz check passed\n")),
            (
                vec![ok("ping"), bad("tls")],
                false,
                (503, "[+]ping ok\n[-]tls failed: it is late\nreadyz check failed\n"),
            ),
            (vec![ok("ping"), bad("cache")], true, (200, "[+]ping ok\n[+]cache excluded: ok\nreadyz check passed\n")),
        ] {
            let (code, text) = report(&checks, verbose, |name| name == "cache");
            assert_eq!((code.as_u16(), text.as_str()), want);
        }
    }
}
