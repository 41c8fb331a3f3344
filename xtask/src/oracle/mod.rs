//! Builds the reference programs: `tests/parity/oracle` against one Kubernetes release or another.
//!
//! The binaries are kept in the cache folder, under a hash of their sources and the release, so that a
//! release is built once. The committed sources are for the newest release; for an older one the few
//! lines that differ (`shim.go`) are rewritten by reading that release's own declarations. For the ordered program
//! the controllers are copied into the cache folder and rewritten there, by `tests/parity/oracle/rewrite`.

mod release;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::paths;

/// The patch release that represents each minor. The minors of the committed reference answers have the patches that gave
/// them; among them, 1.34.4 and 1.35.4 still panic on a Service without `ipFamilies`.
///
/// Of a few libraries, the module proxy has no version of the same patch, or the checksum database has no entry for it: a
/// near version substitutes for it. From cloud-provider, which needs controller-manager, the controllers take one port number.
///
/// The committed Go modules are for the last one.
const RELEASES: &[Release] = &[
    release("1.22", "1.22.17", &[]),
    release("1.23", "1.23.17", &[]),
    release("1.24", "1.24.17", &[]),
    release("1.25", "1.25.16", &[]),
    release("1.26", "1.26.15", &[]),
    release("1.27", "1.27.16", &[("k8s.io/cloud-provider", "0.27.12"), ("k8s.io/controller-manager", "0.27.11")]),
    release("1.28", "1.28.15", &[]),
    release("1.29", "1.29.15", &[]),
    release("1.30", "1.30.14", &[]),
    release("1.31", "1.31.14", &[("k8s.io/endpointslice", "0.31.0")]),
    release("1.32", "1.32.13", &[("k8s.io/endpointslice", "0.32.5")]),
    release("1.33", "1.33.13", &[]),
    release("1.34", "1.34.4", &[]),
    release("1.35", "1.35.4", &[]),
    release("1.36", "1.36.3", &[]),
    release("1.37", "1.37.0", &[]),
];

/// A release that there is a reference for.
struct Release {
    minor: &'static str,
    version: &'static str,
    /// Libraries in another version than that of the release.
    substitutes: &'static [(&'static str, &'static str)],
}

const fn release(
    minor: &'static str,
    version: &'static str,
    substitutes: &'static [(&'static str, &'static str)],
) -> Release {
    Release { minor, version, substitutes }
}

const LAST: &Release = &RELEASES[RELEASES.len() - 1];

/// The minor that the committed Go modules are for.
pub(crate) const NEWEST: &str = LAST.minor;

/// Its patch release.
pub(crate) const NEWEST_PATCH: &str = LAST.version;

const SOURCES: [&str; 12] = [
    "bench.go",
    "empty.s",
    "harness.go",
    "listers.go",
    "main.go",
    "order/compare.go",
    "order/order.go",
    "ordered.go",
    "plain.go",
    "rewrite/main.go",
    "rewrite/rewriter.go",
    "shim.go",
];

/// What the import paths of the packages begin with that decide: they are rewritten for the ordered program.
const DECIDING: [&str; 4] = [
    "k8s.io/endpointslice",
    "k8s.io/kubernetes/pkg/api/v1/endpoints",
    "k8s.io/kubernetes/pkg/controller/endpoint",
    "k8s.io/kubernetes/pkg/controller/util/endpoint",
];

/// How a reference program is built.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Build {
    /// From the sources as they are published: Go's random order of maps decides some of its answers.
    Plain,
    /// From copies in which every loop through a map asks for its order: a state has one answer.
    Ordered,
}

/// Every minor that there is a reference for.
pub(crate) fn minors() -> Vec<String> {
    RELEASES.iter().map(|r| r.minor.to_owned()).collect()
}

/// The program for one minor, built if it is not in the cache yet.
pub(crate) fn build(minor: &str, how: Build) -> Result<PathBuf> {
    let Some(release @ Release { version, .. }) = RELEASES.iter().find(|r| r.minor == minor) else {
        bail!("Kubernetes {minor} is not known here; known are {}", minors().join(", "));
    };
    let source = paths::root().join("tests/parity/oracle");
    let mut text = String::new();
    for name in SOURCES.iter().chain(["go.mod", "go.sum"].iter()) {
        text += &fs::read_to_string(source.join(name)).with_context(|| format!("reading {name}"))?;
    }
    let store = paths::cache()?.join("oracle");
    let (kind, what) = match how {
        Build::Plain => ("oracle", "reference controllers"),
        Build::Ordered => ("ordered", "reference controllers, with ordered maps,"),
    };
    let tag = format!("{kind}-{version}-{:016x}", fnv(text.as_bytes()));
    let binary = store.join(&tag);
    if binary.exists() {
        return Ok(binary);
    }
    let work = store.join(format!("src-{tag}"));
    for name in SOURCES {
        let to = work.join(name);
        fs::create_dir_all(to.parent().unwrap_or(&work)).with_context(|| format!("creating {}", work.display()))?;
        fs::copy(source.join(name), to)?;
    }
    println!("building the {what} of Kubernetes {version} (once; a few minutes)");
    if minor == NEWEST {
        for name in ["go.mod", "go.sum"] {
            fs::copy(source.join(name), work.join(name))?;
        }
    } else {
        release::retarget(&work, release).with_context(|| format!("preparing the sources for {version}"))?;
        go(&work, &["mod", "tidy"])?;
    }
    // Another run may be building the same: each writes its own file and then moves it into place.
    let half = store.join(format!("{tag}.{}", std::process::id()));
    let out = half.to_str().context("the cache folder's name is not UTF-8")?;
    match how {
        Build::Plain => go(&work, &["build", "-o", out, "."])?,
        Build::Ordered => {
            go(&work, &[&["run", "./rewrite", "-tags", "ordered"][..], &DECIDING].concat())?;
            go(&work, &["build", "-tags", "ordered", "-modfile", "ordered.mod", "-o", out, "."])?
        }
    };
    fs::rename(&half, &binary)?;
    Ok(binary)
}

fn go(dir: &Path, args: &[&str]) -> Result<String> {
    let run = Command::new("go").args(args).current_dir(dir).env("GOFLAGS", "-buildvcs=false").output();
    let out = run.context("running go; the live comparison needs a Go toolchain")?;
    let errors = String::from_utf8_lossy(&out.stderr);
    ensure!(out.status.success(), "go {} failed:\n{errors}", args.join(" "));
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}

/// FNV-1a, 64 bits: a name for the content, no more.
pub(crate) fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program of another release would be built under the name of this one.
    #[test]
    fn the_go_modules_are_for_the_newest_release() {
        for folder in ["tests/parity/oracle", "tests/cluster/assets", "benches/proxy"] {
            let module = fs::read_to_string(paths::root().join(folder).join("go.mod")).unwrap();
            let required = module.lines().filter_map(|line| line.trim().strip_prefix("k8s.io/kubernetes v"));
            let versions: Vec<&str> = required.filter_map(|rest| rest.split(' ').next()).collect();
            assert_eq!(versions, [NEWEST_PATCH], "{folder}/go.mod");
        }
    }
}
