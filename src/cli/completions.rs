//! `roster completions` and `roster man`, generated from the definition of the arguments.

use std::io::Write;

use clap::Args;
use clap_complete::Shell;

use super::{
    outcome::Outcome,
    output::{Output, OutputFormat},
};

/// Print the completion script for a shell.
///
/// For bash: `roster completions bash > /etc/bash_completion.d/roster`.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 success, 2 usage error.")]
pub(super) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

impl CompletionsArgs {
    pub(super) fn run(&self, definition: &mut clap::Command) -> anyhow::Result<Outcome> {
        // The generator panics on a write error, such as a closed pipe, so it writes into memory.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, definition, "roster", &mut script);
        print(&script)
    }
}

/// Print the manual page, for `man -l -`.
#[derive(Debug, Args)]
pub(super) struct ManArgs {}

impl ManArgs {
    #[expect(clippy::unused_self, reason = "subcommands look alike")]
    pub(super) fn run(&self, definition: &clap::Command) -> anyhow::Result<Outcome> {
        let mut page = Vec::new();
        clap_mangen::Man::new(definition.clone()).render(&mut page)?;
        print(&page)
    }
}

fn print(bytes: &[u8]) -> anyhow::Result<Outcome> {
    let mut out = Output::stdout(OutputFormat::Json);
    out.write_all(bytes)?;
    out.flush()?;
    Ok(Outcome::Success)
}
