//! Kubernetes' own integration tests of the three controllers, with `roster controller` in place of those that they build.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{no_control_plane, with_control_plane};
use crate::{
    command::{has, run, watch},
    oracle, paths,
    steps::{Outcome, Tally},
};

/// The folder of the programs that build and run them.
const FOLDER: &str = "tests/upstream";

/// Builds what has changed, and runs all of them. Every test starts an API server of its own.
pub(super) fn run_tests() -> Result<Outcome> {
    if let Some(skipped) = no_control_plane() {
        return skipped;
    }
    if !has("go") || !has("python3") {
        return Outcome::missing("go or python3 is not installed, so Kubernetes' tests cannot be built");
    }
    run("cargo", "build --quiet --bin roster")?;
    let folder = paths::cache()?.join("upstream").join(oracle::NEWEST_PATCH);
    let folder = folder.to_str().context("the cache has a name that is not UTF-8")?;
    run("python3", &format!("{FOLDER}/prepare.py {folder} {}", oracle::NEWEST_PATCH))?;
    let program = paths::target().join("debug/roster");
    let flags = "controller --kubeconfig {kubeconfig} --controllers {controllers} --batch-period {batch-period} \
                 --max-endpoints-per-slice {max-endpoints-per-slice} --concurrent-syncs {workers} --admin-listen 127.0.0.1:0";
    let mut command = Command::new("python3");
    command.args([&format!("{FOLDER}/run.py"), folder]);
    command.env("EXTERNAL_CONTROLLER", format!("{} {flags}", program.display()));
    let assets = crate::cluster::assets_folder()?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([assets].into_iter().chain(std::env::split_paths(&path)))?;
    let mut tally = Tally::default();
    let well = watch(with_control_plane(&mut command)?.env("PATH", path), |line| {
        let counts = line.strip_suffix(" failed").and_then(|line| line.split_once(" passed; "));
        if let Some((passed, failed)) = counts {
            tally.passed += passed.parse().unwrap_or(0);
            tally.failed += failed.parse().unwrap_or(0);
        }
    })?;
    ensure!(well || tally.failed > 0, "the tests ended early: see {folder}/logs");
    ensure!(tally.passed > 0, "no test has passed: see {folder}/logs");
    Ok(Outcome::Tests(tally))
}
