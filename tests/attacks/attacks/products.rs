//! Attacks with lists that multiply, and others that take more work than their length shows.

use std::{sync::Arc, time::Duration};

use anyhow::{Context, Result};
use tokio::{
    io::{AsyncWrite, AsyncWriteExt},
    time::{sleep, timeout},
};

use crate::{
    attacker::Attacker,
    bodies::gzip,
    http1, large_bodies as bodies,
    request::Request,
    stored::KEYS,
    upstream::{CLIENT, LARGE},
};

use super::{answers::hardly_read, work::repeat};

/// Clients that send large work again and again.
const CLIENTS: usize = 8;
/// Clients whose reviews are small enough to be computed at once, judged by their length.
const SMALL_CLIENTS: usize = 32;
/// How long a client waits: an API server for a review, and one of the REST API.
const REVIEW: Duration = Duration::from_secs(10);
const CALL: Duration = Duration::from_mins(1);
/// How long a client stays that leaves before the answer.
const STAY: Duration = Duration::from_millis(50);

/// Sends a review again and again. `bad`: it must be refused.
fn reviews(attacker: &Attacker, clients: usize, body: &str, bad: bool) {
    repeat(attacker, clients, review(body), REVIEW, bad);
}

fn review(body: &str) -> Vec<u8> {
    Request::post("/validate?timeout=10s", body.as_bytes()).http1()
}

pub(super) fn duplicate_ports(attacker: &Attacker) {
    reviews(attacker, CLIENTS, &bodies::duplicate_ports(), false);
}

pub(super) fn duplicate_slices(attacker: &Attacker) {
    reviews(attacker, CLIENTS, &bodies::duplicate_slices(), false);
}

pub(super) fn named_ports(attacker: &Attacker) {
    reviews(attacker, CLIENTS, &bodies::named_ports(), false);
}

pub(super) fn wide_slices(attacker: &Attacker) {
    reviews(attacker, SMALL_CLIENTS, &bodies::wide_slice(), false);
}

pub(super) fn denied_ranges(attacker: &Attacker) {
    reviews(attacker, CLIENTS, &bodies::denied(90_000), true);
}

/// Each less than 256 KiB.
pub(super) fn small_denied_ranges(attacker: &Attacker) {
    reviews(attacker, SMALL_CLIENTS, &bodies::denied(13_000), true);
}

pub(super) fn tiny_conversions(attacker: &Attacker) {
    let request = Request::post("/convert?timeout=30s", bodies::tiny_conversion(16 << 20).as_bytes()).http1();
    repeat(attacker, CLIENTS, request, Duration::from_secs(30), false);
}

/// Clients that leave soon after a large review, and come again.
pub(super) fn leaving_reviews(attacker: &Attacker) {
    let request = Arc::new(review(&bodies::duplicate_ports()));
    attacker.clients(CLIENTS, move |attacker, number| {
        let request = request.clone();
        async move {
            let mut tls = attacker.http1(number).await?;
            send_and_stay(&attacker, &mut tls, &request).await
        }
    });
}

async fn send_and_stay(attacker: &Attacker, io: &mut (impl AsyncWrite + Unpin), request: &[u8]) -> Result<()> {
    attacker.requested(1);
    io.write_all(request).await?;
    io.flush().await?;
    sleep(STAY).await;
    Ok(())
}

/// A request of the REST API, compressed.
fn call(path: &str, content_type: &str, body: &str) -> Vec<u8> {
    // Without a body nothing is attacked, which is reported.
    let body = gzip(body).unwrap_or_default();
    let request = Request::post_as(path, content_type, &body);
    request.with("content-encoding", "gzip").with("connection", "close").http1()
}

/// Calls the REST API again and again.
fn calls(attacker: &Attacker, clients: usize, path: &str, content_type: &str, body: &str) {
    let request = Arc::new(call(path, content_type, body));
    attacker.clients(clients, move |attacker, number| {
        let request = request.clone();
        async move {
            let mut tcp = attacker.tcp(number, attacker.targets.rest.context("no REST API")?).await?;
            attacker.requested(1);
            let answer = timeout(CALL, http1::exchange(&mut tcp, &request)).await??;
            attacker.answered(u64::from(answer.status > 0));
            Ok(())
        }
    });
}

const JSON: &str = "application/json";
const YAML: &str = "application/yaml";

pub(super) fn ranges(attacker: &Attacker) {
    calls(attacker, 2, "/v1/review", JSON, &bodies::ranges());
}

pub(super) fn keys_views(attacker: &Attacker) {
    calls(attacker, CLIENTS, "/v1/view", JSON, &bodies::keys_view());
}

pub(super) fn ports_views(attacker: &Attacker) {
    calls(attacker, CLIENTS, "/v1/view", JSON, &bodies::ports_view());
}

pub(super) fn container_ports(attacker: &Attacker) {
    calls(attacker, CLIENTS, "/v1/explain?service=shop/web", JSON, &bodies::container_ports());
}

pub(super) fn near_misses(attacker: &Attacker) {
    calls(attacker, CLIENTS, "/v1/explain?service=shop/web", JSON, &bodies::near_misses());
}

pub(super) fn wrong_objects(attacker: &Attacker) {
    calls(attacker, CLIENTS, "/v1/plan", JSON, &bodies::wrong_objects());
}

pub(super) fn yaml(attacker: &Attacker) {
    calls(attacker, CLIENTS, "/v1/plan", YAML, &bodies::comments());
    calls(attacker, CLIENTS, "/v1/plan", YAML, &bodies::documents());
}

pub(super) fn aliases(attacker: &Attacker) {
    calls(attacker, CLIENTS, "/v1/plan", YAML, &bodies::aliases());
}

/// Clients that leave soon after a large call, and come again.
pub(super) fn leaving_calls(attacker: &Attacker) {
    let request = Arc::new(call("/v1/review", JSON, &bodies::ranges()));
    attacker.clients(CLIENTS, move |attacker, number| {
        let request = request.clone();
        async move {
            let mut tcp = attacker.tcp(number, attacker.targets.rest.context("no REST API")?).await?;
            send_and_stay(&attacker, &mut tcp, &request).await
        }
    });
}

/// Clients that watch the Service with many keys, and hardly read.
pub(super) fn topology_keys(attacker: &Attacker) {
    let path = format!("/apis/discovery.k8s.io/v1/namespaces/{KEYS}/endpointslices?watch=true");
    attacker.clients(CLIENTS, move |attacker, number| {
        let request = Request::get(path.clone()).with_token(&format!("{CLIENT}-{number}")).http1();
        async move {
            let tls = attacker.http1(number).await?;
            hardly_read(&attacker, tls, &request, true).await
        }
    });
}

/// Lists with a selector as long as a head may be, of which only the last value matters.
pub(super) fn label_selectors(attacker: &Attacker) {
    let values = (0..3000).map(|n| format!("v{n}")).collect::<Vec<_>>().join(",");
    let path = format!("{LARGE}?labelSelector=kubernetes.io/service-name%20in%20({values},web)&limit=1");
    attacker.clients(CLIENTS, move |attacker, number| {
        let request = Request::get(path.clone()).with_token(&format!("{CLIENT}-{number}")).http1();
        async move {
            let mut tls = attacker.http1(number).await?;
            loop {
                attacker.requested(1);
                timeout(REVIEW, http1::exchange(&mut tls, &request)).await??;
                attacker.answered(1);
            }
        }
    });
}
