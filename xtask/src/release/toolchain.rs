//! The tools that build the programs: Rust's libraries for musl, Zig as compiler and linker of C, `cargo auditable`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::Architecture;
use crate::command::{capture, cargo, run_with};
use crate::paths;

/// Zig and `cargo-zigbuild`, with their checksums.
const REQUIREMENTS: &str = "xtask/src/release/requirements.txt";
/// It writes the list of the dependencies into a program, where `cargo audit bin` finds it.
const AUDITABLE: &str = "cargo-auditable@0.7.7";
/// The checksum of its package in the index of crates.io, which Cargo compares.
const AUDITABLE_SHA256: &str = "ccdd489bc94d1338cd04389a842e00661300331ec915fb376b4810ef7d480b5d";

/// What builds the programs, with versions and digests, as a statement of provenance lists it.
pub(super) fn materials() -> Result<Vec<Value>> {
    let about = capture("rustc", "--version --verbose")?;
    let field = |name: &str| about.lines().find_map(|line| line.strip_prefix(name)).context("the version of rustc");
    let (version, commit) = (field("release: ")?, field("commit-hash: ")?);
    let mut materials = vec![json!({
        "uri": format!("git+https://github.com/rust-lang/rust@refs/tags/{version}"), "digest": { "gitCommit": commit },
    })];
    materials.push(json!({ "uri": format!("pkg:cargo/{AUDITABLE}"), "digest": { "sha256": AUDITABLE_SHA256 } }));
    let requirements = fs::read_to_string(REQUIREMENTS).context(REQUIREMENTS)?;
    materials.extend(requirements.lines().filter_map(requirement));
    Ok(materials)
}

/// A line of the requirements, such as `name==1.0 --hash=sha256:…`.
fn requirement(line: &str) -> Option<Value> {
    let (package, digest) = line.split_once(" --hash=sha256:")?;
    let (name, version) = package.split_once("==")?;
    Some(json!({ "uri": format!("pkg:pypi/{name}@{version}"), "digest": { "sha256": digest } }))
}

/// `cargo` with the tools of a release in its PATH. Missing ones are installed into the cache.
pub(super) fn cargo_with_tools() -> Result<Command> {
    install_targets()?;
    let folders = [install_zig()?, install_auditable()?];
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(folders.into_iter().chain(std::env::split_paths(&path)))?;
    let mut command = cargo();
    command.env("PATH", path);
    Ok(command)
}

/// The libraries belong to the compiler of `rust-toolchain.toml`.
fn install_targets() -> Result<()> {
    for target in Architecture::ALL.map(Architecture::target) {
        let folder = capture("rustc", &format!("--print target-libdir --target {target}"))?;
        if !Path::new(folder.trim()).is_dir() {
            let add = run_with(Command::new("rustup").args(["target", "add", target]));
            add.with_context(|| format!("the libraries of Rust for {target} are missing"))?;
        }
    }
    Ok(())
}

/// Returns the folder with `cargo-zigbuild`, which finds Zig beside itself.
fn install_zig() -> Result<PathBuf> {
    let venv = paths::cache()?.join("zig");
    // The file is copied last, so it says what is installed in full.
    let (wanted, installed) = (fs::read(REQUIREMENTS).context(REQUIREMENTS)?, venv.join("requirements.txt"));
    if fs::read(&installed).ok().as_ref() != Some(&wanted) {
        run_with(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&venv))?;
        let mut pip = Command::new(venv.join("bin/pip"));
        pip.args([
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
            "--require-hashes",
            "--requirement",
        ]);
        run_with(pip.arg(REQUIREMENTS))?;
        fs::write(&installed, wanted)?;
    }
    Ok(venv.join("bin"))
}

/// Returns the folder with `cargo-auditable`. Cargo installs nothing if this version is there.
fn install_auditable() -> Result<PathBuf> {
    let tools = paths::cache()?.join("tools");
    let mut install = cargo();
    install.args(["install", "--locked", "--quiet", "--root"]).arg(&tools).arg(AUDITABLE);
    run_with(&mut install)?;
    Ok(tools.join("bin"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_are_materials() {
        let want = json!({ "uri": "pkg:pypi/a@1.0", "digest": { "sha256": "12" } });
        for (line, want) in [("a==1.0 --hash=sha256:12", Some(want)), ("# a==1.0", None), ("", None)] {
            assert_eq!(requirement(line), want, "{line}");
        }
    }
}
