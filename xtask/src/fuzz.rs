//! Runs the fuzz targets. They are in `fuzz/`, outside the workspace, because they need their own compiler flags.
//!
//! libFuzzer is a crate, and coverage is a flag of the stable compiler: neither cargo-fuzz nor a nightly toolchain is
//! needed. (`cargo fuzz` runs the same targets.) There is no address sanitizer, which needs nightly: the crate has no
//! unsafe code, and runs are several times faster without it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::command::{capture, capture_within, cargo, has, run_with};
use crate::paths;
use crate::steps::{Outcome, Steps, Tally};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How long each target runs
    #[arg(long, default_value_t = SECONDS)]
    seconds: u32,
    /// Only these targets
    targets: Vec<String>,
}

/// How long each target runs in continuous integration.
const SECONDS: u32 = 20;

impl Default for Arguments {
    fn default() -> Self {
        Self { seconds: SECONDS, targets: Vec::new() }
    }
}

/// What `cargo fuzz --sanitizer none` passes to the compiler: coverage of edges, and of compared values.
const FLAGS: &[&str] = &[
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "--cfg=fuzzing",
];

/// Folders of the repository whose files are inputs of a target too.
const MORE: &[(&str, &[&str])] = &[
    ("convert", &["tests/data/rules"]),
    ("yaml", &["examples", "tests/data/cli", "tests/data/rules"]),
    ("json", &["tests/data/cli"]),
];

/// Runs each target for the given time, as many at once as there are cores. The cache keeps what they find, and the next
/// run begins with it; seeds are committed.
pub(crate) fn all(steps: &mut Steps, arguments: &Arguments) -> Result<()> {
    let known = targets()?;
    for name in &arguments.targets {
        ensure!(known.contains(name), "unknown fuzz target {name}; the targets are {}", known.join(", "));
    }
    let wanted = if arguments.targets.is_empty() { &known } else { &arguments.targets };
    let name = format!("fuzz: {} targets, {} s each", wanted.len(), arguments.seconds);
    steps.run(name, || {
        if !has("c++") && !has("clang++") {
            // libFuzzer is written in C++; nothing else here is.
            return Ok(Outcome::Skipped("there is no C++ compiler for libFuzzer: apt-get install g++".to_owned()));
        }
        let built = build()?;
        together(wanted, |target| one(&built, target, arguments.seconds))
    });
    Ok(())
}

fn targets() -> Result<Vec<String>> {
    let folder = Path::new("fuzz/fuzz_targets");
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "rs") {
            names.extend(path.file_stem().and_then(|n| n.to_str()).map(str::to_owned));
        }
    }
    names.sort();
    Ok(names)
}

/// Builds all targets, and returns the folder of their programs.
fn build() -> Result<PathBuf> {
    let version = capture("rustc", "-vV")?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc names no host")?;
    let target = paths::target().join("fuzz");
    // With a target, the flags are not those of build scripts and macros.
    run_with(
        cargo()
            .args(["build", "--quiet", "--locked", "--release", "--manifest-path", "fuzz/Cargo.toml", "--target", host])
            .env("CARGO_TARGET_DIR", &target)
            .env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\u{1f}"))
            .env_remove("RUSTFLAGS"),
    )?;
    Ok(target.join(host).join("release"))
}

/// Runs `each` for all targets on as many threads as there are cores.
fn together(targets: &[String], each: impl Fn(&str) -> Result<String> + Sync) -> Result<Outcome> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut tally = Tally::default();
        while let Some(target) = targets.get(next.fetch_add(1, Ordering::Relaxed)) {
            match each(target) {
                Ok(line) => {
                    tally.passed += 1;
                    println!("    {line}");
                }
                Err(error) => {
                    tally.failed += 1;
                    println!("    FAILED {target}: {error:#}");
                }
            }
        }
        tally
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let mut sum = Tally::default();
    thread::scope(|scope| {
        let threads: Vec<_> = (0..cores.min(targets.len())).map(|_| scope.spawn(work)).collect();
        for thread in threads {
            let Ok(tally) = thread.join() else { bail!("the thread of a target panicked") };
            sum += tally;
        }
        Ok(())
    })?;
    Ok(Outcome::Tests(sum))
}

/// Runs one target, and returns what it did as a line.
fn one(programs: &Path, name: &str, seconds: u32) -> Result<String> {
    let corpus = paths::cache()?.join("fuzz").join(name);
    let artifacts = paths::target().join("fuzz/artifacts").join(name);
    for folder in [&corpus, &artifacts] {
        fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    }
    let mut command = Command::new(programs.join(name));
    // It writes what it finds to the first folder, and only reads the others.
    command.arg(&corpus).arg(Path::new("fuzz/seeds").join(name));
    command.args(MORE.iter().filter(|(target, _)| *target == name).flat_map(|(_, folders)| *folders));
    command.args(["-timeout=10", "-rss_limit_mb=2048", "-max_len=65536", "-print_final_stats=1"]);
    command.arg(format!("-artifact_prefix={}/", artifacts.display()));
    command.arg(format!("-max_total_time={seconds}"));
    // Most of it is for the corpus of a long run to be read.
    let limit = Duration::from_secs(u64::from(seconds) + 120);
    let printed = capture_within(&mut command, limit)?;
    let stat = |what: &str| {
        let value = printed.lines().find_map(|line| line.strip_prefix("stat::")?.strip_prefix(what)?.strip_prefix(':'));
        value.map_or("?", str::trim).to_owned()
    };
    let inputs = fs::read_dir(&corpus).with_context(|| format!("reading {}", corpus.display()))?.count();
    let (runs, new, rss) = (stat("number_of_executed_units"), stat("new_units_added"), stat("peak_rss_mb"));
    ensure!(runs.parse::<u64>().is_ok_and(|n| n > 0), "{name} ran nothing:\n{printed}");
    Ok(format!("{name}: {runs} runs, {new} new of {inputs} inputs, {rss} MB"))
}
