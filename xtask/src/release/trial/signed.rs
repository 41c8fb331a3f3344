//! Signs with a new key, and verifies offline, as docs/reference/release.md says. What was changed must be refused.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::folder;
use crate::command::{has, run_with};
use crate::release::Release;
use crate::release::files::CHECKSUMS;
use crate::release::signatures::{Key, NO_COSIGN, PUBLIC_KEY, bundle};
use crate::steps::Outcome;

/// A check of the signature of a file.
type Verify<'a> = &'a dyn Fn(&Path) -> Result<()>;

pub(super) fn check(release: &Release) -> Result<Outcome> {
    if !has("cosign") {
        return Outcome::missing(NO_COSIGN);
    }
    let folder = folder("signatures")?;
    Key::throw_away(&folder)?.sign(release, &folder)?;
    let checksums = release.folder.join(CHECKSUMS);
    let changed = folder.join("changed");
    let text = fs::read(&checksums).context("reading the checksums")?;
    fs::write(&changed, [&text[..], b" "].concat()).context("writing changed checksums")?;
    let signature = fs::read(folder.join(format!("{CHECKSUMS}.sig"))).context("reading the signature")?;
    let signature = STANDARD.decode(signature.trim_ascii_end()).context("the signature is not base64")?;
    fs::write(folder.join("signature"), signature).context("writing the signature")?;

    let newer = |file: &Path| run_with(verify(&folder, "verify-blob", &bundle(CHECKSUMS)).arg(file));
    let older = |file: &Path| {
        let mut command = verify(&folder, "verify-blob", &format!("{CHECKSUMS}.bundle"));
        run_with(command.arg("--new-bundle-format=false").arg(file))
    };
    let openssl = |file: &Path| {
        let mut command = Command::new("openssl");
        command.args(["dgst", "-sha256", "-verify"]).arg(folder.join(PUBLIC_KEY)).arg("-signature");
        run_with(command.arg(folder.join("signature")).arg(file))
    };
    let attested = |file: &Path| {
        let mut command = verify(&folder, "verify-blob-attestation", &bundle(&release.provenance()));
        run_with(command.args(["--type", "slsaprovenance1"]).arg(file))
    };
    let image = release.folder.join(release.image());
    let table: [(&str, &Path, Verify<'_>); 4] = [
        ("the bundle", &checksums, &newer),
        ("the older bundle", &checksums, &older),
        ("the signature", &checksums, &openssl),
        ("the provenance", &image, &attested),
    ];
    for (what, file, verify) in table {
        verify(file).with_context(|| format!("{what} of {}", file.display()))?;
        ensure!(verify(&changed).is_err(), "{what} accepts a file that was changed");
    }
    run_with(
        Command::new("sha256sum").args(["--check", "--quiet", "--strict", CHECKSUMS]).current_dir(&release.folder),
    )?;
    Ok(Outcome::Passed)
}

/// A command that verifies with the public key, and asks no transparency log.
fn verify(folder: &Path, verb: &str, bundle: &str) -> Command {
    let mut command = Command::new("cosign");
    command.args([verb, "--insecure-ignore-tlog", "--key"]).arg(folder.join(PUBLIC_KEY));
    command.arg("--bundle").arg(folder.join(bundle));
    command
}
