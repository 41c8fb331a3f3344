//! `cargo xtask parity`: compares Roster with the real controllers on random states.

use anyhow::{Context, Result, ensure};

use crate::command::cargo;
use crate::oracle::{self, Build};
use crate::paths;

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
    /// Differences to print in full
    #[arg(long, default_value_t = 3)]
    pub show: usize,
    /// Compare the reference with itself: two runs must give the same bytes
    #[arg(long)]
    pub against_itself: bool,
    /// Compare the reference with the controllers as they are published, whose answers depend on Go's random order of
    /// maps: one of --runs runs must give its answer
    #[arg(long, conflicts_with = "against_itself")]
    pub dice: bool,
    /// Runs of the published controllers for --dice
    #[arg(long, default_value_t = 400)]
    pub runs: usize,
}

/// Builds the programs with a Cargo profile, compares, and prints the result. A difference is written as a case under
/// `tests/parity/cases/found`, ready to commit.
pub(crate) fn run(args: &ParityArgs, profile: &str) -> Result<()> {
    let all = oracle::minors();
    let minors = if args.kubernetes.iter().any(|k| k == "all") { &all } else { &args.kubernetes };
    ensure!(!minors.is_empty(), "no release to compare with");
    let programs = |how| minors.iter().map(|m| oracle::build(m, how)).collect::<Result<Vec<_>>>();
    let ordered = programs(Build::Ordered)?;
    let plain = if args.dice { programs(Build::Plain)? } else { Vec::new() };
    let mut command = cargo();
    command.args(["run", "--quiet", "--profile", profile]);
    command.args("--package xtask --features live --bin parity_live --".split(' '));
    command.current_dir(paths::root());
    for (minor, program) in minors.iter().zip(ordered) {
        command.arg("--oracle").arg(format!("{minor}={}", program.to_str().context("the path is not UTF-8")?));
    }
    for program in plain {
        command.arg("--plain").arg(program);
    }
    let numbers = [
        ("--cases", args.cases),
        ("--first", args.first),
        ("--seed", args.seed),
        ("--runs", args.runs as u64),
        ("--show", args.show as u64),
    ];
    for (name, number) in numbers {
        command.arg(name).arg(number.to_string());
    }
    if args.against_itself {
        command.arg("--against-itself");
    } else if !args.dice {
        command.arg("--found").arg(paths::root().join("tests/parity/cases/found"));
    }
    let status = command.status().context("starting the comparison")?;
    ensure!(status.success(), "the answers differ");
    Ok(())
}
