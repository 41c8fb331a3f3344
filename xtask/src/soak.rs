//! Runs a program for a long time while everything around it fails.

use anyhow::{Result, bail};

use crate::cluster::assets_folder;
use crate::command::{cargo, has, release_program, run_with};
use crate::steps::Outcome;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// What runs
    #[arg(value_enum)]
    program: Program,
    /// How long it runs, in minutes
    #[arg(long, default_value_t = 20)]
    minutes: u64,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Program {
    /// `roster edge`: the API server restarts, the proxy is killed, and connections are cut
    Edge,
    /// `roster controller`: requests are refused, watches are cut and expire, and the API server restarts
    Controller,
}

impl Program {
    /// The part of the cluster tests that runs it.
    fn tests(self) -> &'static str {
        match self {
            Self::Edge => "edge::soak::",
            Self::Controller => "controller::soak::",
        }
    }
}

/// Builds the release build, unless `ROSTER_PROGRAM` names another one, and runs the long form of the cluster test.
pub(crate) fn run_soak(arguments: &Arguments) -> Result<Outcome> {
    if !has("kubectl") {
        bail!("kubectl is not installed");
    }
    let program = release_program()?;
    let mut command = cargo();
    let tests = arguments.program.tests();
    command.args(["test", "--workspace", "--test", "cluster", tests, "--", "--ignored", "--nocapture"]);
    command.env("KUBEBUILDER_ASSETS", assets_folder()?).env("ROSTER_PROGRAM", program);
    command.env("ROSTER_SOAK_SECONDS", (60 * arguments.minutes).to_string());
    run_with(&mut command)?;
    Ok(Outcome::Passed)
}
