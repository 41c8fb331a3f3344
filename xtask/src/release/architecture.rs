//! The architectures of a release, and their programs.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use super::{Release, toolchain};
use crate::command::{capture, run_with};
use crate::paths;
use crate::steps::Outcome;

/// An architecture of a release: Linux, with musl.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Architecture {
    X86_64,
    Aarch64,
}

impl Architecture {
    pub(crate) const ALL: [Self; 2] = [Self::X86_64, Self::Aarch64];

    /// The target of rustc.
    pub(crate) fn target(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64-unknown-linux-musl",
            Self::Aarch64 => "aarch64-unknown-linux-musl",
        }
    }

    /// The name that Debian, Go and the OCI use.
    pub(crate) fn short(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Aarch64 => "arm64",
        }
    }
}

/// Builds the programs.
pub(super) fn build(release: &mut Release) -> Result<Outcome> {
    let mut cargo = toolchain::cargo_with_tools()?;
    cargo.args(["auditable", "zigbuild", "--locked", "--profile", "dist", "--bin", "roster"]);
    for architecture in Architecture::ALL {
        cargo.args(["--target", architecture.target()]);
    }
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags()?.join("\u{1f}"));
    cargo.env("ROSTER_COMMIT", &release.commit).env("SOURCE_DATE_EPOCH", release.epoch.to_string());
    run_with(&mut cargo)?;
    for architecture in Architecture::ALL {
        let program = paths::target().join(architecture.target()).join("dist/roster");
        ensure!(program.is_file(), "{} was not built", program.display());
        release.programs.insert(architecture, program);
    }
    Ok(Outcome::Passed)
}

/// The flags of rustc.
fn flags() -> Result<Vec<String>> {
    let sysroot = PathBuf::from(capture("rustc", "--print sysroot")?.trim()).join("lib/rustlib/src/rust");
    let about = capture("rustc", "--version --verbose")?;
    let commit = about.lines().find_map(|line| line.strip_prefix("commit-hash: ")).context("the commit of rustc")?;
    let cargo_home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo_home = cargo_home.or_else(|| Some(std::env::home_dir()?.join(".cargo"))).context("no home folder")?;
    // Messages of panics and the list of dependencies would tell where it was built. A later entry has precedence.
    let paths = [
        (cargo_home, "/cargo".to_owned()),
        (sysroot, format!("/rustc/{commit}")),
        (paths::root().to_owned(), "/roster".to_owned()),
        (paths::target(), "/target".to_owned()),
    ];
    let remap = paths.iter().map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display()));
    // Zig would link the program to a fixed address.
    Ok(remap.chain(["-Clink-arg=-pie".to_owned()]).collect())
}
