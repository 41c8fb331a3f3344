//! `roster migrate`: the way out of what Kubernetes no longer has.

mod patches;
mod topology;

use clap::{Args, Subcommand};

use super::{help_end::help_end, outcome::Outcome};

/// Show how to leave settings that Kubernetes has removed.
#[derive(Debug, Args)]
#[command(after_help = help_end!(
    "Exit codes: 0 nothing to migrate, 1 there is something to migrate, 2 usage error or unreadable input.",
    "roster migrate topology -f cluster.yaml",
    "roster migrate topology --context edge -A -o kubectl > migrate.sh",
))]
pub(super) struct MigrateArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Topology(Box<topology::TopologyArgs>),
}

impl MigrateArgs {
    pub(super) fn run(&self, plugin: bool) -> anyhow::Result<Outcome> {
        match &self.what {
            What::Topology(args) => args.run(plugin),
        }
    }
}
