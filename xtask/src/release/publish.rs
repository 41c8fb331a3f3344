//! Pushes the image and the chart to a registry, and signs them there.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::Release;
use super::signatures::{Key, OLDER, without_services};
use crate::command::{capture_within, run_with};
use crate::paths;
use crate::steps::Outcome;

pub(super) const NO_CRANE: &str =
    "crane is not installed: go install github.com/google/go-containerregistry/cmd/crane@v0.22.1";

pub(super) const NO_HELM: &str = "helm is not installed: go install helm.sh/helm/v3/cmd/helm@v3.18.4";

/// Pushes the image by its digest, signs all of its manifests, in the format of cosign 3 and in the older one, attests the
/// bill of materials, and names the image by its version last: nobody pulls that version without a signature.
pub(super) fn image(release: &Release, repository: &str, key: &Key) -> Result<Outcome> {
    let layout = paths::target().join("release-layout");
    unpack(&release.folder.join(release.image()), &layout)?;
    let image = format!("{repository}@{}", digest(&layout)?);
    run_with(Command::new("crane").arg("push").args([layout.as_os_str(), image.as_ref()]))?;
    fs::remove_dir_all(&layout).context("removing the layout")?;
    sign(key, &image)?;
    let mut attest = key.cosign("attest");
    attest.args(["--yes", "--type", "cyclonedx", "--signing-config"]).arg(without_services());
    run_with(attest.arg("--predicate").arg(release.folder.join(release.bill_of_materials())).arg(&image))?;
    run_with(Command::new("crane").args(["tag", &image, &release.version]))?;
    Ok(Outcome::Passed)
}

/// Pushes the chart beside the image, and signs it. helm names it by its version when it pushes, so it has no signature for
/// a moment.
pub(super) fn chart(release: &Release, repository: &str, key: &Key) -> Result<Outcome> {
    let charts = charts(repository)?;
    let mut push = helm(repository, "push");
    push.arg(release.folder.join(release.chart())).arg(format!("oci://{charts}"));
    let said = capture_within(&mut push, Duration::from_mins(10))?;
    let digest = said.lines().find_map(|line| line.trim().strip_prefix("Digest: "));
    sign(key, &format!("{charts}/roster@{}", digest.with_context(|| format!("helm tells no digest: {said}"))?))?;
    Ok(Outcome::Passed)
}

/// The folder of charts beside the repository of the image. helm adds the name of the chart, and the image has that name.
pub(super) fn charts(repository: &str) -> Result<String> {
    let (above, _) = repository.rsplit_once('/').with_context(|| format!("{repository} names no registry"))?;
    Ok(format!("{above}/charts"))
}

/// A command of helm for a registry. One on loopback has no TLS.
pub(super) fn helm(repository: &str, verb: &str) -> Command {
    let mut command = Command::new("helm");
    command.args(verb.split(' ')).args(repository.starts_with("127.0.0.1:").then_some("--plain-http"));
    command
}

/// Signs everything below a digest, in the format of cosign 3 and in the older one.
fn sign(key: &Key, digest: &str) -> Result<()> {
    let mut newer = key.cosign("sign");
    newer.args(["--yes", "--recursive", "--signing-config"]).arg(without_services());
    run_with(newer.arg(digest))?;
    run_with(key.cosign("sign").args(OLDER).args(["--yes", "--recursive", digest]))
}

/// The digest of the index that is in a layout.
fn digest(layout: &Path) -> Result<String> {
    let index: Value = serde_json::from_slice(&fs::read(layout.join("index.json")).context("reading index.json")?)?;
    Ok(index["manifests"][0]["digest"].as_str().context("index.json has no manifest")?.to_owned())
}

/// Unpacks a tar archive into a new folder.
fn unpack(archive: &Path, folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("removing {}", folder.display()))?;
    }
    let file = File::open(archive).with_context(|| format!("reading {}", archive.display()))?;
    tar::Archive::new(file).unpack(folder).with_context(|| format!("unpacking {}", archive.display()))?;
    ensure!(folder.join("oci-layout").is_file(), "{} is not an OCI layout", archive.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_are_beside_the_image() {
        for (repository, want) in [
            ("ghcr.io/me/roster", Some("ghcr.io/me/charts")),
            ("127.0.0.1:5000/roster", Some("127.0.0.1:5000/charts")),
            ("roster", None),
        ] {
            assert_eq!(charts(repository).ok().as_deref(), want, "{repository}");
        }
    }
}
