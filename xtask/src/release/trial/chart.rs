//! The chart: as a package, and on a real API server with the program of the image that was unpacked before.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{LIMIT, here, registry};
use crate::command::{capture_within, cargo, has};
use crate::paths;
use crate::release::publish::NO_HELM;
use crate::release::{Release, chart};
use crate::steps::Outcome;
use crate::test::{no_control_plane, run_cargo_test, with_control_plane};

/// Reads the package by helm, which renders the same as of the folder.
pub(super) fn package(release: &Release) -> Result<Outcome> {
    if !has("helm") {
        return Outcome::missing(NO_HELM);
    }
    let (package, folder) = (release.folder.join(release.chart()), paths::root().join(chart::FOLDER));
    let helm = |words: &str, chart: &Path| {
        let mut command = Command::new("helm");
        command.args(words.split(' ')).arg(chart).current_dir(&folder);
        capture_within(&mut command, LIMIT)
    };
    let package = fs::canonicalize(package).context("the package of the chart")?;
    let about = helm("show chart", &package)?;
    ensure!(about.lines().any(|line| line == format!("version: {}", release.version)), "the chart is {about}");
    let render = "template roster --kube-version 1.34.0 --values ci/everything-values.yaml";
    ensure!(helm(render, &package)? == helm(render, Path::new("."))?, "the package and the folder render otherwise");
    Ok(Outcome::Passed)
}

/// Tests the chart on a cluster.
pub(super) fn check(release: &Release) -> Result<Outcome> {
    let Some(here) = here() else {
        return Ok(Outcome::Skipped("the image has no program for this machine".to_owned()));
    };
    let program = registry::program_of(here);
    ensure!(program.is_file(), "the image of {} was not unpacked", release.version);
    if let Some(skipped) = no_control_plane() {
        return skipped;
    }
    let mut tests = cargo();
    tests.args(["test", "--package", "roster", "--test", "cluster", "--", "--ignored", "--test-threads=1", "chart::"]);
    run_cargo_test(with_control_plane(&mut tests)?.env("ROSTER_PROGRAM", program))
}
