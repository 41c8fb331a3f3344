//! `cargo xtask parity`: compares Roster with the real controllers on random states.

use std::path::PathBuf;

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

/// The reference programs of one release.
struct Reference {
    minor: String,
    ordered: PathBuf,
    /// The controllers as they are published, for --dice.
    plain: Option<PathBuf>,
}

impl Reference {
    fn build(minor: &str, dice: bool) -> Result<Self> {
        let ordered = oracle::build(minor, Build::Ordered)?;
        let plain = dice.then(|| oracle::build(minor, Build::Plain)).transpose()?;
        Ok(Self { minor: minor.to_owned(), ordered, plain })
    }
}

/// Builds the programs with a Cargo profile, compares, and prints the result. A difference is written as a case under
/// `tests/parity/cases/found`, ready to commit. A release whose reference cannot be built does not stop the comparison with
/// the others, but it is an error.
pub(crate) fn run(args: &ParityArgs, profile: &str) -> Result<()> {
    let all = oracle::minors();
    let minors = if args.kubernetes.iter().any(|k| k == "all") { &all } else { &args.kubernetes };
    let (mut references, mut not_built) = (Vec::new(), Vec::new());
    for minor in minors {
        match Reference::build(minor, args.dice) {
            Ok(reference) => references.push(reference),
            Err(error) => {
                println!("not compared with Kubernetes {minor}, because its controllers cannot be built: {error:#}");
                not_built.push(minor.as_str());
            }
        }
    }
    ensure!(!references.is_empty(), "no release to compare with");
    compare(args, profile, &references)?;
    ensure!(not_built.is_empty(), "not compared with {}: the controllers cannot be built", not_built.join(", "));
    Ok(())
}

fn compare(args: &ParityArgs, profile: &str, references: &[Reference]) -> Result<()> {
    let minors: Vec<&str> = references.iter().map(|r| r.minor.as_str()).collect();
    println!("comparing with the controllers of Kubernetes {}", minors.join(", "));
    let mut command = cargo();
    command.args(["run", "--quiet", "--profile", profile]);
    command.args("--package xtask --features live --bin parity_live --".split(' '));
    command.current_dir(paths::root());
    for Reference { minor, ordered, plain } in references {
        command.arg("--oracle").arg(format!("{minor}={}", ordered.to_str().context("the path is not UTF-8")?));
        if let Some(plain) = plain {
            command.arg("--plain").arg(plain);
        }
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
