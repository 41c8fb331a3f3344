//! The command line: reads the arguments, calls the engine, prints the answer.
//!
//! One file or folder for each subcommand. The files below are shared:
//! input (`input_*`, `directory_input`, `manifest_texts`, `duplicate_places`, `cluster_args`, `service_choice`, `render`), output
//! (`output`, `table`, `column_layout`, `style`, `printable`, `exact_json`, `findings_report`), messages, help (`help_end`, `reference`).

use std::{ffi::OsString, path::Path, process::ExitCode};

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use roster_engine::state::Controller;

mod certs;
mod cluster_args;
mod column_layout;
mod compat;
mod completions;
mod controller;
mod convert;
mod defaults_args;
mod directory_input;
mod drift;
mod duplicate_places;
mod edge;
mod emergency_switch;
mod exact_json;
mod explain;
mod findings_report;
mod help_end;
mod input_objects;
mod input_paths;
mod input_texts;
mod known_input;
mod line_diff;
mod man;
mod manifest_files;
mod mcp;
mod messages;
mod migrate;
mod outcome;
mod output;
mod plan;
mod printable;
mod progress_line;
mod reference;
mod render;
mod review;
mod scheme_arg;
pub mod serve;
mod server_args;
mod service_choice;
mod style;
mod table;
mod test;
mod trace_args;
mod version;
mod view;

use crate::{
    deploy::{ServerPermissions, ShadowPermissions},
    runtime::build_info,
    servers,
};
use help_end::help_end;
use outcome::Outcome;
use output::Color;

/// Which pods serve a Service, for whom, and why.
///
/// Roster decides as Kubernetes' own controllers do, without a cluster, and gives a reason for every decision.
#[derive(Debug, Parser)]
#[command(name = "roster", version = build_info::long_version(), propagate_version = false, max_term_width = 100)]
#[command(
    after_help = help_end!(
"Exit codes: 0 nothing to do, 1 findings or changes, 2 usage error or unreadable input. The help of each command has the details.",
"roster explain -f cluster.yaml web        # which pods serve it",
"roster lint deploy/                       # mistakes in manifests",
"roster plan --context prod -A             # what the controllers would write",
)
)]
struct Cli {
    /// When to use colours. The variable `NO_COLOR` is respected.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    color: Color,
    #[command(subcommand)]
    command: Command,
}

/// The subcommands, in the order of the help.
#[derive(Debug, Subcommand)]
enum Command {
    Plan(plan::PlanArgs),
    Explain(explain::ExplainArgs),
    View(Box<view::ViewArgs>),
    Review(review::ReviewArgs),
    #[command(visible_alias = "validate")]
    Lint(review::LintArgs),
    Test(test::TestArgs),
    Convert(convert::ConvertArgs),
    Migrate(migrate::MigrateArgs),
    Compat(compat::CompatArgs),
    Serve(Box<serve::Serve>),
    Controller(Box<controller::ControllerArgs>),
    Drift(drift::DriftArgs),
    Edge(Box<edge::EdgeArgs>),
    Mcp(mcp::McpArgs),
    Certs(certs::Certs),
    Disable(emergency_switch::DisableArgs),
    Enable(emergency_switch::EnableArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
    Version(version::VersionArgs),
}

/// The reference of the command line in Markdown: the text of `docs/reference/cli.md`.
pub fn cli_reference() -> String {
    reference::markdown(definition(false))
}

/// Runs the program with the arguments of the process.
pub fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let plugin = is_plugin(arguments.first());
    let cli = match parse(arguments, plugin) {
        Ok(cli) => cli,
        // Help goes to standard output with exit code 0, usage error to standard error with 2.
        Err(error) => error.exit(),
    };
    cli.color.apply();
    match run(&cli.command, plugin) {
        Ok(outcome) => outcome.into(),
        Err(error) if messages::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            messages::error(&error);
            Outcome::BadInput.into()
        }
    }
}

fn run(command: &Command, plugin: bool) -> anyhow::Result<Outcome> {
    match command {
        Command::Plan(args) => args.run(plugin),
        Command::Explain(args) => args.run(plugin),
        Command::View(args) => args.run(plugin),
        Command::Review(args) => args.run(),
        Command::Lint(args) => args.run(),
        Command::Test(args) => args.run(),
        Command::Convert(args) => args.run(),
        Command::Migrate(args) => args.run(plugin),
        Command::Compat(args) => args.run(),
        Command::Serve(args) => args.run(),
        Command::Controller(args) => args.run(),
        Command::Drift(args) => args.run(),
        Command::Edge(args) => args.run(),
        Command::Mcp(args) => args.run(),
        Command::Certs(args) => args.run(),
        Command::Disable(args) => args.run(),
        Command::Enable(args) => args.run(),
        Command::Completions(args) => args.run(definition(false)),
        Command::Man(args) => args.run(definition(false)),
        Command::Version(args) => args.run(),
    }
}

/// The definition of the arguments, under the name by which the program was called.
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

/// The permissions of the webhook, of the controller, and of the node proxy with SuperEdge's scheme.
pub fn server_permissions() -> ServerPermissions {
    ServerPermissions {
        webhook: servers::webhook::permissions(),
        webhook_that_issues: servers::webhook::permissions_to_issue(),
        controller: servers::controller::permissions(&Controller::ALL),
        shadow: ShadowPermissions {
            watching: servers::controller::permissions_in_shadow(&Controller::ALL),
            events: servers::controller::permissions_in_shadow_for_events(),
            healing: servers::controller::permissions_to_write(&Controller::ALL),
        },
        edge: servers::edge::permissions(servers::edge::EdgeScheme::SuperEdge),
        edge_of_openyurt: servers::edge::permissions(servers::edge::EdgeScheme::OpenYurt),
        edge_with_client_certificates: servers::edge::permissions_with_client_certificates(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    #[test]
    fn the_definition_is_valid() {
        definition(false).debug_assert();
        definition(true).debug_assert();
    }

    /// A heading of the help is set for a flattened group and all arguments after it.
    #[test]
    fn headings_are_those_of_their_arguments() {
        let mut headings = BTreeMap::<String, BTreeSet<String>>::new();
        for command in definition(false).get_subcommands() {
            for argument in command.get_arguments() {
                let heading = argument.get_help_heading().unwrap_or_default().to_owned();
                headings.entry(heading).or_default().insert(argument.get_id().to_string());
            }
        }
        let of_cluster = ["context", "kubeconfig", "request_timeout"].map(str::to_owned);
        assert_eq!(headings.get("Live cluster"), Some(&of_cluster.into()));
    }

    #[test]
    fn kubectl_calls_the_program_by_another_name() {
        for (name, want) in [("/usr/bin/kubectl-roster", true), ("kubectl-roster.exe", true), ("roster", false)] {
            assert_eq!(is_plugin(Some(&name.into())), want, "{name}");
        }
    }
}
