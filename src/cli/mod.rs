//! The command line: reads the arguments, calls the engine, prints.
//!
//! One subcommand is one file. Which of them a build has is decided here, by features, and nowhere else.

use std::{ffi::OsString, path::Path, process::ExitCode};

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

mod certs;
mod compat;
mod completions;
mod convert;
mod explain;
mod input;
mod live;
mod output;
mod plan;
mod progress;
mod raw;
mod reference;
mod report;
mod review;
mod serve;
mod switch;
mod table;
mod texts;

pub use reference::cli_reference;

use output::{Color, Output};

/// Which pods serve a Service, for whom, and why.
///
/// Roster decides as Kubernetes' own controllers do, offline, and gives a reason for every decision.
#[derive(Debug, Parser)]
#[command(name = "roster", version, propagate_version = false, max_term_width = 100)]
#[command(after_help = "Exit codes: 0 all is well, 1 there are findings, 2 wrong use or unreadable input.")]
struct Cli {
    /// When to use colours; `NO_COLOR` is respected.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    color: Color,
    #[command(subcommand)]
    command: Command,
}

/// What to do. The order is that of the help.
#[derive(Debug, Subcommand)]
enum Command {
    Plan(plan::PlanArgs),
    Explain(explain::ExplainArgs),
    Review(review::ReviewArgs),
    Validate(review::ValidateArgs),
    Convert(convert::ConvertArgs),
    Compat(compat::Compat),
    Serve(Box<serve::Serve>),
    Certs(certs::Certs),
    Disable(switch::Disable),
    Enable(switch::Enable),
    Completions(completions::Completions),
    #[command(hide = true)]
    Man(completions::Man),
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// Nothing to report.
    Fine,
    /// There is something to change or to look at.
    Findings,
    /// Part of the input could not be read; the rest was answered.
    BadInput,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(match outcome {
            Outcome::Fine => 0,
            Outcome::Findings => 1,
            Outcome::BadInput => 2,
        })
    }
}

/// Runs the program with the arguments of the process.
pub fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let plugin = is_plugin(arguments.first());
    let cli = match parse(arguments, plugin) {
        Ok(cli) => cli,
        // Help goes to standard output with 0, wrong use to standard error with 2.
        Err(error) => error.exit(),
    };
    cli.color.apply();
    match run(&cli.command, plugin) {
        Ok(outcome) => outcome.into(),
        Err(error) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::error(&error);
            Outcome::BadInput.into()
        }
    }
}

fn run(command: &Command, plugin: bool) -> anyhow::Result<Outcome> {
    match command {
        Command::Plan(args) => args.run(plugin),
        Command::Explain(args) => args.run(plugin),
        Command::Review(args) => args.run(),
        Command::Validate(args) => args.run(),
        Command::Convert(args) => args.run(),
        Command::Compat(args) => args.run(),
        Command::Serve(args) => args.run(),
        Command::Certs(args) => args.run(),
        Command::Disable(args) => args.run(),
        Command::Enable(args) => args.run(),
        Command::Completions(args) => args.run(&mut definition(false)),
        Command::Man(args) => args.run(&definition(false)),
    }
}

/// The arguments' definition, under the name the program was called by.
fn definition(plugin: bool) -> clap::Command {
    let command = Cli::command();
    if plugin { command.name("kubectl-roster").bin_name("kubectl roster") } else { command }
}

fn parse(arguments: Vec<OsString>, plugin: bool) -> Result<Cli, clap::Error> {
    let mut command = definition(plugin);
    let matches = command.try_get_matches_from_mut(arguments)?;
    Cli::from_arg_matches(&matches).map_err(|e| e.format(&mut command))
}

/// Whether the program was started by `kubectl`, which runs `kubectl-roster` for `kubectl roster`.
fn is_plugin(name: Option<&OsString>) -> bool {
    name.and_then(|n| Path::new(n).file_stem())
        .is_some_and(|stem| stem == "kubectl-roster" || stem == "kubectl_complete-roster")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        definition(false).debug_assert();
        definition(true).debug_assert();
    }

    #[test]
    fn kubectl_calls_the_program_by_another_name() {
        for (name, want) in [("/usr/bin/kubectl-roster", true), ("kubectl-roster.exe", true), ("roster", false)] {
            assert_eq!(is_plugin(Some(&name.into())), want, "{name}");
        }
    }
}
