//! Measures Roster's webhook and one written with controller-runtime: the same reviews over TLS, in turns, on this
//! machine.

mod bodies;
mod servers;

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::Goals;
use crate::command::run;
use crate::paths;
use bodies::Body;
use servers::Server;
pub(super) use servers::certificate;

/// Number of persistent connections.
const CONNECTIONS: &str = "16";
/// How many seconds one turn of load lasts.
const SECONDS: &str = "4";
/// After how many reviews memory is measured.
const MANY: u64 = 300_000;
const MEGABYTES: u64 = 40;
/// How long a decision on a slice of 100 endpoints may take (p99).
const SLICE_MICROS: f64 = 1000.0;

/// Measures both, and checks the goals.
pub(crate) fn run_webhook(rounds: usize, goals: &mut Goals) -> Result<()> {
    let folder = tempfile()?;
    let folder = folder.as_path();
    let load = load_program()?;
    let (go, roster) = (Server::go(folder)?, Server::roster(folder)?);
    let mut rows: Vec<Row> = bodies::all(folder)?.into_iter().map(Row::new).collect();
    println!("\n{CONNECTIONS} connections over TLS, kept alive; {SECONDS} s a turn; server and load on the same cores");
    for round in 0..rounds {
        for row in &mut rows {
            // The programs alternate, and take turns at being first.
            for turn in 0..2 {
                let (server, runs) =
                    if (turn + round) % 2 == 0 { (&go, &mut row.go) } else { (&roster, &mut row.rust) };
                runs.push(Run::of(&load, server, &row.body)?);
            }
        }
    }
    for row in &mut rows {
        row.print();
        row.judge(goals);
    }
    memory(&go, &roster, &rows, goals)?;
    decisions(folder, goals)?;
    fs::remove_dir_all(folder).with_context(|| format!("removing {}", folder.display()))
}

/// The folder of this run, which contains the keys of the servers.
fn tempfile() -> Result<std::path::PathBuf> {
    let folder = paths::target().join(format!("bench-webhook-{}", std::process::id()));
    fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
    Ok(folder)
}

fn load_program() -> Result<std::path::PathBuf> {
    run("cargo", "build --quiet --release --package xtask --features load --bin webhook_load")?;
    Ok(paths::target().join("release/webhook_load"))
}

/// One turn of load.
struct Run {
    reviews: u64,
    /// Reviews a second.
    rate: f64,
    /// Milliseconds.
    p50: f64,
    p99: f64,
    /// Microseconds of the server's CPU time for a review. Other programs on the machine hardly change it.
    cpu: f64,
}

impl Run {
    fn of(load: &Path, server: &Server, body: &Body) -> Result<Self> {
        let (address, before) = (server.address(), server.cpu()?);
        let mut command = Command::new(load);
        command.args([address, "/mutate"]).arg(&body.file).args([CONNECTIONS, SECONDS]);
        let output = command.output().with_context(|| format!("starting {}", load.display()))?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{} at {address}: {errors}", body.name);
        let result: Value = serde_json::from_slice(&output.stdout).context("the output of webhook_load")?;
        let number = |key: &str| result[key].as_f64().with_context(|| format!("no {key}"));
        let reviews = result["reviews"].as_u64().context("no reviews")?;
        #[expect(clippy::cast_precision_loss, reason = "rounded for a person")]
        let cpu = (server.cpu()? - before) as f64 * 1e3 / reviews as f64;
        Ok(Self { reviews, rate: number("rate")?, p50: number("p50")?, p99: number("p99")?, cpu })
    }
}

/// One line of the table.
struct Row {
    body: Body,
    go: Vec<Run>,
    rust: Vec<Run>,
}

impl Row {
    fn new(body: Body) -> Self {
        Self { body, go: Vec::new(), rust: Vec::new() }
    }

    fn print(&self) {
        println!("\n{}, {} bytes, with a patch", self.body.name, self.body.size);
        println!("{:<22}{:>12}{:>12}{:>12}{:>12}", "", "reviews/s", "p50, ms", "p99, ms", "CPU, µs");
        for (name, runs) in [("controller-runtime", &self.go), ("Roster", &self.rust)] {
            let (rate, p50, p99) = (median(runs, |r| r.rate), median(runs, |r| r.p50), median(runs, |r| r.p99));
            let cpu = median(runs, |r| r.cpu);
            println!("{name:<22}{rate:>12.0}{p50:>12.2}{p99:>12.2}{cpu:>12.1}");
        }
    }

    fn judge(&self, goals: &mut Goals) {
        let more = median(&self.rust, |r| r.rate) / median(&self.go, |r| r.rate);
        let text = format!("{}: {more:.1} times the reviews a second; {} wanted", self.body.name, self.body.faster);
        goals.check(more >= self.body.faster, &text);
        if let Some(part) = self.body.p99 {
            let less = median(&self.rust, |r| r.p99) / median(&self.go, |r| r.p99);
            let text = format!("{}: {less:.2} of the p99; {part} allowed", self.body.name);
            goals.check(less <= part, &text);
        }
    }
}

fn median(runs: &[Run], of: fn(&Run) -> f64) -> f64 {
    let mut all: Vec<f64> = runs.iter().map(of).collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(f64::NAN)
}

fn memory(go: &Server, roster: &Server, rows: &[Row], goals: &mut Goals) -> Result<()> {
    let count = |runs: fn(&Row) -> &Vec<Run>| rows.iter().flat_map(runs).map(|r| r.reviews).sum::<u64>();
    let (go_reviews, reviews) = (count(|r| &r.go), count(|r| &r.rust));
    let (go, (now, most)) = (go.memory()?, roster.memory()?);
    println!("\nmemory: controller-runtime {} MB, at most {}, after {go_reviews} reviews", go.0, go.1);
    println!("memory: Roster {now} MB, at most {most}, after {reviews} reviews");
    goals.check(reviews >= MANY, &format!("{reviews} reviews before memory is looked at; {MANY} wanted"));
    goals.check(now < MEGABYTES, &format!("{now} MB resident after {reviews} reviews; {MEGABYTES} allowed"));
    Ok(())
}

/// Measures a decision without a network: from the bytes of the review to those of the answer.
fn decisions(folder: &Path, goals: &mut Goals) -> Result<()> {
    run("cargo", "build --quiet --release --package xtask --features live --bin review_bench")?;
    let mut command = Command::new(paths::target().join("release/review_bench"));
    let output = command.arg(bodies::slice(folder)?).output().context("starting review_bench")?;
    ensure!(output.status.success(), "review_bench: {}", String::from_utf8_lossy(&output.stderr));
    let result: Value = serde_json::from_slice(&output.stdout).context("the output of review_bench")?;
    let p99 = result["p99"].as_f64().context("no p99")?;
    println!(
        "\nin process, every rule on, a slice of 100 endpoints: p50 {:.0} µs, p99 {p99:.0} µs",
        result["p50"].as_f64().unwrap_or(f64::NAN)
    );
    goals.check(p99 < SLICE_MICROS, &format!("a slice of 100 endpoints in {p99:.0} µs (p99); {SLICE_MICROS} allowed"));
    Ok(())
}
