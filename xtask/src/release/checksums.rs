//! The checksums of a release, in the format of `sha256sum`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result};

use super::Release;
use super::files::CHECKSUMS;
use super::pack::sha256;
use crate::steps::Outcome;

/// Writes the checksums of all files in the folder.
pub(super) fn write(release: &Release) -> Result<Outcome> {
    let mut text = String::new();
    for (name, digest) in digests(release)? {
        writeln!(text, "{digest}  {name}")?;
    }
    release.write(CHECKSUMS, text)?;
    Ok(Outcome::Passed)
}

/// The SHA-256 of each file that is in the folder, in order.
pub(super) fn digests(release: &Release) -> Result<BTreeMap<String, String>> {
    let mut digests = BTreeMap::new();
    for entry in fs::read_dir(&release.folder).context("reading the folder of the release")? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let digest = sha256(&release.read(&name)?);
        digests.insert(name, digest);
    }
    Ok(digests)
}
