//! `roster migrate`: the way out of what Kubernetes no longer has.

mod patches;
mod topology;

use clap::{Args, Subcommand};

use super::outcome::Outcome;

/// Show how to replace what Kubernetes no longer has.
#[derive(Debug, Args)]
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
