//! `docs/cli.md`, made from the arguments' definition.

use std::fmt::Write;

use clap::{Arg, Command};

/// The command line's reference in Markdown: what `docs/cli.md` holds.
pub fn cli_reference() -> String {
    let mut root = super::definition(false);
    root.build();
    let mut out = String::from(
        "# Command line\n\n<!-- Made by `cargo xtask docs` from the arguments' definition: do not edit. -->\n\n",
    );
    let _ = writeln!(out, "{}\n", paragraphs(&root));
    let _ = writeln!(out, "{}\n", root.get_after_help().map(ToString::to_string).unwrap_or_default());
    let _ = writeln!(out, "| command | |\n|---|---|");
    for command in shown(&root) {
        let name = command.get_name();
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(out, "| [`roster {name}`](#roster-{name}) | {about} |");
    }
    for command in shown(&root) {
        section(&mut out, command);
    }
    out
}

/// Subcommands that the help shows; `help` itself needs no section.
fn shown(root: &Command) -> impl Iterator<Item = &Command> {
    root.get_subcommands().filter(|c| !c.is_hide_set() && c.get_name() != "help")
}

fn section(out: &mut String, command: &Command) {
    let _ = writeln!(out, "\n## roster {}\n\n{}\n", command.get_name(), paragraphs(command));
    let usage = command.clone().render_usage().to_string();
    let _ = writeln!(out, "```text\n{}\n```\n", usage.trim_start_matches("Usage: "));
    let mut subcommands = shown(command).peekable();
    if subcommands.peek().is_some() {
        let _ = writeln!(out, "| command | |\n|---|---|");
    }
    for subcommand in subcommands {
        let usage = subcommand.clone().render_usage().to_string();
        let usage = usage.trim_start_matches("Usage: ").replace('|', "\\|");
        let _ = writeln!(out, "| `{usage}` | {}. `--help` has its arguments. |", paragraphs(subcommand));
    }
    if shown(command).next().is_some() {
        let _ = writeln!(out);
    }
    let arguments: Vec<&Arg> = command.get_arguments().filter(|a| !a.is_hide_set() && a.get_id() != "help").collect();
    if !arguments.is_empty() {
        let _ = writeln!(out, "| argument | |\n|---|---|");
    }
    for arg in arguments {
        let _ = writeln!(out, "| `{}` | {} |", spelling(arg).replace('|', "\\|"), description(arg).replace('|', "\\|"));
    }
    if let Some(after) = command.get_after_help() {
        let _ = writeln!(out, "\n{after}");
    }
}

/// The long text of a command, or the short one.
fn paragraphs(command: &Command) -> String {
    command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default()
}

/// An argument as it is typed: `-f, --filename <FILE>`.
fn spelling(arg: &Arg) -> String {
    let mut text = String::new();
    if let Some(short) = arg.get_short() {
        let _ = write!(text, "-{short}");
    }
    if let Some(long) = arg.get_long() {
        let _ = write!(text, "{}--{long}", if text.is_empty() { "" } else { ", " });
    }
    let takes_value = arg.get_action().takes_values();
    let names = arg.get_value_names().unwrap_or_default();
    if let Some(name) = names.first().filter(|_| takes_value) {
        let space = if text.is_empty() { "" } else { " " };
        let _ = write!(text, "{space}<{name}>");
    }
    if matches!(arg.get_num_args(), Some(n) if takes_value && n.max_values() > 1)
        || (arg.is_positional() && takes_many(arg))
    {
        text.push_str("...");
    }
    text
}

fn takes_many(arg: &Arg) -> bool {
    matches!(arg.get_action(), clap::ArgAction::Append)
}

/// What an argument does, its values, its default and its variable, in one line.
fn description(arg: &Arg) -> String {
    let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    let mut text = help.split_whitespace().collect::<Vec<_>>().join(" ").replace('*', "\\*");
    if !text.ends_with(['.', ']']) {
        text.push('.');
    }
    let values: Vec<String> =
        arg.get_possible_values().iter().filter(|v| !v.is_hide_set()).map(|v| format!("`{}`", v.get_name())).collect();
    if !values.is_empty() && arg.get_action().takes_values() {
        let _ = write!(text, " One of {}.", values.join(", "));
    }
    let defaults: Vec<_> = arg.get_default_values().iter().map(|v| v.to_string_lossy()).collect();
    if !defaults.is_empty() && arg.get_action().takes_values() {
        let _ = write!(text, " Default: `{}`.", defaults.join(" "));
    }
    if let Some(variable) = arg.get_env() {
        let _ = write!(text, " Variable: `{}`.", variable.to_string_lossy());
    }
    text
}
