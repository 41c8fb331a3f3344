//! YAML of which some documents cannot be read: each document by itself.

use super::{MAX_ALIASES, readable_yaml_as_json};
use crate::decode::{Source, error::DecodeError};

/// A document that cannot be read.
#[derive(Debug)]
pub struct BrokenDocument {
    /// Where and why.
    pub error: DecodeError,
    /// Its text.
    pub text: String,
}

/// Converts each document that is YAML to JSON in its lines. A mistake in one does not hide the others.
pub(in crate::decode) fn documents_as_json(yaml: &str, source: &Source<'_>) -> (String, Vec<BrokenDocument>) {
    let (json, error) = readable_yaml_as_json(yaml, source, &mut 0);
    if error.is_none() {
        return (json, Vec::new());
    }
    let (mut json, mut lines, mut broken) = (String::with_capacity(yaml.len()), 0, Vec::new());
    // Aliases of many documents could expand to any size.
    let mut aliases = 0;
    for (line, text) in documents(yaml) {
        let (one, error) = readable_yaml_as_json(text, source, &mut aliases);
        if let Some(error) = error {
            let error = DecodeError { line: error.line + line, ..error };
            broken.push(BrokenDocument { error, text: text.to_owned() });
            if aliases > MAX_ALIASES {
                break;
            }
            continue;
        }
        let one = one.trim_end();
        let missing = line.saturating_sub(lines);
        json.extend(std::iter::repeat_n('\n', missing));
        lines += missing + one.matches('\n').count();
        json.push_str(one);
    }
    (json, broken)
}

/// The documents of a text, each with the number of lines before it. Directives belong to the document behind them.
fn documents(yaml: &str) -> Vec<(usize, &str)> {
    let (mut all, mut start, mut first, mut has_content) = (Vec::new(), 0, 0, false);
    let mut offset = 0;
    for (number, line) in yaml.split_inclusive('\n').enumerate() {
        let is_marker =
            line.strip_prefix("---").is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace));
        if is_marker && has_content {
            all.push((first, &yaml[start..offset]));
            (start, first) = (offset, number);
        }
        has_content |= is_marker || !(line.starts_with(['%', '#']) || line.trim().is_empty());
        offset += line.len();
    }
    all.push((first, &yaml[start..]));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_in_one_document_does_not_hide_the_others() {
        let yaml =
            "%YAML 1.1\n--- # first\na: 1\n---\nb: ]\n--- {c: 2}\n---\nspec:\n  ports:\n\t- port: 80\n---\ne: 3\n";
        let (json, broken) = documents_as_json(yaml, &Source::file("f"));
        let lines: Vec<(usize, &str)> = json.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()).collect();
        assert_eq!(lines, [(2, "{\"a\":1"), (3, "}"), (5, "    {\"c\":2}"), (11, "{\"e\":3"), (12, "}")]);
        let broken: Vec<(usize, &str)> = broken.iter().map(|b| (b.error.line, b.text.as_str())).collect();
        assert_eq!(broken, [(5, "---\nb: ]\n"), (10, "---\nspec:\n  ports:\n\t- port: 80\n")]);
    }
}
