//! `roster man`: manual pages, generated from the definition of the arguments.

use anyhow::bail;
use clap::{Args, Command};
use roster_engine::model::spelling::{did_you_mean, nearest};

use super::{
    help_end::help_end,
    outcome::Outcome,
    output::{Output, OutputFormat},
};

/// Print the manual page of a command.
#[derive(Debug, Args)]
#[command(after_help = help_end!(
    "Exit codes: 0 success, 2 usage error.",
    "roster man | man -l -",
    "roster man migrate topology | man -l -",
    "roster man plan > /usr/local/share/man/man1/roster-plan.1",
))]
pub(super) struct ManArgs {
    /// The command, such as `plan` or `certs show` [default: roster itself]
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
}

impl ManArgs {
    pub(super) fn run(&self, definition: Command) -> anyhow::Result<Outcome> {
        let mut page = Vec::new();
        clap_mangen::Man::new(find(definition, &self.command)?).render(&mut page)?;
        Output::stdout(OutputFormat::Json).bytes(&page)?;
        Ok(Outcome::Success)
    }
}

/// The command of these names below another one, under its full name.
fn find(mut definition: Command, names: &[String]) -> anyhow::Result<Command> {
    definition.build();
    let mut command = &definition;
    for name in names {
        let Some(found) = command.find_subcommand(name) else {
            let known = command.get_subcommands().filter(|sub| !sub.is_hide_set()).map(Command::get_name);
            let meant = did_you_mean(nearest(name, known, |known| known).as_slice());
            bail!("{} has no command {name}{meant}", command.get_bin_name().unwrap_or("roster"));
        };
        command = found;
    }
    Ok(command.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::definition;

    #[test]
    fn each_command_has_a_page() {
        for (names, want) in [
            (&[][..], Ok(("roster", "roster"))),
            (&["plan"], Ok(("roster-plan", "roster plan"))),
            (&["migrate", "topology"], Ok(("roster-migrate-topology", "roster migrate topology"))),
            (&["validate"], Ok(("roster-lint", "roster lint"))),
            (&["paln"], Err("roster has no command paln; did you mean plan?")),
            (&["certs", "shwo"], Err("roster certs has no command shwo; did you mean show?")),
            (&["plan", "x"], Err("roster plan has no command x")),
        ] {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            match (find(definition(false), &names), want) {
                (Ok(command), Ok((title, call))) => {
                    let mut page = Vec::new();
                    clap_mangen::Man::new(command).render(&mut page).unwrap();
                    let page =
                        String::from_utf8(page).unwrap().replace("\\-", "-").replace("\\fB", "").replace("\\fR", "");
                    assert!(page.contains(&format!(".TH {title} 1")), "{page}");
                    assert!(page.contains(&format!(".SH SYNOPSIS\n{call} ")), "{page}");
                    assert!(page.contains("Exit codes: 0") && page.contains("Examples:"), "{page}");
                }
                (Err(error), Err(want)) => assert_eq!(error.to_string(), want),
                (got, want) => panic!("{names:?}: {got:?}, not {want:?}"),
            }
        }
    }
}
