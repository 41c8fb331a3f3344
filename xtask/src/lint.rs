//! Checks of the code that do not run it.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::command::{capture, capture_within, cargo, has, run, run_with};
use crate::steps::{Outcome, Steps};
use crate::{tidy, wasm};

/// The crates of the core.
const CORE: &[&str] = &[
    "roster-admission",
    "roster-calls",
    "roster-engine",
    "roster-lint",
    "roster-manifests",
    "roster-page",
    "roster-validation",
    "roster-wasm",
];

/// Crates that the core must not depend on: async, sockets, HTTP, clusters, TLS.
const IMPURE: &[&str] = &[
    "async-std",
    "axum",
    "futures",
    "h2",
    "http",
    "hyper",
    "hyper-util",
    "k8s-openapi",
    "kube",
    "kube-client",
    "mio",
    "native-tls",
    "openssl",
    "openssl-sys",
    "reqwest",
    "ring",
    "rustls",
    "smol",
    "socket2",
    "tokio",
    "tokio-rustls",
    "tower",
    "tower-http",
];

/// Crypto providers other than ring. With a second one in the graph, rustls panics at run time because it cannot choose.
const OTHER_CRYPTO: &[&str] = &["aws-lc-rs", "aws-lc-sys", "native-tls", "openssl", "openssl-sys"];

const NO_CARGO_DENY: &str = "cargo-deny is not installed: cargo install --locked cargo-deny";

/// The longest time in which the advisory database, some megabytes, must arrive.
const FETCH_LIMIT: Duration = Duration::from_mins(1);

/// All lints, the quick ones first.
pub(crate) fn all(steps: &mut Steps) {
    steps.run("fmt", || check("fmt --all --check"));
    steps.run("tidy", tidy::check);
    steps.run("core purity", core_is_pure);
    steps.run("one crypto provider", one_crypto_provider);
    steps.run("lock file of the fuzz targets", fuzz_lock);
    steps.run("clippy, everything", || check("clippy --workspace --all-targets --all-features -- -D warnings"));
    steps.run("clippy, the core for WebAssembly", wasm::check);
    steps.run("rustdoc", rustdoc);
    steps.run("deny", deny);
    steps.run("advisories", advisories);
    steps.run("unused dependencies", unused_dependencies);
}

fn check(line: &str) -> Result<Outcome> {
    run("cargo", line)?;
    Ok(Outcome::Passed)
}

fn rustdoc() -> Result<Outcome> {
    let line = "doc --workspace --all-features --no-deps --document-private-items";
    run_with(cargo().args(line.split(' ')).env("RUSTDOCFLAGS", "-D warnings"))?;
    Ok(Outcome::Passed)
}

/// The names of all crates that `cargo tree` shows for these arguments.
fn crates(arguments: &str) -> Result<BTreeSet<String>> {
    let tree = capture("cargo", &format!("tree --locked --prefix none --format {{p}} {arguments}"))?;
    Ok(tree.lines().filter_map(|l| l.split(' ').next()).filter(|n| !n.is_empty()).map(str::to_owned).collect())
}

fn core_is_pure() -> Result<Outcome> {
    for package in CORE {
        let found = crates(&format!("--package {package} --edges normal"))?;
        ensure!(found.contains(*package) && found.contains("serde"), "cargo tree shows no {package} at all");
        let impure: Vec<_> = IMPURE.iter().filter(|name| found.contains(**name)).collect();
        ensure!(
            impure.is_empty(),
            "{package} pulls in {impure:?}; find the dependant with: cargo tree --package {package} --edges normal -i NAME"
        );
        println!("    {package}: {} crates, none of them async, HTTP or TLS", found.len() - 1);
    }
    Ok(Outcome::Passed)
}

/// The fuzz targets are a workspace of their own: what Roster depends on changes their lock file as well.
fn fuzz_lock() -> Result<Outcome> {
    capture("cargo", "metadata --locked --format-version 1 --manifest-path fuzz/Cargo.toml")?;
    Ok(Outcome::Passed)
}

fn one_crypto_provider() -> Result<Outcome> {
    let found = crates("--workspace --all-features --edges normal,build,dev")?;
    let others: Vec<_> = OTHER_CRYPTO.iter().filter(|name| found.contains(**name)).collect();
    ensure!(others.is_empty(), "a second crypto provider: {others:?}; find the dependant with: cargo tree -i NAME");
    Ok(Outcome::Passed)
}

/// Bans, licences and sources.
pub(crate) fn deny() -> Result<Outcome> {
    if !has("cargo-deny") {
        return Outcome::missing(NO_CARGO_DENY);
    }
    run("cargo", "deny --workspace --all-features check --hide-inclusion-graph bans licenses sources")?;
    Ok(Outcome::Passed)
}

/// Known vulnerabilities of dependencies, and dependencies that nobody maintains. Without the database from the network the
/// step is skipped, in continuous integration as well: a failing network is not a fault of this code.
pub(crate) fn advisories() -> Result<Outcome> {
    if !has("cargo-deny") {
        return Outcome::missing(NO_CARGO_DENY);
    }
    if let Err(error) = capture_within(cargo().args(["deny", "fetch", "db"]), FETCH_LIMIT) {
        let why = error.to_string();
        let line = why.lines().rfind(|line| line.contains("fatal: ") || line.contains("ended")).unwrap_or(&why);
        return Ok(Outcome::Skipped(format!("the advisory database cannot be fetched: {}", line.trim())));
    }
    // The database is the one that was just fetched.
    run("cargo", "deny --offline --workspace --all-features check --hide-inclusion-graph advisories")?;
    Ok(Outcome::Passed)
}

/// Dependencies that no code uses.
fn unused_dependencies() -> Result<Outcome> {
    if !has("cargo-machete") {
        return Outcome::missing("cargo-machete is not installed: cargo install --locked cargo-machete");
    }
    run("cargo", "machete")?;
    Ok(Outcome::Passed)
}
