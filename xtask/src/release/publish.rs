//! Pushes the image to a registry, and signs it there.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::Release;
use super::signatures::{Key, OLDER, without_services};
use crate::command::run_with;
use crate::paths;
use crate::steps::Outcome;

pub(super) const NO_CRANE: &str =
    "crane is not installed: go install github.com/google/go-containerregistry/cmd/crane@v0.22.1";

/// Pushes the image by its digest, signs all of its manifests, in the format of cosign 3 and in the older one, attests the
/// bill of materials, and names the image by its version last: nobody pulls that version without a signature.
pub(super) fn image(release: &Release, repository: &str, key: &Key) -> Result<Outcome> {
    let layout = paths::target().join("release-layout");
    unpack(&release.folder.join(release.image()), &layout)?;
    let image = format!("{repository}@{}", digest(&layout)?);
    run_with(Command::new("crane").arg("push").args([layout.as_os_str(), image.as_ref()]))?;
    fs::remove_dir_all(&layout).context("removing the layout")?;
    run_with(
        key.cosign("sign").args(["--yes", "--recursive", "--signing-config"]).arg(without_services()).arg(&image),
    )?;
    run_with(key.cosign("sign").args(OLDER).args(["--yes", "--recursive", &image]))?;
    let mut attest = key.cosign("attest");
    attest.args(["--yes", "--type", "cyclonedx", "--signing-config"]).arg(without_services());
    run_with(attest.arg("--predicate").arg(release.folder.join(release.bill_of_materials())).arg(&image))?;
    run_with(Command::new("crane").args(["tag", &image, &release.version]))?;
    Ok(Outcome::Passed)
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
