//! `cargo xtask bench`: measures Roster beside the real Go controllers and kube-proxy on the same states in the same run,
//! a whole cluster from one file, a directory of manifests, the webhook beside a controller-runtime webhook, the node proxy, and the
//! controller beside kube-controller-manager.

#[expect(dead_code, reason = "attacks use the rest")]
mod api_server;
mod cluster;
mod cost;
mod edge;
mod manifests;
mod side_by_side;
mod states;
mod view;
mod watch;
mod webhook;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::{oracle, paths};
use watch::Copied;

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct BenchArgs {
    /// Number of rounds; in each, the two programs take turns on every state
    #[arg(long, default_value_t = 5)]
    pub rounds: usize,
    /// Which part to measure
    #[arg(long, value_enum, default_value_t = What::All)]
    pub what: What,
    /// Number of Services of the whole cluster; each has fifteen pods
    #[arg(long, default_value_t = 10_000)]
    pub services: usize,
    /// Another `roster` to measure in turns with this one; only for --what watch and controller
    #[arg(long, value_name = "PROGRAM")]
    pub beside: Option<PathBuf>,
    /// Numbers of Services and of the pods of each; only for --what side-by-side
    #[arg(long, value_name = "SERVICESxPODS", value_delimiter = ',', default_value = "500x20,1000x20,500x200")]
    pub sizes: Vec<side_by_side::Size>,
    /// How long the readiness of pods changes; only for --what side-by-side
    #[arg(long, default_value_t = 60)]
    pub seconds: u64,
}

/// Which part to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum What {
    /// All parts
    All,
    /// Single Services, compared with the Go controllers
    Engine,
    /// One node's view of a Service, compared with kube-proxy
    View,
    /// A whole cluster from a file
    Cluster,
    /// A directory of manifests
    Lint,
    /// The webhook, compared with a controller-runtime webhook
    Webhook,
    /// The webhook's copy of a whole cluster
    Watch,
    /// The node proxy before a large cluster
    Edge,
    /// The controller's copy of a whole cluster
    Controller,
    /// What the webhook adds to the creation of a Service, as a real API server measures it
    Cost,
    /// The controller beside kube-controller-manager, with a real API server
    SideBySide,
}

/// How many times as fast as Go Roster must be at 5 000 pods.
const GOAL: f64 = 100.0;
/// How many times as long a pod may take among 50 000 as among 100 for the engine to count as linear: the larger state
/// does not fit into the processor's caches.
const LINEAR: f64 = 2.5;

/// The megabytes in a line such as `VmHWM:  123456 kB` of a status file in /proc.
fn memory_of(status: &str, key: &str) -> Option<u64> {
    let line = status.lines().find_map(|l| l.strip_prefix(key))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? / 1000)
}

/// The CPU time in a stat file of /proc, in user space and in the kernel, which counts in hundredths of a second.
fn cpu_millis(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit(')').next()?.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    Some((ticks()? + ticks()?) * 10)
}

/// Measures, prints, and checks the goals.
pub(crate) fn run(args: &BenchArgs) -> Result<()> {
    let mut goals = Goals::default();
    let wants = |part| args.what == What::All || args.what == part;
    if wants(What::Engine) {
        engine(args.rounds.max(1), &mut goals)?;
    }
    if wants(What::View) {
        view::run_view(args.rounds.max(1), &mut goals)?;
    }
    if wants(What::Cluster) {
        cluster::run_cluster(args.services, &mut goals)?;
    }
    if wants(What::Lint) {
        manifests::run_lint(&mut goals)?;
    }
    if wants(What::Webhook) {
        webhook::run_webhook(args.rounds.max(1), &mut goals)?;
    }
    if wants(What::Watch) {
        watch::run_watch(Copied::Webhook, args.services, args.rounds.max(1), args.beside.as_deref(), &mut goals)?;
    }
    if wants(What::Controller) {
        watch::run_watch(Copied::Controller, args.services, args.rounds.max(1), args.beside.as_deref(), &mut goals)?;
    }
    if wants(What::Edge) {
        edge::run_edge(args.rounds.max(1), &mut goals)?;
    }
    if wants(What::Cost) {
        cost::run_cost(args.rounds.max(1), &mut goals)?;
    }
    if wants(What::SideBySide) {
        side_by_side::run_side_by_side(&args.sizes, args.seconds, &mut goals)?;
    }
    goals.finish()
}

/// How many goals were met and missed.
#[derive(Default)]
struct Goals {
    passed: usize,
    failed: usize,
}

impl Goals {
    fn check(&mut self, holds: bool, text: &str) {
        println!("{} {text}", if holds { "met    " } else { "MISSED " });
        *(if holds { &mut self.passed } else { &mut self.failed }) += 1;
    }

    fn finish(self) -> Result<()> {
        println!("{} passed, {} failed", self.passed, self.failed);
        ensure!(self.failed == 0, "{} goals were missed", self.failed);
        Ok(())
    }
}

/// A program that measures states.
struct Timer {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Timer {
    fn start(program: &Path) -> Result<Self> {
        let mut command = Command::new(program);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("starting a program")?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().context("no output")?);
        Ok(Self { child, input, output })
    }

    fn ask(&mut self, case: &str) -> Result<Value> {
        let input = self.input.as_mut().context("no input")?;
        writeln!(input, "{case}")?;
        input.flush()?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        serde_json::from_str(&line).context("the program ended early")
    }

    /// Nanoseconds of `repeat` syncs of `case`, and how many objects one of them writes.
    fn time(&mut self, case: &str, repeat: usize) -> Result<(Vec<f64>, u64)> {
        let fields = case.strip_prefix('{').context("a case is an object")?;
        let answer = self.ask(&format!("{{\"repeat\":{repeat},{fields}"))?;
        let error = answer.get("error").and_then(Value::as_str).unwrap_or_default();
        ensure!(error.is_empty(), "the reference failed: {error}");
        let nanos = answer.get("nanos").and_then(Value::as_array).context("no times")?;
        let writes = answer.get("writes").and_then(Value::as_u64).unwrap_or(0);
        Ok((nanos.iter().filter_map(Value::as_f64).collect(), writes))
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.input = None;
        // The program ends with its input; its exit code does not matter.
        let _ = self.child.wait();
    }
}

/// Builds the program that measures the engine.
fn engine_program() -> Result<std::path::PathBuf> {
    crate::command::run("cargo", "build --quiet --release --package xtask --features live --bin engine_bench")?;
    Ok(paths::target().join("release/engine_bench"))
}

/// One line of the table.
struct Row {
    state: states::State,
    go: Vec<f64>,
    rust: Vec<f64>,
    writes: (u64, u64),
}

fn engine(rounds: usize, goals: &mut Goals) -> Result<()> {
    let mut go = Timer::start(&oracle::build(oracle::NEWEST, oracle::Build::Plain)?)?;
    let mut rust = Timer::start(&engine_program()?)?;
    let mut rows: Vec<Row> = states::all(|case| go.ask(case))?
        .into_iter()
        .map(|state| Row { state, go: Vec::new(), rust: Vec::new(), writes: (0, 0) })
        .collect();
    for round in 0..rounds {
        for row in &mut rows {
            // The programs alternate, and take turns at being first.
            for turn in 0..2 {
                if (turn + round) % 2 == 0 {
                    if row.state.pods <= states::LARGEST_FOR_GO {
                        let (nanos, writes) = go.time(&row.state.case, (20_000 / row.state.pods).clamp(5, 200))?;
                        row.go.extend(nanos);
                        row.writes.0 = writes;
                    }
                } else {
                    let (nanos, writes) = rust.time(&row.state.case, (1_000_000 / row.state.pods).clamp(15, 2000))?;
                    row.rust.extend(nanos);
                    row.writes.1 = writes;
                }
            }
        }
    }
    print(&mut rows);
    judge(&rows, goals);
    Ok(())
}

fn median(times: &[f64]) -> f64 {
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The times are sorted.
fn least(times: &[f64]) -> f64 {
    times.first().copied().unwrap_or(f64::NAN)
}

fn print(rows: &mut [Row]) {
    println!();
    println!(
        "{:<15}{:<12}{:>7} {:>7} | {:>11} {:>11} | {:>11} {:>11} | {:>8} {:>9} {:>9}",
        "controller",
        "state",
        "pods",
        "writes",
        "Go median",
        "Go least",
        "Rust med.",
        "Rust least",
        "faster",
        "Go/pod",
        "Rust/pod"
    );
    for row in rows {
        row.go.sort_by(f64::total_cmp);
        row.rust.sort_by(f64::total_cmp);
        let (go, rust, pods) = (median(&row.go), median(&row.rust), row.state.pods as f64);
        let faster = if go.is_nan() { "-".to_owned() } else { format!("{:.0} x", go / rust) };
        println!(
            "{:<15}{:<12}{:>7} {:>7} | {:>11} {:>11} | {:>11} {:>11} | {faster:>8} {:>9} {:>9}",
            row.state.controller,
            row.state.name,
            row.state.pods,
            row.writes.1,
            micros(go),
            micros(least(&row.go)),
            micros(rust),
            micros(least(&row.rust)),
            per_pod(go / pods),
            per_pod(rust / pods),
        );
    }
    println!();
}

fn micros(nanos: f64) -> String {
    if nanos.is_nan() { "-".to_owned() } else { format!("{:.1} µs", nanos / 1000.0) }
}

fn per_pod(nanos: f64) -> String {
    if nanos.is_nan() { "-".to_owned() } else { format!("{nanos:.0} ns") }
}

fn judge(rows: &[Row], goals: &mut Goals) {
    for row in rows.iter().filter(|r| !r.go.is_empty()) {
        if row.writes.0 != row.writes.1 {
            let name = format!("{} {} {}", row.state.controller, row.state.name, row.state.pods);
            goals.check(false, &format!("{name}: Go writes {} objects, Roster {}", row.writes.0, row.writes.1));
        }
    }
    // The least time is that of the work alone; the median includes what else the machine did.
    let per_pod = |row: &Row| least(&row.rust) / row.state.pods as f64;
    for row in rows.iter().filter(|r| r.state.pods == states::LARGEST_FOR_GO) {
        let faster = (median(&row.go) / median(&row.rust)).min(least(&row.go) / least(&row.rust));
        let text = format!(
            "{} {}, 5000 pods: {faster:.0} times as fast; {GOAL} required",
            row.state.controller, row.state.name
        );
        goals.check(faster >= GOAL, &text);
    }
    for large in rows.iter().filter(|r| r.state.pods == states::LARGEST) {
        let same = |r: &&Row| r.state.controller == large.state.controller && r.state.name == large.state.name;
        if let Some(small) = rows.iter().filter(same).find(|r| r.state.pods == 100) {
            let factor = per_pod(large) / per_pod(small);
            let text = format!(
                "{} {}: a pod among {} takes {factor:.2} times as long as one among 100; {LINEAR} allowed",
                large.state.controller, large.state.name, large.state.pods
            );
            goals.check(factor <= LINEAR, &text);
        }
    }
}
