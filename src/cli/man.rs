//! `roster man`: manual pages, generated from the definition of the arguments.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, Command};
use roster_engine::model::spelling::{did_you_mean, nearest};

use super::{
    help_end::{help_end, parts},
    outcome::Outcome,
    output::{Output, OutputFormat},
};
use crate::runtime::build_info;

/// The width of a line in the source of a page. `mandoc -T lint` reports longer ones.
const WIDTH: usize = 80;

/// Print the manual page of a command, or write the pages of all commands.
#[derive(Debug, Args)]
#[command(after_help = help_end!(
    "Exit codes: 0 success, 2 usage error.",
    "roster man | man -l -",
    "roster man migrate topology | man -l -",
    "roster man --dir /usr/local/share/man/man1",
))]
pub(super) struct ManArgs {
    /// The command, such as `plan` or `certs show` [default: roster itself]
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
    /// Write a page for each command into this folder, which must exist.
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    dir: Option<PathBuf>,
}

impl ManArgs {
    pub(super) fn run(&self, definition: Command) -> anyhow::Result<Outcome> {
        let definition = built(definition);
        match &self.dir {
            Some(folder) => write_all(&definition, folder)?,
            None => Output::stdout(OutputFormat::Json).bytes(page(find(&definition, &self.command)?)?.as_bytes())?,
        }
        Ok(Outcome::Success)
    }
}

/// The definition with the full names of its commands, without `help`, which has no page.
fn built(definition: Command) -> Command {
    let mut definition = definition.disable_help_subcommand(true);
    definition.build();
    definition
}

/// Writes the page of a command and of those below it.
#[expect(clippy::disallowed_methods, reason = "the command line writes files")]
fn write_all(command: &Command, folder: &Path) -> anyhow::Result<()> {
    let path = folder.join(format!("{}.1", full_name(command)));
    std::fs::write(&path, page(command)?).with_context(|| format!("cannot write {}", path.display()))?;
    for below in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        write_all(below, folder)?;
    }
    Ok(())
}

/// The command of these names below another one.
fn find<'a>(definition: &'a Command, names: &[String]) -> anyhow::Result<&'a Command> {
    let mut command = definition;
    for name in names {
        let Some(found) = command.find_subcommand(name) else {
            let known = command.get_subcommands().filter(|sub| !sub.is_hide_set()).map(Command::get_name);
            let meant = did_you_mean(nearest(name, known, |known| known).as_slice());
            bail!("{} has no command {name}{meant}", command.get_bin_name().unwrap_or("roster"));
        };
        command = found;
    }
    Ok(command)
}

/// The name of a page: `roster-migrate-topology`.
fn full_name(command: &Command) -> &str {
    command.get_display_name().unwrap_or_else(|| command.get_name())
}

/// The page of a command.
fn page(command: &Command) -> anyhow::Result<String> {
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let mut body = Vec::new();
    clap_mangen::Man::new(command.clone().after_help(None::<&'static str>)).render(&mut body)?;
    let body = String::from_utf8(body)?;
    // An empty date would shift the words that follow it.
    let (strings, body) = body.split_once(".TH ").unwrap_or_default();
    let body = body.split_once('\n').unwrap_or_default().1;
    let title = full_name(command).to_uppercase();
    let date = build_info::date().unwrap_or_default();
    let title = format!(".TH {title} 1 \"{date}\" \"roster {}\" \"Roster manual\"\n", build_info::VERSION);
    Ok(format!("{strings}{title}{}{}", plain(&ascii(body)), end_sections(&help)))
}

/// The text with escapes for other characters than those of ASCII, which not every reader of pages knows.
fn ascii(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii() {
            result.push(c);
        } else {
            result.extend(["\\[u", &format!("{:04X}", u32::from(c)), "]"]);
        }
    }
    result
}

/// The sections of the end of a help.
fn end_sections(help: &str) -> String {
    let (exit_codes, examples) = parts(help);
    let escaped = |text: &str| ascii(&text.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq"));
    let mut sections = String::from(".SH \"EXIT STATUS\"\n");
    wrap(&escaped(exit_codes.strip_prefix("Exit codes: ").unwrap_or(exit_codes)), &mut sections);
    sections.push_str(".SH EXAMPLES\n.nf\n");
    for example in examples {
        sections.push_str(&escaped(example));
        sections.push('\n');
    }
    sections + ".fi\n"
}

/// A page without what its readers and `mandoc -T lint` would stumble over: long lines, spaces at ends, breaks around nothing.
fn plain(page: &str) -> String {
    let mut result = String::new();
    for line in page.replace("\n.br\n\n.br\n", "\n.sp\n").lines().map(str::trim_end) {
        if line.starts_with('.') {
            result.push_str(line);
            result.push('\n');
        } else {
            wrap(line, &mut result);
        }
    }
    result
}

/// Writes a text in lines of at most [`WIDTH`] bytes.
fn wrap(text: &str, into: &mut String) {
    let mut width = 0;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        if width > 0 && width + 1 + word.len() > WIDTH {
            into.push('\n');
            width = 0;
        }
        if width > 0 {
            into.push(' ');
            width += 1;
        } else if word.starts_with(['.', '\'']) {
            // Otherwise it would be a request.
            into.push_str("\\&");
        }
        into.push_str(word);
        width += word.len();
    }
    into.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::definition;

    #[test]
    fn each_command_has_a_page() {
        for (names, want) in [
            (&[][..], Ok(("ROSTER", "roster"))),
            (&["plan"], Ok(("ROSTER-PLAN", "roster plan"))),
            (&["migrate", "topology"], Ok(("ROSTER-MIGRATE-TOPOLOGY", "roster migrate topology"))),
            (&["validate"], Ok(("ROSTER-LINT", "roster lint"))),
            (&["paln"], Err("roster has no command paln; did you mean plan?")),
            (&["certs", "shwo"], Err("roster certs has no command shwo; did you mean show?")),
            (&["plan", "x"], Err("roster plan has no command x")),
        ] {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let definition = built(definition(false));
            match (find(&definition, &names), want) {
                (Ok(command), Ok((title, call))) => {
                    let page = page(command).unwrap().replace("\\-", "-").replace("\\fB", "").replace("\\fR", "");
                    assert!(page.contains(&format!("\n.TH {title} 1 \"")), "{page}");
                    assert!(page.contains(&format!("\n.SH SYNOPSIS\n{call} ")), "{page}");
                    assert!(
                        page.contains("\n.SH \"EXIT STATUS\"\n0 ") && page.contains("\n.SH EXAMPLES\n.nf\n"),
                        "{page}"
                    );
                }
                (Err(error), Err(want)) => assert_eq!(error.to_string(), want),
                (got, want) => panic!("{names:?}: {got:?}, not {want:?}"),
            }
        }
    }

    /// What `cargo xtask release` checks by `mandoc -T lint`, as far as it depends on texts.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test of files")]
    fn lines_are_short() {
        let folder = tempfile::tempdir().unwrap();
        write_all(&built(definition(false)), folder.path()).unwrap();
        let pages: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
        assert!(pages.len() > 20, "{pages:?}");
        for path in pages.into_iter().map(|page| page.unwrap().path()) {
            let mut is_text = true;
            for line in std::fs::read_to_string(&path).unwrap().lines() {
                is_text = line == ".fi" || (is_text && line != ".nf");
                let is_long = is_text && !line.starts_with('.') && line.len() > WIDTH && line.contains(' ');
                assert!(!line.ends_with("help(1)"), "{}: {line}", path.display());
                assert!(!is_long && line.trim_end() == line && line.is_ascii(), "{}: {line}", path.display());
            }
        }
    }

    #[test]
    fn a_word_is_no_request() {
        let mut text = String::new();
        wrap(&format!("{} .gitignore it", "x".repeat(75)), &mut text);
        assert_eq!(text, format!("{}\n\\&.gitignore it\n", "x".repeat(75)));
    }
}
