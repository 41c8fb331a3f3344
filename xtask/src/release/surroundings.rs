//! What is around a build and would be in its programs: variables, configuration files, and paths.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::command::capture;
use crate::paths;

/// Variables that choose flags, profiles and compilers: these, and those that go on with an underscore.
const VARIABLES: &[&str] = &[
    "AR",
    "CARGO_BUILD",
    "CARGO_ENCODED",
    "CARGO_INCREMENTAL",
    "CARGO_PROFILE",
    "CARGO_TARGET",
    "CARGO_UNSTABLE",
    "CARGO_ZIGBUILD",
    "CC",
    "CFLAGS",
    "CPATH",
    "CPPFLAGS",
    "CXX",
    "CXXFLAGS",
    "C_INCLUDE_PATH",
    "HOST",
    "LDFLAGS",
    "LIBRARY_PATH",
    "RANLIB",
    "RUSTC",
    "RUSTFLAGS",
    "TARGET",
    "ZIG",
];
/// It names a place, which is in no program.
const KEPT: &str = "CARGO_TARGET_DIR";
/// The tables of Cargo's configuration that choose the same.
const TABLES: &[&str] = &["build", "env", "host", "patch", "profile", "target", "unstable"];

/// Removes the variables of the user from a build.
pub(super) fn remove_variables(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(counts) {
            command.env_remove(name);
        }
    }
}

fn counts(variable: &str) -> bool {
    let goes_on = |rest: &str| rest.is_empty() || rest.starts_with('_');
    variable != KEPT && VARIABLES.iter().any(|start| variable.strip_prefix(start).is_some_and(goes_on))
}

/// Refuses a configuration of Cargo that would be in the programs. Cargo has no flag to ignore a file.
pub(super) fn ensure_unconfigured() -> Result<()> {
    let above = paths::root().ancestors().skip(1).map(|folder| folder.join(".cargo"));
    for folder in above.chain([cargo_home()?]) {
        for file in ["config.toml", "config"].map(|name| folder.join(name)) {
            let Ok(text) = fs::read_to_string(&file) else { continue };
            let line = text.lines().find(|line| chooses(line));
            ensure!(line.is_none(), "{}: {} would change the programs: remove it", file.display(), line.unwrap_or(""));
        }
    }
    Ok(())
}

/// Whether a line of a configuration begins a table that counts, or has a key of one.
fn chooses(line: &str) -> bool {
    let line = line.trim_start().trim_start_matches(['[', ' ', '"', '\'']);
    let word = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_').next().unwrap_or_default();
    let ends = line.get(word.len()..).unwrap_or_default().trim_start_matches(['"', '\'', ' ']);
    TABLES.contains(&word) && ends.starts_with(['.', ']', '='])
}

/// Folders of the machine, and what stands for them in a program. A later entry has precedence.
pub(super) fn places() -> Result<[(PathBuf, String); 4]> {
    let sysroot = PathBuf::from(capture("rustc", "--print sysroot")?.trim()).join("lib/rustlib/src/rust");
    let about = capture("rustc", "--version --verbose")?;
    let commit = about.lines().find_map(|line| line.strip_prefix("commit-hash: ")).context("the commit of rustc")?;
    Ok([
        (cargo_home()?, "/cargo".to_owned()),
        (sysroot, format!("/rustc/{commit}")),
        (paths::root().to_owned(), "/roster".to_owned()),
        (paths::target(), "/target".to_owned()),
    ])
}

/// The flags of C for these places.
pub(super) fn c_flags(places: &[(PathBuf, String)]) -> Result<String> {
    let flag = |(from, to): &(PathBuf, String)| {
        let from = from.display().to_string();
        ensure!(
            !from.contains(char::is_whitespace),
            "{from}: flags of C are separated by spaces, so it must have none"
        );
        Ok(format!("-ffile-prefix-map={from}={to}"))
    };
    Ok(places.iter().map(flag).collect::<Result<Vec<_>>>()?.join(" "))
}

fn cargo_home() -> Result<PathBuf> {
    let cargo_home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    cargo_home.or_else(|| Some(std::env::home_dir()?.join(".cargo"))).context("no home folder")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_chooses_flags_and_compilers_counts() {
        for (variable, want) in [
            ("CFLAGS", true),
            ("CFLAGS_x86_64_unknown_linux_musl", true),
            ("CARGO_PROFILE_DIST_LTO", true),
            ("CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_RUSTFLAGS", true),
            ("RUSTC_WRAPPER", true),
            ("RUSTFLAGS", true),
            ("CC", true),
            ("CARGO_TARGET_DIR", false),
            ("CARGO_HOME", false),
            ("CARGO_TERM_COLOR", false),
            ("RUSTUP_TOOLCHAIN", false),
            ("PATH", false),
            ("ARCH", false),
        ] {
            assert_eq!(counts(variable), want, "{variable}");
        }
        for (line, want) in [
            ("[profile.dist]", true),
            ("[build]", true),
            ("  [ target.x86_64-unknown-linux-musl ]", true),
            ("[target.'cfg(unix)']", true),
            ("[\"env\"]", true),
            ("build.rustc-wrapper = 'sccache'", true),
            ("profile = { dist = { lto = false } }", true),
            ("[net]", false),
            ("[source.crates-io]", false),
            ("[http.build]", false),
            ("# [build]", false),
            ("target-dir = 'x'", false),
            ("", false),
        ] {
            assert_eq!(chooses(line), want, "{line}");
        }
    }

    #[test]
    fn flags_of_c_name_every_place() {
        let place = |from: &str| (PathBuf::from(from), "/to".to_owned());
        assert_eq!(c_flags(&[place("/a"), place("/b")]).unwrap(), "-ffile-prefix-map=/a=/to -ffile-prefix-map=/b=/to");
        assert!(c_flags(&[place("/a b")]).is_err());
    }
}
