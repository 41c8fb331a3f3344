//! One node's view of a Service, compared with kube-proxy: its change trackers, which cache slices, and its sorting.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{Goals, Timer, least, median, micros};
use crate::{oracle::fnv, paths};

/// The endpoints of the Services that are measured.
const SIZES: [usize; 3] = [100, 1_000, 5_000];
/// How many times as fast as kube-proxy a view of the largest must be.
const GOAL: f64 = 25.0;
/// Endpoints in a slice, as the controller packs them.
const PER_SLICE: usize = 100;

/// A state, and the times of both programs.
struct Row {
    name: &'static str,
    endpoints: usize,
    case: String,
    go: Vec<f64>,
    rust: Vec<f64>,
    used: (u64, u64),
}

/// Measures both in turns, and checks the goal.
pub(super) fn run_view(rounds: usize, goals: &mut Goals) -> Result<()> {
    let mut go = Timer::start(&go_program()?)?;
    let mut rust = Timer::start(&program()?)?;
    let mut rows: Vec<Row> = SIZES.into_iter().flat_map(|size| STATES.map(|state| row(state, size))).collect();
    for round in 0..rounds {
        for row in &mut rows {
            for turn in 0..2 {
                if (turn + round) % 2 == 0 {
                    let (nanos, used) = go.time(&row.case, (20_000 / row.endpoints).clamp(5, 100))?;
                    row.go.extend(nanos);
                    row.used.0 = used;
                } else {
                    let (nanos, used) = rust.time(&row.case, (500_000 / row.endpoints).clamp(20, 2000))?;
                    row.rust.extend(nanos);
                    row.used.1 = used;
                }
            }
        }
    }
    println!(
        "\n{:<12}{:>10} {:>8} | {:>12} {:>12} | {:>12} {:>12} | {:>8}",
        "state", "endpoints", "used", "Go median", "Go least", "Rust median", "Rust least", "faster"
    );
    for row in &mut rows {
        row.print();
    }
    println!();
    for row in &rows {
        row.judge(goals);
    }
    Ok(())
}

impl Row {
    fn print(&mut self) {
        self.go.sort_by(f64::total_cmp);
        self.rust.sort_by(f64::total_cmp);
        println!(
            "{:<12}{:>10} {:>8} | {:>12} {:>12} | {:>12} {:>12} | {:>8}",
            self.name,
            self.endpoints,
            self.used.1,
            micros(median(&self.go)),
            micros(least(&self.go)),
            micros(median(&self.rust)),
            micros(least(&self.rust)),
            format!("{:.0} x", median(&self.go) / median(&self.rust)),
        );
    }

    fn judge(&self, goals: &mut Goals) {
        let Self { name, endpoints, used, .. } = self;
        if used.0 != used.1 {
            goals
                .check(false, &format!("{name}, {endpoints} endpoints: kube-proxy uses {}, Roster {}", used.0, used.1));
        }
        if Some(endpoints) == SIZES.iter().max() {
            let faster = (median(&self.go) / median(&self.rust)).min(least(&self.go) / least(&self.rust));
            let text = format!("view {name}, {endpoints} endpoints: {faster:.0} times as fast; {GOAL} required");
            goals.check(faster >= GOAL, &text);
        }
    }
}

/// Whether endpoints have hints, and the traffic policy.
const STATES: [(&str, bool, &str); 3] =
    [("plain", false, "Cluster"), ("hints", true, "Cluster"), ("local", false, "Local")];

fn row((name, hinted, policy): (&'static str, bool, &'static str), size: usize) -> Row {
    let zone = |i: usize| ["a", "b", "c"].get(i % 60 % 3).copied().unwrap_or_default();
    let nodes: Vec<Value> = (0..60)
        .map(|i| json!({ "metadata": { "name": format!("node-{i}"), "labels": { "topology.kubernetes.io/zone": zone(i) } } }))
        .collect();
    let endpoint = |i: usize| {
        let hints = json!({ "forZones": [{ "name": zone(i) }] });
        let mut endpoint = json!({
            "addresses": [format!("10.{}.{}.{}", 1 + i / 62_500, i / 250 % 250, i % 250 + 1)],
            "conditions": { "ready": i % 30 != 7, "serving": i % 30 != 7, "terminating": false },
            "nodeName": format!("node-{}", i % 60),
            "zone": zone(i),
            "targetRef": { "kind": "Pod", "namespace": "shop", "name": format!("web-6d4cf56db6-{i:05}") },
        });
        if hinted {
            endpoint["hints"] = hints;
        }
        endpoint
    };
    let slices: Vec<Value> = (0..size)
        .step_by(PER_SLICE)
        .map(|first| {
            json!({
                "metadata": {
                    "name": format!("web-{first:05}"), "namespace": "shop", "labels": { "kubernetes.io/service-name": "web" },
                },
                "addressType": "IPv4",
                "ports": [{ "name": "http", "protocol": "TCP", "port": 8080 }],
                "endpoints": (first..size.min(first + PER_SLICE)).map(endpoint).collect::<Vec<Value>>(),
            })
        })
        .collect();
    let service = json!({
        "metadata": { "name": "web", "namespace": "shop" },
        "spec": {
            "type": "ClusterIP", "clusterIP": "10.96.0.5", "clusterIPs": ["10.96.0.5"], "ipFamilies": ["IPv4"],
            "internalTrafficPolicy": policy, "ports": [{ "name": "http", "port": 80, "protocol": "TCP", "targetPort": 8080 }],
        },
    });
    let case = json!({ "node": "node-1", "nodes": nodes, "services": [service], "endpointSlices": slices });
    Row { name, endpoints: size, case: case.to_string(), go: Vec::new(), rust: Vec::new(), used: (0, 0) }
}

/// Builds Roster's side.
fn program() -> Result<PathBuf> {
    crate::command::run("cargo", "build --quiet --release --package xtask --features live --bin view_bench")?;
    Ok(paths::target().join("release/view_bench"))
}

/// The program with kube-proxy's packages, built unless it is in the cache under a hash of its sources.
fn go_program() -> Result<PathBuf> {
    let source = paths::root().join("benches/proxy");
    let mut text = String::new();
    for name in ["main.go", "go.mod", "go.sum"] {
        text += &std::fs::read_to_string(source.join(name)).with_context(|| format!("reading {name}"))?;
    }
    let store = paths::cache()?.join("bench");
    let binary = store.join(format!("proxy-{:016x}", fnv(text.as_bytes())));
    if !binary.exists() {
        std::fs::create_dir_all(&store)?;
        println!("building the packages of kube-proxy (once; a few minutes)");
        let half = binary.with_extension(std::process::id().to_string());
        let mut command = Command::new("go");
        command.args(["build", "-buildvcs=false", "-o"]).arg(&half).arg(".").current_dir(&source);
        ensure!(command.status().context("running go")?.success(), "go build failed");
        std::fs::rename(half, &binary)?;
    }
    Ok(binary)
}
