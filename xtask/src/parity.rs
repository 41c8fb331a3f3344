//! `cargo xtask parity`: compares Roster with the real controllers on random states.

use anyhow::{Context, Result, ensure};

use crate::command::cargo;
use crate::{oracle, paths};

/// What to compare.
#[derive(clap::Args)]
pub(crate) struct ParityArgs {
    /// Random states to compare
    #[arg(long, default_value_t = 20_000)]
    pub cases: u64,
    /// Seed of the random states
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Number of the first state; with --cases 1, repeats one state
    #[arg(long, default_value_t = 0)]
    pub first: u64,
    /// Kubernetes releases to compare with, each state with each of them; or "all"
    #[arg(long, value_delimiter = ',', default_value = oracle::NEWEST)]
    pub kubernetes: Vec<String>,
    /// Number of runs of the reference before a difference counts
    #[arg(long, default_value_t = 6)]
    pub runs: usize,
    /// Number of further runs that look for a rare random choice of the reference; such states are counted separately
    #[arg(long, default_value_t = 400)]
    pub patience: usize,
    /// Differences to print in full
    #[arg(long, default_value_t = 3)]
    pub show: usize,
    /// Compare the reference with itself: how often does its answer depend on chance?
    #[arg(long)]
    pub against_itself: bool,
}

/// Builds the programs with a Cargo profile, compares, and prints the result. A difference is written as a case under
/// `tests/parity/cases/found`, ready to commit.
pub(crate) fn run(args: &ParityArgs, profile: &str) -> Result<()> {
    let all = oracle::minors();
    let minors = if args.kubernetes.iter().any(|k| k == "all") { &all } else { &args.kubernetes };
    ensure!(!minors.is_empty(), "no release to compare with");
    let oracles = minors.iter().map(|m| Ok((m, oracle::build(m)?))).collect::<Result<Vec<_>>>()?;
    let mut command = cargo();
    command.args(["run", "--quiet", "--profile", profile]);
    command.args("--package xtask --features live --bin parity_live --".split(' '));
    command.current_dir(paths::root());
    for (minor, program) in oracles {
        command.arg("--oracle").arg(format!("{minor}={}", program.to_str().context("the path is not UTF-8")?));
    }
    let numbers = [
        ("--cases", args.cases),
        ("--first", args.first),
        ("--seed", args.seed),
        ("--runs", args.runs as u64),
        ("--patience", args.patience as u64),
        ("--show", args.show as u64),
    ];
    for (name, number) in numbers {
        command.arg(name).arg(number.to_string());
    }
    if args.against_itself {
        command.arg("--against-itself");
    } else {
        command.arg("--found").arg(paths::root().join("tests/parity/cases/found"));
    }
    let status = command.status().context("starting the comparison")?;
    ensure!(status.success(), "Roster and the real controllers differ");
    Ok(())
}
