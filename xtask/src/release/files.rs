//! The names of what a release contains, and where it is downloaded from.

use anyhow::{Context, Result, ensure};
use jiff::Timestamp;
use serde_json::Value;

use super::{Architecture, Release};
use crate::command::capture;

/// The address in `Cargo.toml` until a publisher sets it.
const PLACEHOLDER: &str = "https://github.com/example/roster";

/// The SHA-256 of every file, as `sha256sum --check` reads them.
pub(super) const CHECKSUMS: &str = "SHA256SUMS";

impl Release {
    /// The archive with the program of an architecture.
    pub(super) fn archive(&self, architecture: Architecture) -> String {
        let machine = match architecture {
            Architecture::X86_64 => "x86_64",
            Architecture::Aarch64 => "aarch64",
        };
        format!("roster-{}-{machine}-linux.tar.gz", self.version)
    }

    pub(super) fn image(&self) -> String {
        format!("roster-{}-oci.tar", self.version)
    }

    pub(super) fn bill_of_materials(&self) -> String {
        format!("roster-{}.cdx.json", self.version)
    }

    pub(super) fn provenance(&self) -> String {
        format!("roster-{}.provenance.json", self.version)
    }

    /// The time of the commit.
    pub(super) fn time(&self) -> Result<String> {
        Ok(Timestamp::from_second(self.epoch.try_into()?)?.to_string())
    }

    /// Where a file of the release is downloaded from.
    pub(super) fn url(&self, file: &str) -> Result<String> {
        Ok(format!("{}/v{}/{file}", downloads()?, self.version))
    }
}

/// What Cargo's metadata says of the package `roster`.
pub(super) fn package() -> Result<Value> {
    let metadata = capture("cargo", "metadata --no-deps --format-version 1 --offline")?;
    let mut metadata: Value = serde_json::from_str(&metadata)?;
    let packages = metadata["packages"].as_array_mut().into_iter().flatten();
    let package = packages.into_iter().find(|p| p["name"] == "roster").map(Value::take);
    package.context("Cargo.toml has no package `roster`")
}

/// The address of the repository, from `Cargo.toml`.
pub(crate) fn repository() -> Result<String> {
    let package = package()?;
    let address = |key: &str| package[key].as_str().with_context(|| format!("Cargo.toml has no `{key}`"));
    let repository = address("repository")?.trim_end_matches('/');
    for key in ["homepage", "documentation"] {
        ensure!(address(key)?.starts_with(repository), "Cargo.toml: `{key}` is not below `repository`, {repository}");
    }
    Ok(repository.to_owned())
}

/// The address below which each release has a folder, by its tag.
pub(super) fn downloads() -> Result<String> {
    Ok(format!("{}/releases/download", repository()?))
}

/// Refuses to publish under an address that is nobody's.
pub(super) fn ensure_published() -> Result<()> {
    ensure!(
        repository()? != PLACEHOLDER,
        "Cargo.toml: set `repository`, `homepage` and `documentation` to your repository"
    );
    Ok(())
}
