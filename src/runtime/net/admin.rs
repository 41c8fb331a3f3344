//! Health and metrics, on a listener of their own: kubelets and scrapers reach it, and nothing else is there.

use std::{fmt::Write, sync::Arc};

use axum::{
    Router,
    extract::{RawQuery, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};

use super::ready::{Checked, Readiness};
use crate::runtime::telemetry::metrics::CONTENT_TYPE;

pub(super) fn router(readiness: Arc<Readiness>) -> Router {
    Router::new()
        .route("/livez", get(|| async { "ok" }))
        .route("/healthz", get(|| async { "ok" }))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .with_state(readiness)
}

/// As kube-apiserver answers: `ok`, or with `?verbose`, or when something is wrong, a line for each check.
async fn readyz(State(readiness): State<Arc<Readiness>>, RawQuery(query): RawQuery) -> (StatusCode, String) {
    let query = query.unwrap_or_default();
    let pairs = || query.split('&').map(|p| p.split_once('=').unwrap_or((p, "")));
    let checks = readiness.check().await;
    let excluded = |name: &str| pairs().any(|p| p == ("exclude", name));
    report(&checks, pairs().any(|(key, _)| key == "verbose"), excluded)
}

fn report(checks: &[Checked], verbose: bool, excluded: impl Fn(&str) -> bool) -> (StatusCode, String) {
    let (mut text, mut ready) = (String::new(), true);
    for Checked { name, result } in checks {
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

async fn metrics(State(readiness): State<Arc<Readiness>>) -> Response {
    match readiness.metrics() {
        Ok(text) => ([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_that_of_kube_apiserver() {
        let ok = |name| Checked { name, result: Ok(()) };
        let bad = |name| Checked { name, result: Err("it is late".to_owned()) };
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
