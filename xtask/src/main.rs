//! `cargo xtask`: the one door to every check and every generated file.
//!
//! Continuous integration calls nothing else (`.ci/run` → `cargo xtask ci`), so what passes here passes there.
#![expect(
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a build tool reads and writes files, tells what it does, and rounds what it measured"
)]

mod bench;
mod cluster;
mod command;
mod fuzz;
mod generate;
mod layers;
mod lint;
mod oracle;
mod parity;
mod paths;
mod phrases;
mod server;
mod steps;
mod test;
mod tidy;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use steps::{Outcome, Steps};

#[derive(Parser)]
#[command(bin_name = "cargo xtask", about = "The one door to every check and every generated file of Roster")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// What continuous integration runs: lint, then test; there, no test may be skipped for want of a browser
    Ci,
    /// Format, tidiness, layers, purity of the core, one crypto provider, clippy, rustdoc, licences
    Lint,
    /// All tests: unit, integration, doc, parity; and, where the tools are there, browser and schemathesis
    Test(test::Arguments),
    /// Orphan files, dead paths in documents, keys, machine paths, files that are too long
    Tidy,
    /// The layers of src/: what each room may import, and that there is no circle
    Layers(layers::Arguments),
    /// Licences, banned crates and sources of all dependencies (cargo-deny)
    Deny,
    /// Write openapi/v1.json anew
    Openapi,
    /// Write the generated documents anew (reasons, rules, releases, command line, table of rooms)
    Docs,
    /// Write manifests/ anew
    Manifests,
    /// Run every fuzz target for a while (cargo-fuzz)
    Fuzz(fuzz::Arguments),
    /// Compare with the real Go controllers on random states
    Parity(parity::ParityArgs),
    /// A real control plane on loopback: etcd, kube-apiserver, kube-controller-manager
    #[command(subcommand)]
    Cluster(cluster::Task),
    /// Time the engine and the webhook beside their counterparts in Go, and a whole cluster from a file
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

/// Whether all went well. An error means that the task could not even be tried.
fn run(task: Task) -> Result<bool> {
    std::env::set_current_dir(paths::root())?;
    let mut steps = Steps::new();
    match task {
        Task::Ci => {
            lint::all(&mut steps);
            test::all(&mut steps, &test::Arguments::default());
        }
        Task::Lint => lint::all(&mut steps),
        Task::Test(arguments) => test::all(&mut steps, &arguments),
        Task::Tidy => steps.run("tidy", tidy::check),
        Task::Layers(arguments) => steps.run("layers", || layers::run(&arguments)),
        Task::Deny => steps.run("deny", lint::deny),
        Task::Openapi => steps.run("openapi", || generate::write("openapi")),
        Task::Docs => steps.run("docs", || generate::write("docs")),
        Task::Manifests => steps.run("manifests", || generate::write("manifests")),
        Task::Parity(arguments) => steps.run("parity", || parity::run(&arguments, "release").map(|()| Outcome::Passed)),
        Task::Bench(arguments) => steps.run("bench", || bench::run(&arguments).map(|()| Outcome::Passed)),
        Task::Cluster(task) => steps.run("cluster", || cluster::run(&task).map(|()| Outcome::Passed)),
        Task::Fuzz(arguments) => fuzz::all(&mut steps, &arguments)?,
    }
    Ok(steps.finish())
}
