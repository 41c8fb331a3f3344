//! Every fuzz target for a while. The targets are in `fuzz/`, outside the workspace: they need a compiler flag of their own.

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

/// Runs each target for the time given. What they learn is kept in the cache; seeds are committed.
pub(crate) fn all(steps: &mut Steps, arguments: &Arguments) -> Result<()> {
    let known = targets()?;
    for name in &arguments.targets {
        ensure!(known.contains(name), "there is no fuzz target {name}; there are {}", known.join(", "));
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
    // No address sanitizer: there is no unsafe code here to watch, and without it there are several times as many runs.
    command
        .args(["fuzz", "run", "--sanitizer", "none", name])
        .arg(corpus)
        .arg(Path::new("fuzz/seeds").join(name))
        .arg("--");
    command.args(["-timeout=10", "-rss_limit_mb=2048", "-max_len=65536", "-print_final_stats=1"]);
    command.arg(format!("-max_total_time={seconds}"));
    // The flags for coverage are unstable; this lets the pinned stable compiler take them.
    run_with(command.env("RUSTC_BOOTSTRAP", "1").env("CARGO_TARGET_DIR", paths::target().join("fuzz")))?;
    Ok(Outcome::Passed)
}
