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
    /// Then write the smallest inputs that reach as much to fuzz/corpus/, to be committed
    #[arg(long)]
    keep: bool,
    /// Only these targets. Those of the servers (edge_…) run only if they are named: with coverage, the whole program takes
    /// minutes to build
    targets: Vec<String>,
}

/// What the names of targets begin with that need the whole program.
const OF_SERVERS: &str = "edge_";
/// How long each target runs in continuous integration.
const SECONDS: u32 = 20;

impl Default for Arguments {
    fn default() -> Self {
        Self { seconds: SECONDS, keep: false, targets: Vec::new() }
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

/// The limit of an input in bytes.
const MAX_INPUT: u32 = 1 << 16;
/// The same for inputs that are committed.
const MAX_KEPT: u32 = 1 << 12;
const MINUTE: Duration = Duration::from_mins(1);

/// Runs each target for the given time, as many at once as there are cores. A run begins with the inputs that are committed
/// (seeds written by hand, and what earlier runs found), with those of the cache, and adds to the cache what it finds.
pub(crate) fn all(steps: &mut Steps, arguments: &Arguments) -> Result<()> {
    let known = targets()?;
    for name in &arguments.targets {
        ensure!(known.contains(name), "unknown fuzz target {name}; the targets are {}", known.join(", "));
    }
    let of_core: Vec<String> = known.iter().filter(|name| !name.starts_with(OF_SERVERS)).cloned().collect();
    let wanted = if arguments.targets.is_empty() { &of_core } else { &arguments.targets };
    let with_servers = wanted.iter().any(|name| name.starts_with(OF_SERVERS));
    let name = format!("fuzz, {} s each: {}", arguments.seconds, wanted.join(", "));
    steps.run(name, || {
        if !has("c++") && !has("clang++") {
            // libFuzzer is written in C++; nothing else here is.
            return Ok(Outcome::Skipped("there is no C++ compiler for libFuzzer: apt-get install g++".to_owned()));
        }
        let built = build(with_servers)?;
        together(wanted, |name| {
            let target = FuzzTarget::new(&built, name)?;
            let line = target.run(arguments.seconds)?;
            if arguments.keep { Ok(format!("{line}; {}", target.keep()?)) } else { Ok(line) }
        })
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
fn build(with_servers: bool) -> Result<PathBuf> {
    let version = capture("rustc", "-vV")?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc names no host")?;
    let target = paths::target().join("fuzz");
    // With a target, the flags are not those of build scripts and macros.
    run_with(
        cargo()
            .args(["build", "--quiet", "--locked", "--release", "--manifest-path", "fuzz/Cargo.toml", "--target", host])
            .args(with_servers.then_some("--features=edge"))
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

/// One target: its program, and the folders of its inputs.
struct FuzzTarget<'a> {
    name: &'a str,
    program: PathBuf,
    /// What runs find, in the cache.
    found: PathBuf,
    /// Inputs that are only read.
    given: Vec<PathBuf>,
    /// Scratch folders.
    scratch: PathBuf,
}

impl<'a> FuzzTarget<'a> {
    fn new(programs: &Path, name: &'a str) -> Result<Self> {
        let scratch = paths::target().join("fuzz/inputs").join(name);
        let (found, kept) = (paths::cache()?.join("fuzz").join(name), empty(&scratch.join("kept"))?);
        fs::create_dir_all(&found).with_context(|| format!("creating {}", found.display()))?;
        let packed = packed(name);
        if packed.is_file() {
            capture_within(Command::new("tar").arg("-xzf").arg(&packed).arg("-C").arg(&kept), MINUTE)?;
        }
        let mut given = vec![kept, Path::new("fuzz/seeds").join(name)];
        given.extend(
            MORE.iter().filter(|(target, _)| *target == name).flat_map(|(_, folders)| *folders).map(PathBuf::from),
        );
        given.retain(|folder| folder.is_dir());
        Ok(Self { name, program: programs.join(name), found, given, scratch })
    }

    /// Runs the target, and returns what it did as a line.
    fn run(&self, seconds: u32) -> Result<String> {
        let failing = self.scratch.join("failing");
        fs::create_dir_all(&failing).with_context(|| format!("creating {}", failing.display()))?;
        let mut command = Command::new(&self.program);
        // It writes what it finds to the first folder.
        command.arg(&self.found).args(&self.given);
        command.args(["-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1"]);
        command.arg(format!("-max_len={MAX_INPUT}")).arg(format!("-max_total_time={seconds}"));
        command.arg(format!("-artifact_prefix={}/", failing.display()));
        // Besides the given time, the inputs are read.
        let printed = capture_within(&mut command, Duration::from_secs(u64::from(seconds)) + MINUTE)?;
        let stat = |what: &str| {
            let value =
                printed.lines().find_map(|line| line.strip_prefix("stat::")?.strip_prefix(what)?.strip_prefix(':'));
            value.map_or("?", str::trim).to_owned()
        };
        let (runs, new, rss) = (stat("number_of_executed_units"), stat("new_units_added"), stat("peak_rss_mb"));
        ensure!(runs.parse::<u64>().is_ok_and(|n| n > 0), "it ran nothing:\n{printed}");
        Ok(format!("{}: {runs} runs, {new} new inputs, {rss} MB", self.name))
    }

    /// Packs the smallest inputs that reach as much as all of them, and returns how many there are as a text.
    fn keep(&self) -> Result<String> {
        let least = empty(&self.scratch.join("least"))?;
        let mut merge = Command::new(&self.program);
        merge.arg("-merge=1").arg(format!("-max_len={MAX_KEPT}")).arg(&least).arg(&self.found).args(&self.given);
        capture_within(&mut merge, 10 * MINUTE)?;
        let count = fs::read_dir(&least).with_context(|| format!("reading {}", least.display()))?.count();
        let packed = packed(self.name);
        if let Some(folder) = packed.parent() {
            fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
        }
        let mut tar = Command::new("tar");
        // The same inputs give the same file.
        tar.args([
            "--sort=name",
            "--mtime=@0",
            "--owner=0",
            "--group=0",
            "--numeric-owner",
            "--use-compress-program=gzip -9n",
        ]);
        tar.arg("-cf").arg(&packed).arg("-C").arg(&least).arg(".");
        capture_within(&mut tar, MINUTE)?;
        Ok(format!("{count} inputs are kept in {}", packed.display()))
    }
}

/// The committed inputs of a target.
fn packed(name: &str) -> PathBuf {
    Path::new("fuzz/corpus").join(format!("{name}.tar.gz"))
}

/// A folder without files.
fn empty(folder: &Path) -> Result<PathBuf> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("emptying {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    Ok(folder.to_owned())
}
