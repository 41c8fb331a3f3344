//! The checksums of a release, in the format of `sha256sum`.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result};

use super::Release;
use super::files::CHECKSUMS;
use super::pack::sha256;
use crate::steps::Outcome;

/// Writes the checksums of all files in the folder.
pub(super) fn write(release: &Release) -> Result<Outcome> {
    let mut names = Vec::new();
    for entry in fs::read_dir(&release.folder).context("reading the folder of the release")? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    let mut text = String::new();
    for name in names.iter().filter(|name| *name != CHECKSUMS) {
        let bytes = fs::read(release.folder.join(name)).with_context(|| format!("reading {name}"))?;
        writeln!(text, "{}  {name}", sha256(&bytes))?;
    }
    fs::write(release.folder.join(CHECKSUMS), text).context("writing the checksums")?;
    Ok(Outcome::Passed)
}
