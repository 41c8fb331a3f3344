//! The trial of the manual pages.

use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::{folder, here};
use crate::command::{capture_within, has, run_with};
use crate::release::Release;
use crate::steps::Outcome;

const NO_MANDOC: &str = "mandoc is not installed: apt install mandoc";

/// Reads all pages of an archive with mandoc, which must have nothing to say.
pub(super) fn check(release: &Release) -> Result<Outcome> {
    if !has("mandoc") {
        return Outcome::missing(NO_MANDOC);
    }
    let (folder, archive) = (folder("manual")?, release.archive(here().context("no archive for this machine")?));
    run_with(Command::new("tar").arg("-xzf").arg(release.folder.join(&archive)).arg("-C").arg(&folder))?;
    let pages = fs::read_dir(folder.join(archive.trim_end_matches(".tar.gz")).join("man"))?;
    let mut pages = pages.map(|page| Ok(page?.path())).collect::<Result<Vec<_>>>()?;
    pages.sort();
    ensure!(pages.len() > 20, "there are only {} pages", pages.len());
    let report = capture_within(Command::new("mandoc").args(["-T", "lint"]).args(&pages), Duration::from_mins(1))?;
    ensure!(report.is_empty(), "mandoc reports:\n{report}");
    Ok(Outcome::Passed)
}
