//! `cargo xtask`: runs every check and writes every generated file.
//!
//! Continuous integration runs only `cargo xtask ci` (from `.ci/run`), so a check that passes here passes there.
#![expect(
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a build tool reads and writes files, prints what it does, and rounds what it measured"
)]

mod bench;
mod book;
mod cluster;
mod command;
mod dead_links;
mod free_port;
mod fuzz;
mod generate;
mod growth;
mod lint;
mod oracle;
mod parity;
mod paths;
mod phrases;
mod protobuf;
mod release;
mod server;
mod soak;
mod steps;
mod test;
mod tidy;
mod wasm;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use steps::{Outcome, Steps};

#[derive(Parser)]
#[command(bin_name = "cargo xtask", about = "Run the checks of Roster, and write its generated files")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run what continuous integration runs: lint, book, test, two seconds of each attack, growth, fuzz. With the variable CI set, a missing tool is an error
    Ci,
    /// Format, tidiness, purity of the core, one crypto provider, clippy, rustdoc, licences
    Lint,
    /// Run all tests: unit, integration, parity; and, if the tools are installed, cluster, browser, schemathesis and generated clients
    Test(test::Arguments),
    /// Orphan files, imports against the layers of src/, dead paths in documents, keys, machine paths, files that are too long
    Tidy,
    /// Check licences, banned crates, sources and known vulnerabilities of all dependencies (cargo-deny)
    Deny,
    /// Write openapi/, and the schemas of Kubernetes that manifests are checked against
    Openapi,
    /// Write the generated documents anew (reasons, rules, releases, command line)
    Docs,
    /// Build the documentation as a book with search, and check its links (mdbook)
    Book,
    /// Write manifests/ and charts/
    Manifests,
    /// Write the table by which the node proxy writes protobuf, and what the tests of it read, from the published modules of Kubernetes (needs Go)
    Protobuf,
    /// Write the page with the engine in WebAssembly: a folder of static files for any web server
    Playground(wasm::PlaygroundArguments),
    /// Run the fuzz targets (libFuzzer, with the pinned toolchain)
    Fuzz(fuzz::Arguments),
    /// Count the instructions of every way in for inputs of growing sizes, and fail if they grow faster than the input (valgrind)
    Growth(growth::Arguments),
    /// Compare with the real Go controllers on random states
    Parity(parity::ParityArgs),
    /// A real control plane on loopback: etcd, kube-apiserver, kube-controller-manager
    #[command(subcommand)]
    Cluster(cluster::Task),
    /// Run the node proxy or the controller for a long time while everything around it fails
    Soak(soak::Arguments),
    /// Write a release: programs, packages, image, checksums
    Release(release::Arguments),
    /// Measure the engine and the webhook against their counterparts in Go, a whole cluster from a file, and a directory
    Bench(bench::BenchArgs),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(arguments.task) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Runs a task. Returns whether all its steps passed; an error means that the task could not start.
fn run(task: Task) -> Result<bool> {
    std::env::set_current_dir(paths::root())?;
    let mut steps = Steps::new();
    match task {
        Task::Ci => {
            lint::all(&mut steps);
            steps.run("book", book::build);
            test::all(&mut steps, &test::Arguments::default());
            test::short_attacks(&mut steps);
            steps.run("growth", || growth::run(&growth::Arguments::default()));
            fuzz::all(&mut steps, &fuzz::Arguments::default())?;
        }
        Task::Lint => lint::all(&mut steps),
        Task::Test(arguments) => test::all(&mut steps, &arguments),
        Task::Tidy => steps.run("tidy", tidy::check),
        Task::Deny => {
            steps.run("deny", lint::deny);
            steps.run("advisories", lint::advisories);
        }
        Task::Openapi => steps.run("openapi", || generate::write("openapi")),
        Task::Docs => steps.run("docs", || generate::write("docs")),
        Task::Book => steps.run("book", book::build),
        Task::Manifests => steps.run("manifests", || generate::write("manifests")),
        Task::Protobuf => steps.run("protobuf", protobuf::write),
        Task::Parity(arguments) => steps.run("parity", || parity::run(&arguments, "release").map(|()| Outcome::Passed)),
        Task::Bench(arguments) => steps.run("bench", || bench::run(&arguments).map(|()| Outcome::Passed)),
        Task::Soak(arguments) => steps.run("soak", || soak::run_soak(&arguments)),
        Task::Cluster(task) => steps.run("cluster", || cluster::run(&task).map(|()| Outcome::Passed)),
        Task::Growth(arguments) => steps.run("growth", || growth::run(&arguments)),
        Task::Release(arguments) => release::all(&mut steps, &arguments)?,
        Task::Playground(arguments) => steps.run("playground", || wasm::write(&arguments)),
        Task::Fuzz(arguments) => fuzz::all(&mut steps, &arguments)?,
    }
    Ok(steps.finish())
}
