//! Pushes the image to a registry, and signs it there.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::Release;
use super::signatures::{Key, OLDER, without_services};
use crate::command::{capture, has, run_with};
use crate::paths;
use crate::steps::Outcome;

pub(super) const NO_CRANE: &str =
    "crane is not installed: go install github.com/google/go-containerregistry/cmd/crane@v0.22.1";

/// Pushes the image under its version. With a key, all of its manifests are signed, in the format of cosign 3 and in the
/// older one, and the bill of materials is attested.
pub(super) fn image(release: &Release, repository: &str, key: Option<&Key>) -> Result<Outcome> {
    if !has("crane") {
        return Outcome::missing(NO_CRANE);
    }
    let layout = paths::target().join("release-layout");
    unpack(&release.folder.join(release.image()), &layout)?;
    let name = format!("{repository}:{}", release.version);
    run_with(Command::new("crane").arg("push").args([layout.as_os_str(), name.as_ref()]))?;
    fs::remove_dir_all(&layout).context("removing the layout")?;
    let digest = capture("crane", &format!("digest {name}"))?;
    let image = format!("{repository}@{}", digest.trim());
    println!("    {image}");
    let Some(key) = key else { return Ok(Outcome::Passed) };
    run_with(
        key.cosign("sign").args(["--yes", "--recursive", "--signing-config"]).arg(without_services()).arg(&image),
    )?;
    run_with(key.cosign("sign").args(OLDER).args(["--yes", "--recursive", &image]))?;
    let mut attest = key.cosign("attest");
    attest.args(["--yes", "--type", "cyclonedx", "--signing-config"]).arg(without_services());
    run_with(attest.arg("--predicate").arg(release.folder.join(release.bill_of_materials())).arg(&image))?;
    Ok(Outcome::Passed)
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
