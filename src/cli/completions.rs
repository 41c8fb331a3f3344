//! `roster completions` and `roster man`: made from the arguments' definition.

use std::io::Write;

use clap::Args;
use clap_complete::Shell;

use super::{Outcome, Output};
use crate::cli::output::Format;

/// Print the completion script of a shell.
///
/// For bash: `roster completions bash > /etc/bash_completion.d/roster`.
#[derive(Debug, Args)]
pub(super) struct Completions {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    pub(super) fn run(&self, definition: &mut clap::Command) -> anyhow::Result<Outcome> {
        // The generator panics where it cannot write: it gets memory, and a closed pipe is ours to handle.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, definition, "roster", &mut script);
        print(&script)
    }
}

/// Print the manual page, for `man -l -`.
#[derive(Debug, Args)]
pub(super) struct Man {}

impl Man {
    #[expect(clippy::unused_self, reason = "subcommands look alike")]
    pub(super) fn run(&self, definition: &clap::Command) -> anyhow::Result<Outcome> {
        let mut page = Vec::new();
        clap_mangen::Man::new(definition.clone()).render(&mut page)?;
        print(&page)
    }
}

fn print(bytes: &[u8]) -> anyhow::Result<Outcome> {
    let mut out = Output::stdout(Format::Json);
    out.write_all(bytes)?;
    out.flush()?;
    Ok(Outcome::Fine)
}
