//! Tabs that indent a line: a parser finds them a line too early, or says something else.

use crate::decode::error::{DecodeError, DecodeReason};

/// The error, at the tab if one indents the line of the error or the next one.
pub(super) fn located(error: DecodeError, yaml: &str) -> DecodeError {
    if !matches!(error.reason, DecodeReason::Yaml(_)) {
        return error;
    }
    let near = yaml.lines().enumerate().skip(error.line.saturating_sub(1));
    let mut near = near.filter(|(_, line)| !line.trim().is_empty()).take(2);
    let tab = near.find_map(|(number, line)| {
        let indentation = &line[..line.len() - line.trim_start_matches([' ', '\t']).len()];
        Some((number + 1, indentation.find('\t')? + 1))
    });
    match tab {
        Some((line, column)) => {
            let reason = DecodeReason::Yaml("a tab indents the line; replace it by spaces".to_owned());
            DecodeError { line, column, reason, ..error }
        }
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use crate::decode::yaml::yaml_as_json;

    #[test]
    fn a_tab_is_reported_in_its_line() {
        for (yaml, want) in [
            ("ports:\n- name: http\n\tport: 80\n", "f:3:1: not YAML: a tab indents the line; replace it by spaces"),
            ("spec:\n  ports:\n\t- port: 80\n", "f:3:1: not YAML: a tab indents the line; replace it by spaces"),
            ("spec:\n  a: 1\n  \tb: 1\n", "f:3:3: not YAML: a tab indents the line; replace it by spaces"),
        ] {
            assert_eq!(yaml_as_json(yaml, "f").unwrap_err().to_string(), want, "{yaml:?}");
        }
    }
}
