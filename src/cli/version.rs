//! `roster version`.

use std::io::Write;

use clap::Args;
use roster_engine::profile::Minor;
use serde::Serialize;

use super::{
    help_end::help_end,
    outcome::Outcome,
    output::{Output, command_formats},
};

/// Print the version, and the Kubernetes releases that Roster can act like.
#[derive(Debug, Args)]
#[command(after_help = help_end!("Exit codes: 0 success, 2 usage error.", "roster version", "roster version -o json"))]
pub(super) struct VersionArgs {
    /// Output format.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: VersionFormat,
}

command_formats! {
    /// Output format of a version.
    VersionFormat {
        /// For people.
        Text => Table,
        /// One JSON document.
        Json => Json,
        /// One YAML document.
        Yaml => Yaml,
    }
}

/// The version of the program.
#[derive(Serialize)]
struct ProgramVersion {
    version: &'static str,
    kubernetes: KubernetesVersions,
}

#[derive(Serialize)]
struct KubernetesVersions {
    oldest: Minor,
    newest: Minor,
}

impl VersionArgs {
    pub(super) fn run(&self) -> anyhow::Result<Outcome> {
        let format = self.output.document();
        let mut out = Output::stdout(format);
        let version = env!("CARGO_PKG_VERSION");
        let (oldest, newest) = (Minor::OLDEST, Minor::NEWEST);
        if format.is_table() {
            writeln!(out, "roster {version}\nKubernetes {oldest} to {newest}")?;
        } else {
            out.document(format, &ProgramVersion { version, kubernetes: KubernetesVersions { oldest, newest } })?;
        }
        out.flush()?;
        Ok(Outcome::Success)
    }
}
