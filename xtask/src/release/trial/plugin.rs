//! Installs the plugin of kubectl by krew, from the manifest and the archive.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{folder, here};
use crate::command::{capture_within, find, has};
use crate::release::{Release, krew};
use crate::steps::Outcome;

pub(super) fn check(release: &Release) -> Result<Outcome> {
    let (Some(krew), true) = (find("krew"), has("kubectl")) else {
        return Outcome::missing("kubectl or krew is not installed: go install sigs.k8s.io/krew/cmd/krew@v0.4.3");
    };
    let folder = folder("krew")?;
    symlink(krew, folder.join("kubectl-krew")).context("linking krew")?;
    let kubectl = |arguments: &[&Path]| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = [folder.clone(), folder.join("bin")].into_iter().chain(std::env::split_paths(&path));
        let mut command = Command::new("kubectl");
        command.args(arguments).env("KREW_ROOT", &folder).env("PATH", std::env::join_paths(path)?);
        capture_within(&mut command, super::LIMIT)
    };
    let archive = release.folder.join(release.archive(here().context("no program for this machine")?));
    let manifest = release.folder.join(krew::FILE);
    let words = ["krew", "install", "--manifest", "--archive"].map(Path::new);
    kubectl(&[words[0], words[1], words[2], &manifest, words[3], &archive])?;
    let version = kubectl(&[Path::new("roster"), Path::new("--version")])?;
    ensure!(version.contains(&release.version), "kubectl roster --version prints {version}");
    Ok(Outcome::Passed)
}
