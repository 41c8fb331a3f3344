//! The manifest of krew, with which kubectl installs `kubectl roster`.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result};

use super::pack::sha256;
use super::{Release, files};
use crate::steps::Outcome;

/// The file of a release. krew wants the name of the plugin.
pub(super) const FILE: &str = "roster.yaml";

/// Writes the manifest.
pub(super) fn write(release: &Release) -> Result<Outcome> {
    let mut platforms = String::new();
    for architecture in release.programs.keys() {
        let archive = release.archive(*architecture);
        let bytes = fs::read(release.folder.join(&archive)).with_context(|| format!("reading {archive}"))?;
        let (arch, url, digest) = (architecture.short(), release.url(&archive)?, sha256(&bytes));
        write!(
            platforms,
            "  - selector:
      matchLabels:
        os: linux
        arch: {arch}
    uri: {url}
    sha256: {digest}
    files:
    - from: '*/roster'
      to: .
    - from: '*/LICENSE'
      to: .
    - from: '*/THIRD-PARTY-LICENSES.txt'
      to: .
    bin: roster
"
        )?;
    }
    let manifest = format!(
        "apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: roster
spec:
  version: v{}
  homepage: {}
  shortDescription: Show which pods serve a Service, and why
  description: |
    Computes what the endpoints controllers of Kubernetes do with a Service and its
    pods, and gives the reason for every pod: which are served, which are not, and
    what to do about it.
  platforms:
{platforms}",
        release.version,
        files::repository()?,
    );
    fs::write(release.folder.join(FILE), manifest).with_context(|| format!("writing {FILE}"))?;
    Ok(Outcome::Passed)
}
