//! `cargo xtask cluster`: a real control plane on loopback, for experiments and recordings.

mod assets;
#[expect(dead_code, reason = "the tests with a real API server need the rest of it")]
#[path = "../../../tests/cluster/control_plane.rs"]
mod control_plane;
mod record;

use std::{fs, path::PathBuf, process::Command};

use anyhow::{Context, Result, ensure};
use clap::Subcommand;

use crate::paths;
pub(crate) use assets::folder as assets_folder;
pub(crate) use control_plane::{ControlPlane, Setup};

#[derive(Subcommand)]
pub(crate) enum Task {
    /// Start etcd, kube-apiserver and kube-controller-manager, and print how to reach them
    Up,
    /// Stop what `up` started
    Down,
    /// Write examples/shop.yaml, as a real API server prints it
    Record,
    /// Write tests/data/reviews: the reviews of a real API server for every rule in every mode, and the answers
    RecordReviews,
}

pub(crate) fn run(task: &Task) -> Result<()> {
    match task {
        Task::Up => up(),
        Task::Down => down(),
        Task::Record => record::shop(),
        Task::RecordReviews => record::reviews(),
    }
}

/// The data folder of the running control plane.
fn home() -> Result<PathBuf> {
    Ok(paths::cache()?.join("cluster"))
}

fn up() -> Result<()> {
    let dir = home()?;
    ensure!(!dir.exists(), "{} is there: a cluster is up (`cargo xtask cluster down` stops it)", dir.display());
    let assets = assets::folder()?;
    let plane = ControlPlane::start(&Setup { assets: &assets, dir: &dir, api_server: &[], controllers: true })?;
    let config = plane.kubeconfig();
    let ids: Vec<String> = plane.detach().iter().map(u32::to_string).collect();
    fs::write(dir.join("pids"), ids.join("\n"))?;
    println!("    export KUBECONFIG={}", config.display());
    Ok(())
}

fn down() -> Result<()> {
    let dir = home()?;
    let pids = fs::read_to_string(dir.join("pids")).context("no cluster is up")?;
    for pid in pids.lines() {
        // The process may have ended already.
        let _ = Command::new("kill").arg(pid).status();
        for _ in 0..200 {
            if !PathBuf::from("/proc").join(pid).exists() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }
    fs::remove_dir_all(&dir).with_context(|| format!("removing {}", dir.display()))
}
