//! The trial of the Debian packages.

use std::fs;
use std::process::Command;

use anyhow::{Result, ensure};

use super::folder;
use crate::command::{has, run_with};
use crate::release::Release;
use crate::steps::Outcome;

const NO_DPKG: &str = "dpkg-deb is not installed";

/// Reads and unpacks the packages with dpkg, and compares the programs.
pub(super) fn check(release: &Release) -> Result<Outcome> {
    if !has("dpkg-deb") {
        return Outcome::missing(NO_DPKG);
    }
    for (&architecture, program) in &release.programs {
        let package = release.folder.join(release.debian_package(architecture));
        let folder = folder(&format!("package-{}", architecture.short()))?;
        run_with(Command::new("dpkg-deb").arg("--info").arg(&package))?;
        run_with(Command::new("dpkg-deb").arg("--extract").arg(&package).arg(&folder))?;
        let installed = fs::read(folder.join("usr/bin/roster"))?;
        ensure!(installed == fs::read(program)?, "{} contains another program", package.display());
    }
    Ok(Outcome::Passed)
}
