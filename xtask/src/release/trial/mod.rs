//! A trial of a release: what users do with it, on this machine alone.

mod bill;
mod chart;
mod commands;
mod hook;
mod install;
mod manual;
mod packages;
mod plugin;
mod registry;
mod signed;
mod workflow;

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::{Architecture, Release};
use crate::command::Process;
use crate::paths;
use crate::steps::{Outcome, Steps};

/// How long a program of a trial may take.
const LIMIT: Duration = Duration::from_mins(2);

/// A check of a release.
type Trial = fn(&Release) -> Result<Outcome>;

/// Tries the release.
pub(super) fn all(steps: &mut Steps, release: &Release) {
    let trials: [(&str, Trial); 14] = [
        ("first answer", commands::first_answer),
        ("command line", commands::test_here),
        ("command line, emulated", commands::test_emulated),
        ("manual pages", manual::check),
        ("Debian packages", packages::check),
        ("install script", install::check),
        ("bill of materials", bill::check),
        ("package of the chart", chart::package),
        ("signatures", signed::check),
        ("image", registry::check),
        ("chart", chart::check),
        ("krew", plugin::check),
        ("GitHub Action", workflow::check),
        ("pre-commit", hook::check),
    ];
    for (name, check) in trials {
        steps.run(format!("trial: {name}"), || check(release));
    }
}

/// The folder of one trial.
fn path(name: &str) -> PathBuf {
    paths::target().join("release-trial").join(name)
}

/// The same, and it is new.
fn folder(name: &str) -> Result<PathBuf> {
    let folder = path(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("removing {}", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
    Ok(folder)
}

/// The architecture of this machine.
fn here() -> Option<Architecture> {
    Architecture::ALL.into_iter().find(|a| a.target().split('-').next() == Some(std::env::consts::ARCH))
}

/// The program for this machine.
fn program(release: &Release) -> Result<&PathBuf> {
    here().and_then(|a| release.programs.get(&a)).context("the release has no program for this machine")
}

/// Starts a server, and waits until it listens.
fn serve(command: &mut Command, address: SocketAddr) -> Result<Process> {
    let name = command.get_program().display().to_string();
    let child =
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().with_context(|| format!("starting {name}"))?;
    let mut process = Process::new(child);
    let began = Instant::now();
    while TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_err() {
        ensure!(process.exit_status()?.is_none(), "{name} has ended");
        ensure!(began.elapsed() < Duration::from_secs(30), "{name} does not listen after 30 s");
        thread::sleep(Duration::from_millis(50));
    }
    Ok(process)
}
