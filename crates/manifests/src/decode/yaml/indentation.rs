//! Lines with the wrong indentation: a parser finds them a line too early or too late, or says something else.

use crate::decode::error::{DecodeError, DecodeReason};

/// The error, at what is wrong with an indentation near it: a tab in the line of the error or the next one, or a separator
/// of documents that is indented, in one of these or in the line before.
pub(super) fn located(error: DecodeError, yaml: &str) -> DecodeError {
    if !matches!(error.reason, DecodeReason::Yaml(_)) {
        return error;
    }
    let lines = || yaml.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let before = lines().take_while(|(number, _)| number + 1 < error.line).last();
    let near: Vec<(usize, &str)> = lines().skip_while(|(number, _)| number + 1 < error.line).take(2).collect();
    let tab = near.iter().find_map(|(number, line)| {
        let indentation = &line[..line.len() - line.trim_start_matches([' ', '\t']).len()];
        Some((number + 1, indentation.find('\t')? + 1, "a tab indents the line; replace it by spaces"))
    });
    let separator = || {
        let column =
            |line: &str| line.strip_prefix(' ').filter(|rest| rest.trim() == "---")?.find('-').map(|at| at + 2);
        let found = before.iter().chain(&near).find_map(|(number, line)| Some((number + 1, column(line)?)))?;
        Some((
            found.0,
            found.1,
            "the line --- is indented, so it does not separate documents; remove the spaces before it",
        ))
    };
    match tab.or_else(separator) {
        Some((line, column, why)) => DecodeError { line, column, reason: DecodeReason::Yaml(why.to_owned()), ..error },
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use crate::decode::{Source, yaml::yaml_as_json};

    #[test]
    fn wrong_indentation_is_reported_in_its_line() {
        let tab = "a tab indents the line; replace it by spaces";
        let separator = "the line --- is indented, so it does not separate documents; remove the spaces before it";
        for (yaml, place, want) in [
            ("ports:\n- name: http\n\tport: 80\n", "3:1", tab),
            ("spec:\n  ports:\n\t- port: 80\n", "3:1", tab),
            ("spec:\n  a: 1\n  \tb: 1\n", "3:3", tab),
            ("spec:\n  a: 1\n ---\nspec:\n  a: 1\n", "3:2", separator),
            ("spec:\n  a:\n  - b: 1\n   ---\nspec:\n  a: 1\n", "4:4", separator),
            ("spec: {}\n\n ---\n\nspec: {}\n", "3:2", separator),
            ("spec: {}\n ---\n# one\nspec: {}\n", "2:2", separator),
        ] {
            assert_eq!(
                yaml_as_json(yaml, &Source::file("f")).unwrap_err().to_string(),
                format!("f:{place}: not YAML: {want}"),
                "{yaml:?}"
            );
        }
    }
}
