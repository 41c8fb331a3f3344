//! Pushes the image and the chart to a registry on loopback, signs them there, pulls them, unpacks the image, and runs it
//! without a right to write.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{LIMIT, folder, here, serve};
use crate::command::{capture_within, has, run_with};
use crate::free_port::free_address;
use crate::release::publish::{self, NO_CRANE, NO_HELM};
use crate::release::signatures::{Key, NO_COSIGN};
use crate::release::{Architecture, Release};
use crate::steps::Outcome;

/// What runs: the examples are read from standard input, because the image has no other files.
const RUN: &str = r#"
mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" || exit 1
exec chroot --userspec=65532:65532 "$1" /usr/bin/roster explain - shop/db <"$2"
"#;

pub(super) fn check(release: &Release) -> Result<Outcome> {
    for (program, hint) in [
        ("crane", NO_CRANE),
        ("cosign", NO_COSIGN),
        ("helm", NO_HELM),
        ("skopeo", "skopeo is not installed: Debian's package is skopeo"),
        ("umoci", "umoci is not installed: Debian's package is umoci"),
    ] {
        if !has(program) {
            return Outcome::missing(hint);
        }
    }
    let folder = folder("image")?;
    let verify = |image: &str| -> Result<()> {
        let mut verify = Command::new("cosign");
        verify.args(["verify", "--insecure-ignore-tlog", "--key"]).arg(folder.join("trial.pub")).arg(image);
        capture_within(&mut verify, LIMIT)?;
        capture_within(verify.arg("--new-bundle-format=false"), LIMIT).map(drop)
    };
    let key = Key::throw_away(&folder)?;
    let address = free_address()?;
    let _registry =
        serve(Command::new("crane").args(["registry", "serve", "--address", &address.to_string()]), address)?;
    let repository = format!("{address}/roster");
    publish::image(release, &repository, &key)?;
    let tag = format!("{repository}:{}", release.version);
    verify(&tag)?;
    publish::chart(release, &repository, &key)?;
    let chart = format!("{}/roster", publish::charts(&repository)?);
    verify(&format!("{chart}:{}", release.version))?;
    let mut show = publish::helm(&repository, "show chart");
    let about = capture_within(show.arg(format!("oci://{chart}")).args(["--version", &release.version]), LIMIT)?;
    ensure!(about.contains("name: roster"), "the chart in the registry is {about}");
    for (&architecture, program) in &release.programs {
        pull(release, &tag, architecture, &folder)?;
        let same = fs::read(program_of(architecture))? == fs::read(program)?;
        ensure!(same, "the image for {} has another program", architecture.short());
        if here() == Some(architecture) {
            run(&root_of(architecture))?;
        }
    }
    Ok(Outcome::Passed)
}

/// The root of the image that is unpacked.
fn root_of(architecture: Architecture) -> PathBuf {
    super::path("image").join(format!("{}-root", architecture.short())).join("rootfs")
}

/// The program in it.
pub(super) fn program_of(architecture: Architecture) -> PathBuf {
    root_of(architecture).join("usr/bin/roster")
}

/// Pulls and unpacks the image for an architecture.
fn pull(release: &Release, tag: &str, architecture: Architecture, folder: &Path) -> Result<()> {
    let inspect = |image: &str| -> Result<Value> {
        let mut skopeo = Command::new("skopeo");
        skopeo.args([
            "--override-os",
            "linux",
            "--override-arch",
            architecture.short(),
            "inspect",
            "--tls-verify=false",
        ]);
        let text = capture_within(skopeo.arg(image), LIMIT)?;
        serde_json::from_str(&text).with_context(|| format!("skopeo does not print JSON: {text}"))
    };
    let archive = inspect(&format!("oci-archive:{}", release.folder.join(release.image()).display()))?;
    let pulled = inspect(&format!("docker://{tag}"))?;
    for field in ["Architecture", "Layers", "Labels"] {
        ensure!(archive[field] == pulled[field], "{field} of the archive and of the registry differ");
    }
    let labels = &archive["Labels"];
    ensure!(archive["Architecture"] == architecture.short(), "the architecture is {}", archive["Architecture"]);
    ensure!(labels["org.opencontainers.image.revision"] == release.commit.as_str(), "the labels are {labels}");

    let (layout, bundle) = (folder.join(architecture.short()), folder.join(format!("{}-root", architecture.short())));
    let mut skopeo = Command::new("skopeo");
    skopeo.args(["--override-os", "linux", "--override-arch", architecture.short(), "copy", "--quiet"]);
    skopeo.arg("--src-tls-verify=false").arg(format!("docker://{tag}")).arg(format!("oci:{}:trial", layout.display()));
    run_with(&mut skopeo)?;
    let mut umoci = Command::new("umoci");
    umoci.args(["unpack", "--rootless", "--image"]).arg(format!("{}:trial", layout.display())).arg(&bundle);
    run_with(&mut umoci)?;
    let config: Value = serde_json::from_slice(&fs::read(bundle.join("config.json"))?)?;
    let process = &config["process"];
    ensure!(process["args"][0] == "/usr/bin/roster", "the image runs {}", process["args"]);
    Ok(())
}

/// Runs the image as its user, with a root that is read-only.
fn run(root: &Path) -> Result<()> {
    let example = Path::new("examples/shop.yaml");
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", RUN, "sh"]).arg(root).arg(example);
    let printed = capture_within(&mut command, LIMIT).context("running the image needs root's right to mount")?;
    ensure!(printed.contains("2 of 2"), "the image prints {printed}");
    Ok(())
}
