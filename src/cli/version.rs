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
use crate::runtime::build_info;

/// Print the version, and the Kubernetes releases that Roster knows.
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
    /// Of a release only, as is the date.
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    date: Option<String>,
    platform: String,
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
        let (oldest, newest) = (Minor::OLDEST, Minor::NEWEST);
        if format.is_table() {
            writeln!(out, "roster {}\nKubernetes {oldest} to {newest}", build_info::long_version())?;
        } else {
            let version = ProgramVersion {
                version: build_info::VERSION,
                commit: build_info::COMMIT,
                date: build_info::date(),
                platform: build_info::platform(),
                kubernetes: KubernetesVersions { oldest, newest },
            };
            out.document(format, &version)?;
        }
        out.flush()?;
        Ok(Outcome::Success)
    }
}
