//! The trial of the programs: they tell the commit, and pass the tests of the command line.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{folder, here, program};
use crate::command::{capture_within, cargo, find, run_with};
use crate::release::{Architecture, Release};
use crate::steps::Outcome;
use crate::test::run_cargo_test;

/// Runs a program for arm64 elsewhere.
const EMULATOR: &str = "qemu-aarch64-static";
const NO_EMULATOR: &str = "qemu-aarch64-static is not installed: apt install qemu-user-static";
/// The first answer of a user with nothing but the archive.
const FIRST_ANSWER: Duration = Duration::from_secs(10);

/// Tests the program for this machine.
pub(super) fn test_here(release: &Release) -> Result<Outcome> {
    let here = here().context("the release has no program for this machine")?;
    test(release, here, program(release)?)
}

/// Tests the program for arm64, emulated.
pub(super) fn test_emulated(release: &Release) -> Result<Outcome> {
    if here() == Some(Architecture::Aarch64) {
        return Ok(Outcome::Skipped("this machine needs no emulator".to_owned()));
    }
    let Some(emulator) = find(EMULATOR) else { return Outcome::missing(NO_EMULATOR) };
    let program = release.programs.get(&Architecture::Aarch64).context("the program for arm64 is not built")?;
    test(release, Architecture::Aarch64, &emulated(&emulator, program)?)
}

/// A script that runs the program under the name by which it was called. Some tests call it with another PATH.
fn emulated(emulator: &Path, program: &Path) -> Result<PathBuf> {
    let script = folder("emulated")?.join("roster");
    fs::write(&script, format!("#!/bin/sh\nexec '{}' -0 \"$0\" '{}' \"$@\"\n", emulator.display(), program.display()))?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    Ok(script)
}

fn test(release: &Release, architecture: Architecture, program: &Path) -> Result<Outcome> {
    let version = capture_within(Command::new(program).args(["version", "-o", "json"]), FIRST_ANSWER)?;
    let version: Value = serde_json::from_str(&version)?;
    let platform = format!("linux/{}", architecture.short());
    for (key, want) in [("version", &release.version), ("commit", &release.commit), ("platform", &platform)] {
        ensure!(version[key] == **want, "the {key} of the program is {}, not {want}", version[key]);
    }
    let mut tests = cargo();
    tests.args(["test", "--package", "roster", "--test", "it", "--", "cli::"]).env("ROSTER_PROGRAM", program);
    run_cargo_test(&mut tests)
}

/// Unpacks the archive into a bare folder, and asks the program which pods serve a Service.
pub(super) fn first_answer(release: &Release) -> Result<Outcome> {
    let here = here().context("the release has no program for this machine")?;
    let (folder, archive) = (folder("first-answer")?, release.archive(here));
    let began = Instant::now();
    run_with(Command::new("tar").arg("-xzf").arg(release.folder.join(&archive)).arg("-C").arg(&folder))?;
    let folder = folder.join(archive.trim_end_matches(".tar.gz"));
    let mut explain = Command::new(folder.join("roster"));
    explain.args(["explain", "examples/shop.yaml", "shop/db"]).env_clear().current_dir(&folder);
    let answer = capture_within(&mut explain, FIRST_ANSWER)?;
    let took = began.elapsed();
    println!("    {} lines after {:.2} s", answer.lines().count(), took.as_secs_f64());
    ensure!(answer.contains("2 of 2"), "this is not an answer:\n{answer}");
    ensure!(took < FIRST_ANSWER, "the first answer took {took:?}");
    Ok(Outcome::Passed)
}
