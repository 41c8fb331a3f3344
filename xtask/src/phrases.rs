//! Phrases that documents, comments and messages must not contain, each with what to write instead.

use std::path::Path;

use anyhow::{Context, Result};
use regex::Regex;

/// Ways to say something that a reader has to read twice: a pattern, and what to write instead.
const PHRASES: &[(&str, &str)] = &[
    (r"\b(?:is|are|was|were) no (?:[a-z]+ (?:that|which|of)\b|[A-Za-z]+)", "write \"is not a …\""),
    (r"\bSo (?:soon|often|long|many|much)\b", "start with the subject: \"How soon …\", \"As long as …\""),
    (r"\b(?:is|are|was|were|be|been|being) told\b", "write \"is reported\", \"is listed\" or \"is printed\""),
    (r"\b(?:un)?[Mm]end(?:s|ed|ing)?\b", "write \"change\", and what changes"),
    (r"\b[Nn]obody asks\b", "name the condition"),
    (r"\bof which there\b", "use two sentences"),
    (r"\bits own flaw\b", "name the finding"),
    (r"\b[Ww]hoever\b", "name who acts"),
    (r"\b[Nn]ewcomers?\b", "write \"new connection\""),
    (r"\b[Pp]atient(?:ly)?\b", "write how long it waits"),
    (r"\b[Kk]eepers?\b", "write \"certificate manager\", \"lease holder\" or \"reflector\""),
    (r"\b[Ss]treaks?\b", "write \"consecutive failures\""),
    (r"\b[Dd]oors?\b", "write \"entry point\", \"listener\" or \"endpoint\""),
    (r"\b[Oo]ddit(?:y|ies)\b", "write \"finding\""),
    (r"\b[Rr]emarks?\b", "write \"finding\""),
    (r"\b[Nn]ewly come\b|\bthat is there\b", "name the object"),
    (r"\bdoes otherwise\b|\bdo otherwise\b", "write what changes"),
];

/// Words before "is no" and after it with which the sentence is plain English.
const PLAIN_NO: &[&str] =
    &["there is no ", "there are no ", "there was no ", "there were no ", " no longer", " no more than"];

/// Lines in which a phrase is right: a file, and a part of the line.
const ALLOWED: &[(&str, &str)] = &[];

/// The phrases, ready to search for.
pub(crate) struct Phrases(Vec<(Regex, &'static str)>);

impl Phrases {
    pub(crate) fn new() -> Result<Self> {
        let compile = |&(pattern, advice): &(&str, &'static str)| {
            Ok((Regex::new(pattern).with_context(|| format!("the pattern {pattern}"))?, advice))
        };
        PHRASES.iter().map(compile).collect::<Result<_>>().map(Self)
    }

    /// Adds a finding for each phrase in a Rust or Markdown file.
    pub(crate) fn check(&self, path: &Path, text: &str, findings: &mut Vec<String>) {
        let is_checked = path.extension().is_some_and(|e| e == "rs" || e == "md") && !path.ends_with(file!());
        if !is_checked {
            return;
        }
        for (line, number) in unreleased(path, text).lines().zip(1..) {
            for (phrase, advice) in self.in_line(path, line) {
                findings.push(format!("{}:{number}: \"{phrase}\": {advice}", path.display()));
            }
        }
    }

    fn in_line<'l>(&self, path: &Path, line: &'l str) -> Vec<(&'l str, &'static str)> {
        if ALLOWED.iter().any(|(file, part)| path == Path::new(file) && line.contains(part)) {
            return Vec::new();
        }
        let found = self.0.iter().filter_map(|(regex, advice)| Some((regex.find(line)?, *advice)));
        let found = found.filter(|(at, _)| !is_plain_no(line, at.start(), at.end()));
        found.map(|(at, advice)| (at.as_str(), advice)).collect()
    }
}

/// Whether the match is part of "there is no …" or "is no longer".
fn is_plain_no(line: &str, start: usize, end: usize) -> bool {
    let around = line.get(start.saturating_sub("there ".len())..end).unwrap_or_default().to_lowercase();
    PLAIN_NO.iter().any(|plain| around.contains(plain))
}

/// A changelog up to its first release: released entries do not change any more. Other files are checked to the end.
fn unreleased<'t>(path: &Path, text: &'t str) -> &'t str {
    let released = text.match_indices("\n## [").map(|(at, _)| at).nth(1);
    released.filter(|_| path.ends_with("CHANGELOG.md")).and_then(|at| text.get(..at)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_found_and_plain_english_passes() {
        let phrases = Phrases::new().unwrap();
        let found = |line| phrases.in_line(Path::new("a.rs"), line).into_iter().map(|(p, _)| p).collect::<Vec<_>>();
        for (line, want) in [
            ("// A comma is no list.", vec!["is no list"]),
            ("// So soon it is tried again.", vec!["So soon"]),
            ("//! What is told of it.", vec!["is told"]),
            ("// There is no list, and there are no pods.", vec![]),
            ("// It is no longer ready.", vec![]),
            ("// So far all is well.", vec![]),
            ("let recommended = 1; // depending on a pod", vec![]),
        ] {
            assert_eq!(found(line), want, "{line}");
        }
    }

    #[test]
    fn released_entries_of_the_changelog_are_left_alone() {
        let text = "# Changelog\n\n## [Unreleased]\n\nnew\n\n## [0.1.0]\n\nold\n";
        assert_eq!(unreleased(Path::new("CHANGELOG.md"), text), "# Changelog\n\n## [Unreleased]\n\nnew\n");
        assert_eq!(unreleased(Path::new("README.md"), text), text);
    }
}
