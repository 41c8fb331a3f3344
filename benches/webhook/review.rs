//! Measures a decision without a network, from the bytes of a review (`FILE`) to those of its answer, with every rule
//! enforced and a cluster in which all its addresses are pods. Prints a line of JSON, in microseconds.

use std::{hint::black_box, time::Instant};

use anyhow::{Context, Result, ensure};
use roster_admission::{self as admission, Mode, Rule, Settings, Stage};
use roster_engine::model::{EndpointSlice, Node, Pod, Service};
use roster_manifests::inventory::{Answers, NamespaceRow, Store};
use serde_json::{Value, json};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ROUNDS: usize = 50_000;

#[expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a program that reads a file and prints its result"
)]
fn main() -> Result<()> {
    let file = std::env::args().nth(1).context("FILE")?;
    let body = std::fs::read(&file).with_context(|| format!("reading {file}"))?;
    let cluster = cluster(&serde_json::from_slice(&body)?)?;
    let mut settings = Settings::default();
    for rule in Rule::ALL {
        settings.set(*rule, Mode::Enforce);
    }
    let mut times = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let began = Instant::now();
        let (version, request) = admission::read_review(&body).map_err(|e| anyhow::anyhow!("{e}"))?;
        let decision = admission::decide(&request, Stage::Validate, &settings, &Answers(&cluster))?;
        black_box(admission::answer_review(version, &request.uid, &decision));
        times.push(began.elapsed());
        // If a rule denied, later rules would not be measured.
        ensure!(decision.allowed(), "expected to be allowed: {:?}", decision.denied);
    }
    times.sort_unstable();
    let at = |part: usize| times[(ROUNDS - 1) * part / 100].as_secs_f64() * 1e6;
    println!("{}", json!({ "p50": at(50), "p99": at(99) }));
    Ok(())
}

/// A Service, a pod for each address of the slice, and a node in each of its zones.
fn cluster(review: &Value) -> Result<Store> {
    let slice = &review["request"]["object"];
    let endpoints = slice["endpoints"].as_array().context("endpoints")?;
    let (mut pods, mut nodes) = (Vec::new(), Vec::new());
    for (i, endpoint) in endpoints.iter().enumerate() {
        let ip = &endpoint["addresses"][0];
        let meta = json!({ "namespace": "shop", "name": format!("web-{i}"), "labels": { "app": "web" } });
        let pod = json!({ "metadata": meta, "status": { "phase": "Running", "podIP": ip, "podIPs": [{ "ip": ip }] } });
        pods.push(serde_json::from_value::<Pod>(pod)?);
        let labels = json!({ "topology.kubernetes.io/zone": endpoint["zone"] });
        let node = json!({ "metadata": { "name": endpoint["nodeName"], "labels": labels } });
        nodes.push(serde_json::from_value::<Node>(node)?);
    }
    let name = &slice["metadata"]["labels"]["kubernetes.io/service-name"];
    let service: Service = serde_json::from_value(json!({ "metadata": { "namespace": "shop", "name": name } }))?;
    let store = Store::new();
    store.fill(pods);
    store.fill(nodes);
    store.fill(vec![service]);
    store.fill::<EndpointSlice>(Vec::new());
    store.fill::<NamespaceRow>(Vec::new());
    Ok(store)
}
