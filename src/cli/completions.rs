//! `roster completions`: scripts for shells, generated from the definition of the arguments.

use clap::{Args, Command, builder::PossibleValuesParser};
use clap_complete::Shell;

use super::{
    explain::codes,
    help_end::help_end,
    outcome::Outcome,
    output::{Output, OutputFormat},
};

/// Print the completion script for a shell.
///
/// For bash, zsh and fish, it also completes the codes for `roster explain`.
#[derive(Debug, Args)]
#[command(after_help = help_end!(
    "Exit codes: 0 success, 2 usage error.",
    "roster completions bash > /etc/bash_completion.d/roster",
    "roster completions zsh > ~/.zfunc/_roster",
    "roster completions fish > ~/.config/fish/completions/roster.fish",
))]
pub(super) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

impl CompletionsArgs {
    pub(super) fn run(&self, definition: Command) -> anyhow::Result<Outcome> {
        Output::stdout(OutputFormat::Json).bytes(script(self.shell, definition)?.as_bytes())?;
        Ok(Outcome::Success)
    }
}

/// The script of a shell. After `roster explain`, it completes codes besides files.
fn script(shell: Shell, definition: Command) -> anyhow::Result<String> {
    let mut definition = definition.mut_subcommand("explain", |explain| {
        explain.mut_arg("targets", |targets| targets.value_parser(PossibleValuesParser::new(codes())))
    });
    // The generator panics on a write error, such as a closed pipe, so it writes into memory.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut definition, "roster", &mut script);
    let script = String::from_utf8(script)?;
    let codes = codes().join(" ");
    Ok(match shell {
        // Where values are known, zsh completes no files, and bash does if no value fits.
        Shell::Zsh => script.replace(&format!(":({codes})"), &format!(":{{compadd -- {codes}; _files}}")),
        // Only completions of flags are generated.
        Shell::Fish => {
            script + &format!("complete -c roster -n \"__fish_roster_using_subcommand explain\" -a \"{codes}\"\n")
        }
        _ => script,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::definition;

    #[test]
    fn codes_are_completed() {
        let codes = codes().join(" ");
        for (shell, before, after) in [
            (Shell::Bash, "--help ", "\"\n"),
            (Shell::Zsh, ":{compadd -- ", "; _files}' \\\n"),
            (Shell::Fish, "using_subcommand explain\" -a \"", "\"\n"),
        ] {
            let script = script(shell, definition(false)).unwrap();
            let want = format!("{before}{codes}{after}");
            assert_eq!(script.matches(&want).count(), 1, "{shell}");
        }
    }
}
