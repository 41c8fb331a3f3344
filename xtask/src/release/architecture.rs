//! The architectures of a release, and their programs.

use anyhow::{Result, ensure};

use super::{Release, surroundings, toolchain};
use crate::command::run_with;
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
    surroundings::ensure_unconfigured()?;
    let mut cargo = toolchain::cargo_with_tools()?;
    surroundings::remove_variables(&mut cargo);
    cargo.args(["auditable", "zigbuild", "--locked", "--profile", "dist", "--bin", "roster"]);
    // Messages of panics, asserts and the list of dependencies would tell where it was built.
    let places = surroundings::places()?;
    let c_flags = surroundings::c_flags(&places)?;
    for architecture in Architecture::ALL {
        cargo.args(["--target", architecture.target()]);
        cargo.env(format!("CFLAGS_{}", architecture.target().replace('-', "_")), &c_flags);
    }
    let remap = places.iter().map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display()));
    // Zig would link the program to a fixed address.
    let flags: Vec<_> = remap.chain(["-Clink-arg=-pie".to_owned()]).collect();
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
    cargo.env("ROSTER_COMMIT", &release.commit).env("SOURCE_DATE_EPOCH", release.epoch.to_string());
    run_with(&mut cargo)?;
    for architecture in Architecture::ALL {
        let program = paths::target().join(architecture.target()).join("dist/roster");
        ensure!(program.is_file(), "{} was not built", program.display());
        release.programs.insert(architecture, program);
    }
    Ok(Outcome::Passed)
}
