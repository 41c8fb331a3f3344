//! The manifest of krew, with which kubectl installs `kubectl roster`.

use std::fmt::Write as _;

use anyhow::Result;

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
        let (arch, url) = (architecture.short(), release.url(&archive)?);
        let digest = sha256(&release.read(&archive)?);
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
    release.write(FILE, manifest)?;
    Ok(Outcome::Passed)
}
