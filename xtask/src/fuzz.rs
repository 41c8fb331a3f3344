//! Runs the fuzz targets. They are in `fuzz/`, outside the workspace, because they need their own compiler flags.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::command::{cargo, has, run_with};
use crate::paths;
use crate::steps::{Outcome, Steps};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How long each target runs
    #[arg(long, default_value_t = 10)]
    seconds: u32,
    /// Only these targets
    targets: Vec<String>,
}

/// Runs each target for the given time. The cache keeps the corpora; seeds are committed.
pub(crate) fn all(steps: &mut Steps, arguments: &Arguments) -> Result<()> {
    let known = targets()?;
    for name in &arguments.targets {
        ensure!(known.contains(name), "unknown fuzz target {name}; the targets are {}", known.join(", "));
    }
    let wanted = if arguments.targets.is_empty() { &known } else { &arguments.targets };
    for name in wanted {
        steps.run(format!("fuzz {name}, {} s", arguments.seconds), || one(name, arguments.seconds));
    }
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

fn one(name: &str, seconds: u32) -> Result<Outcome> {
    if !has("cargo-fuzz") {
        return Outcome::missing("cargo-fuzz is not installed: cargo install --locked cargo-fuzz");
    }
    let corpus = paths::cache()?.join("fuzz").join(name);
    fs::create_dir_all(&corpus).with_context(|| format!("creating {}", corpus.display()))?;
    let mut command = cargo();
    // No address sanitizer: the crate has no unsafe code, and runs are several times faster without it.
    command
        .args(["fuzz", "run", "--sanitizer", "none", name])
        .arg(corpus)
        .arg(Path::new("fuzz/seeds").join(name))
        .arg("--");
    command.args(["-timeout=10", "-rss_limit_mb=2048", "-max_len=65536", "-print_final_stats=1"]);
    command.arg(format!("-max_total_time={seconds}"));
    // The coverage flags are unstable; this makes the pinned stable compiler accept them.
    run_with(command.env("RUSTC_BOOTSTRAP", "1").env("CARGO_TARGET_DIR", paths::target().join("fuzz")))?;
    Ok(Outcome::Passed)
}
