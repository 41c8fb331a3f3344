//! The crates of the program, as Cargo resolves them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::Architecture;
use crate::command::capture;
use crate::paths;

/// Crates that are not linked, but whose files are in a release, by the crates that they belong to.
const EMBEDDED: &[(&str, &str)] = &[
    // Swagger UI, which the build script puts into the program.
    ("utoipa-swagger-ui-vendored", "utoipa-swagger-ui"),
    // Mozilla's CA certificates, which are in the image.
    ("webpki-root-certs", "roster"),
];

/// The name and version of a crate. No two crates of the program have the same ones.
pub(super) type Id = (String, String);

/// A crate of the program.
pub(super) struct Crate {
    /// What Cargo's metadata says of it.
    pub(super) package: Value,
    /// Its source.
    pub(super) folder: PathBuf,
    /// The SHA-256 of its package; a crate of the workspace has none.
    pub(super) checksum: Option<String>,
    pub(super) dependencies: BTreeSet<Id>,
}

/// The crates of the program, for any architecture.
pub(super) fn of_program() -> Result<BTreeMap<Id, Crate>> {
    let mut packages = packages()?;
    let mut checksums = checksums()?;
    let mut graph = graph()?;
    for &(name, owner) in EMBEDDED {
        let id = packages.keys().find(|(n, _)| n == name).with_context(|| format!("no crate is named {name}"))?.clone();
        graph.iter_mut().filter(|((n, _), _)| n == owner).for_each(|(_, uses)| uses.extend([id.clone()]));
        graph.insert(id, BTreeSet::new());
    }
    let mut crates = BTreeMap::new();
    for (id, dependencies) in graph {
        let package = packages.remove(&id).with_context(|| format!("cargo metadata has no {} {}", id.0, id.1))?;
        let manifest = package["manifest_path"].as_str().map(Path::new).and_then(Path::parent);
        let folder = manifest.context("a package has no manifest")?.to_owned();
        let checksum = checksums.remove(&id);
        crates.insert(id, Crate { package, folder, checksum, dependencies });
    }
    Ok(crates)
}

/// The crates that are linked, and what each depends on. `cargo tree` knows the features of this program alone;
/// `cargo metadata` knows those of the whole workspace.
fn graph() -> Result<BTreeMap<Id, BTreeSet<Id>>> {
    let targets = Architecture::ALL.map(|a| format!("--target {}", a.target())).join(" ");
    let what = "--package roster --edges normal,no-proc-macro --prefix depth";
    parse_tree(&capture("cargo", &format!("tree --offline --locked {targets} {what}"))?)
}

/// Reads the lines of `cargo tree`: a depth, a name, a version with `v`, and more. What a crate depends on follows where
/// it is named first.
fn parse_tree(text: &str) -> Result<BTreeMap<Id, BTreeSet<Id>>> {
    let mut graph: BTreeMap<Id, BTreeSet<Id>> = BTreeMap::new();
    let mut above: Vec<Id> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        let name = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let depth = line[..line.len() - name.len()].parse::<usize>().with_context(|| format!("no depth: {line}"))?;
        let mut words = name.split_whitespace();
        let (Some(name), Some(version)) = (words.next(), words.next().and_then(|v| v.strip_prefix('v'))) else {
            bail!("no name and version: {line}");
        };
        let id = (name.to_owned(), version.to_owned());
        ensure!(depth <= above.len(), "{line} is below nothing");
        above.truncate(depth);
        if let Some(dependant) = above.last() {
            graph.entry(dependant.clone()).or_default().insert(id.clone());
        }
        graph.entry(id.clone()).or_default();
        above.push(id);
    }
    Ok(graph)
}

/// All packages that Cargo knows.
fn packages() -> Result<BTreeMap<Id, Value>> {
    let metadata = capture("cargo", "metadata --offline --locked --format-version 1")?;
    let mut metadata: Value = serde_json::from_str(&metadata)?;
    let Value::Array(packages) = metadata["packages"].take() else { bail!("cargo metadata has no packages") };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Ok(packages.into_iter().map(|p| ((text(&p["name"]), text(&p["version"])), p)).collect())
}

/// The checksums in `Cargo.lock`.
fn checksums() -> Result<BTreeMap<Id, String>> {
    let text = fs::read_to_string(paths::root().join("Cargo.lock")).context("reading Cargo.lock")?;
    let field = |package: &str, name: &str| {
        let line = package.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = \""));
        line.and_then(|line| line.strip_suffix('"')).map(str::to_owned)
    };
    let read =
        |package: &str| Some(((field(package, "name")?, field(package, "version")?), field(package, "checksum")?));
    Ok(text.split("[[package]]").filter_map(read).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_read_as_a_graph() {
        let text = "0roster v0.1.0 (/here)\n1a v1.0.0\n2b v2.0.0\n1c v3.0.0\n2a v1.0.0 (*)\n\n0roster v0.1.0 (/here)\n1d v1.0.0\n";
        let shown = parse_tree(text).unwrap().into_iter().map(|((name, version), uses)| {
            let uses: Vec<_> = uses.into_iter().map(|(name, _)| name).collect();
            format!("{name} {version}: {}", uses.join(","))
        });
        let want = ["a 1.0.0: b", "b 2.0.0: ", "c 3.0.0: a", "d 1.0.0: ", "roster 0.1.0: a,c,d"];
        assert_eq!(shown.collect::<Vec<_>>(), want);
        for wrong in ["roster v0.1.0", "1a v1.0.0", "0a", "0a 1.0.0"] {
            assert!(parse_tree(wrong).is_err(), "{wrong}");
        }
    }
}
