//! The end of each command's help: its exit codes, and examples.

/// The end of a help: the exit codes, then lines that a user can type, some with a comment.
macro_rules! help_end {
    ($exit_codes:literal, $($example:literal),+ $(,)?) => {
        concat!($exit_codes, "\n\nExamples:", $("\n  ", $example),+)
    };
}
pub(super) use help_end;

/// The text before the examples of a help, and its examples; none if it has none.
pub(super) fn parts(help: &str) -> (&str, Vec<&str>) {
    let (before, examples) = help.split_once("\n\nExamples:\n").unwrap_or((help, ""));
    (before, examples.lines().map(str::trim).collect())
}

#[cfg(test)]
mod tests {
    use clap::Command;

    use super::parts;
    use crate::cli::{definition, parse};

    /// The arguments of the first `roster` of a line: without a comment, and what else a shell reads.
    fn arguments(example: &str) -> Vec<&str> {
        let line = example.split(" #").next().unwrap_or_default();
        let call = line.split(" | ").find(|call| call.starts_with("roster ")).unwrap_or_default();
        call.split(" > ").next().unwrap_or_default().split_whitespace().collect()
    }

    /// A command and those below it, each with its full name.
    fn all(command: &Command, name: &str, into: &mut Vec<(String, Command)>) {
        into.push((name.to_owned(), command.clone()));
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
            all(sub, &format!("{name} {}", sub.get_name()), into);
        }
    }

    #[test]
    fn every_command_has_examples_that_it_accepts() {
        let mut commands = Vec::new();
        all(&definition(false), "roster", &mut commands);
        for (name, command) in commands {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let (exit_codes, examples) = parts(&help);
            assert!(exit_codes.starts_with("Exit codes: 0 "), "{name}: {help}");
            assert!((2..=3).contains(&examples.len()), "{name} has {} examples", examples.len());
            for example in examples {
                let arguments = arguments(example);
                assert!(arguments.join(" ").starts_with(&name), "{name}: {example}");
                // The help is as wide as a terminal.
                assert!(example.chars().count() <= 78, "{example}");
                let parsed = parse(arguments.into_iter().map(Into::into).collect(), false);
                assert!(parsed.is_ok(), "{name}: {example}: {:?}", parsed.err());
            }
        }
    }

    #[test]
    fn an_example_is_what_a_shell_would_run() {
        for (example, want) in [
            ("roster plan -f x.yaml", &["roster", "plan", "-f", "x.yaml"][..]),
            ("roster explain x.yaml web  # why", &["roster", "explain", "x.yaml", "web"]),
            ("kubectl get svc | roster plan -f - | less", &["roster", "plan", "-f", "-"]),
            ("roster man plan > roster-plan.1", &["roster", "man", "plan"]),
        ] {
            assert_eq!(arguments(example), want, "{example}");
        }
    }
}
