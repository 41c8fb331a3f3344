//! Signatures by cosign with a key: of the checksums, which name every file, and of the provenance.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::Release;
use super::files::CHECKSUMS;
use crate::command::run_with;
use crate::paths;
use crate::steps::Outcome;

pub(super) const NO_COSIGN: &str =
    "cosign is not installed: go install github.com/sigstore/cosign/v3/cmd/cosign@v3.1.3";
/// The public key.
pub(super) const PUBLIC_KEY: &str = "cosign.pub";
/// The flags for what cosign wrote before version 3.
pub(super) const OLDER: [&str; 3] = ["--new-bundle-format=false", "--use-signing-config=false", "--tlog-upload=false"];

/// A private key of cosign.
pub(super) struct Key {
    file: PathBuf,
    /// `None` if it is in `COSIGN_PASSWORD`.
    password: Option<&'static str>,
}

/// Signs a release with the key, if there is one.
pub(super) fn write(release: &Release, key: Option<&Key>) -> Result<Outcome> {
    let Some(key) = key else { return Ok(Outcome::Skipped("no --sign-key: nothing is signed".to_owned())) };
    key.sign(release, &release.folder)?;
    Ok(Outcome::Passed)
}

impl Key {
    pub(super) fn given(file: &Path) -> Self {
        Self { file: file.to_owned(), password: None }
    }

    /// A new key in this folder, for a trial.
    pub(super) fn throw_away(folder: &Path) -> Result<Self> {
        let mut command = Command::new("cosign");
        command.args(["generate-key-pair", "--output-key-prefix"]).arg(folder.join("trial")).env("COSIGN_PASSWORD", "");
        run_with(&mut command)?;
        Ok(Self { file: folder.join("trial.key"), password: Some("") })
    }

    /// Writes the signatures of a release and the public key into a folder.
    pub(super) fn sign(&self, release: &Release, folder: &Path) -> Result<()> {
        run_with(self.cosign("public-key").arg("--outfile").arg(folder.join(PUBLIC_KEY)))?;
        let (checksums, statement) = (CHECKSUMS, release.provenance());
        run_with(self.bundle("sign-blob", &folder.join(bundle(checksums))).arg(release.folder.join(checksums)))?;
        let mut attest = self.bundle("attest-blob", &folder.join(bundle(&statement)));
        run_with(attest.arg("--statement").arg(release.folder.join(&statement)))?;
        // The older bundle, and the signature alone, which openssl reads.
        let mut older = self.cosign("sign-blob");
        older.args(OLDER).arg("--yes").arg("--bundle").arg(folder.join(format!("{checksums}.bundle")));
        older.arg("--output-signature").arg(folder.join(format!("{checksums}.sig")));
        run_with(older.arg(release.folder.join(checksums)))
    }

    /// A command that writes a bundle of Sigstore, without a transparency log and time stamps: a key needs neither.
    fn bundle(&self, verb: &str, file: &Path) -> Command {
        let mut command = self.cosign(verb);
        command.args(["--yes", "--signing-config"]).arg(without_services()).arg("--bundle").arg(file);
        command
    }

    /// A command of cosign with this key.
    pub(super) fn cosign(&self, verb: &str) -> Command {
        let mut command = Command::new("cosign");
        command.args([verb, "--key"]).arg(&self.file).envs(self.password.map(|password| ("COSIGN_PASSWORD", password)));
        command
    }
}

/// The configuration of cosign that names no service.
pub(super) fn without_services() -> PathBuf {
    paths::root().join("packaging/cosign-without-services.json")
}

/// The bundle of a file.
pub(super) fn bundle(name: &str) -> String {
    format!("{name}.sigstore.json")
}
