//! Measures the time and memory of `roster plan -f` for a whole cluster in one file.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::{Goals, memory_of};
use crate::command::{cargo, run};
use crate::paths;

/// How many seconds a whole cluster may take on two cores.
const SECONDS: f64 = 2.0;
const MEGABYTES: u64 = 300;
const RUNS: usize = 5;

/// Writes the file unless it is in the cache, and plans it.
pub(crate) fn run_cluster(services: usize, goals: &mut Goals) -> Result<()> {
    let file = file(services)?;
    run("cargo", "build --quiet --release --bin roster")?;
    let program = paths::target().join("release/roster");
    let size = fs::metadata(&file)?.len() / 1_000_000;
    println!("\nroster plan -f {} ({services} Services, {} pods, {size} MB)", file.display(), services * 15);
    let mut runs = Vec::new();
    for _ in 0..RUNS {
        let mut command = Command::new(&program);
        command.args(["plan", "-o", "json", "-f"]).arg(&file);
        let run = measure(&mut command)?;
        let code = run.code.map_or_else(|| "none".to_owned(), |c| c.to_string());
        println!("  {:.2} s, {} MB at most, exit code {code}", run.time.as_secs_f64(), run.peak);
        runs.push(run);
    }
    runs.sort_by_key(|r| r.time);
    let median = runs.get(RUNS / 2).context("no run")?;
    let peak = runs.iter().map(|r| r.peak).max().unwrap_or(0);
    let time = median.time.as_secs_f64();
    goals.check(runs.iter().all(|r| r.code == Some(0)), "a cluster at rest: there is nothing to do");
    goals.check(time < SECONDS, &format!("a whole cluster in {time:.2} s; {SECONDS} allowed"));
    goals.check(peak < MEGABYTES, &format!("a whole cluster in {peak} MB; {MEGABYTES} allowed"));
    Ok(())
}

pub(super) fn file(services: usize) -> Result<PathBuf> {
    let folder = paths::cache()?.join("bench");
    // The name contains a hash of the program that writes the file.
    let source = fs::read(paths::root().join("benches/cluster/write.rs"))?;
    let file = folder.join(format!("cluster-{services}-{:016x}.json", crate::oracle::fnv(&source)));
    if !file.exists() {
        fs::create_dir_all(&folder)?;
        let half = file.with_extension("part");
        println!("writing {}", file.display());
        let line = "run --quiet --release --package xtask --features live --bin cluster_file --";
        let mut command = cargo();
        command.args(line.split(' ')).arg(services.to_string()).arg(&half).current_dir(paths::root());
        ensure!(command.status()?.success(), "the file could not be written");
        fs::rename(half, &file)?;
    }
    Ok(file)
}

/// A run of a program.
pub(super) struct Run {
    pub(super) time: Duration,
    /// Peak memory in MB.
    pub(super) peak: u64,
    pub(super) code: Option<i32>,
}

/// Runs the program, and polls the kernel for its peak memory until it ends. The peak only rises, so the last answer is
/// at most one poll old.
pub(super) fn measure(command: &mut Command) -> Result<Run> {
    let began = Instant::now();
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().context("starting the program")?;
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let code = loop {
        if let Some(mark) = fs::read_to_string(&status).ok().and_then(|s| memory_of(&s, "VmHWM:")) {
            peak = mark;
        }
        if let Some(ended) = child.try_wait()? {
            break ended.code();
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    Ok(Run { time: began.elapsed(), peak, code })
}
