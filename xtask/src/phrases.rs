//! Phrases that documents, comments and messages must not contain, each with what to write instead.

use std::collections::BTreeMap;
use std::path::Path;

/// Phrases and what to write instead. `*` is any word. A phrase in lower case also matches at the start of a sentence.
const PHRASES: &[(&[&str], &str)] = &[
    (&["is no *", "are no *", "was no *", "were no *"], "write \"is not a …\""),
    (
        &["So soon", "So often", "So long", "So many", "So much"],
        "start with the subject: \"How soon …\", \"As long as …\"",
    ),
    (
        &["is told", "are told", "was told", "were told", "be told", "been told"],
        "write \"is reported\", \"is listed\" or \"is printed\"",
    ),
    (&["mend", "mends", "mended", "mending", "unmended"], "write \"change\", and what changes"),
    (&["nobody asks", "nobody would ask"], "name the condition"),
    (&["of which there"], "use two sentences"),
    (&["its own flaw"], "name the finding"),
    (&["whoever", "whomever"], "name who acts"),
    (&["newcomer", "newcomers"], "write \"new connection\""),
    (&["patient", "patiently"], "write how long it waits"),
    (&["keeper", "keepers"], "write \"certificate manager\", \"lease holder\" or \"reflector\""),
    (&["streak", "streaks"], "write \"consecutive failures\""),
    (&["door", "doors"], "write \"entry point\", \"listener\" or \"endpoint\""),
    (&["oddity", "oddities", "remark", "remarks"], "write \"finding\""),
    (&["that is there", "that are there"], "name the object, or leave it out"),
    (&["does otherwise", "do otherwise"], "write what changes"),
];

/// Words after which, and before which, "is no …" is plain English: "there is no list", "it is no longer ready".
const PLAIN_NO: (&str, &[&str]) = ("there", &["longer", "more", "fewer", "less"]);

/// The phrases by their first words.
pub(crate) struct Phrases(BTreeMap<&'static str, Vec<Phrase>>);

struct Phrase {
    words: Vec<&'static str>,
    advice: &'static str,
}

/// A word of a text, its line, and whether only spaces and marks of comments are between it and the word before.
struct Word<'t> {
    text: &'t str,
    line: usize,
    joined: bool,
}

impl Phrases {
    pub(crate) fn new() -> Self {
        let mut by_first: BTreeMap<&str, Vec<Phrase>> = BTreeMap::new();
        for &(phrases, advice) in PHRASES {
            for words in phrases.iter().map(|phrase| phrase.split(' ').collect::<Vec<_>>()) {
                by_first.entry(words[0]).or_default().push(Phrase { words, advice });
            }
        }
        Self(by_first)
    }

    /// Adds a finding for each phrase in a Rust or Markdown file.
    pub(crate) fn check(&self, path: &Path, text: &str, findings: &mut Vec<String>) {
        // This file lists the phrases, and released entries of the changelog do not change any more.
        let is_checked = path.extension().is_some_and(|e| e == "rs" || e == "md") && path != Path::new(file!());
        if !is_checked {
            return;
        }
        let text = if path == Path::new("CHANGELOG.md") { unreleased(text) } else { text };
        for (line, phrase, advice) in self.find(text) {
            findings.push(format!("{}:{line}: \"{phrase}\": {advice}", path.display()));
        }
    }

    /// The phrases in a text, with their lines.
    fn find(&self, text: &str) -> Vec<(usize, String, &'static str)> {
        let words = words(text);
        let mut found = Vec::new();
        for at in 0..words.len() {
            let first = words[at].text;
            let lower = first.to_ascii_lowercase();
            let phrases = [self.0.get(first), self.0.get(lower.as_str()).filter(|_| lower != first)];
            for phrase in phrases.into_iter().flatten().flatten() {
                if phrase.matches(&words[at..]) && !is_plain_no(&words, at, phrase) {
                    let text: Vec<&str> = words[at..at + phrase.words.len()].iter().map(|w| w.text).collect();
                    found.push((words[at].line, text.join(" "), phrase.advice));
                }
            }
        }
        found
    }
}

impl Phrase {
    fn matches(&self, words: &[Word<'_>]) -> bool {
        let rest = self.words.iter().zip(words).skip(1);
        words.len() >= self.words.len()
            && rest.into_iter().all(|(want, word)| word.joined && (*want == "*" || *want == word.text))
    }
}

/// Whether "is no …" is part of "there is no …" or "is no longer …".
fn is_plain_no(words: &[Word<'_>], at: usize, phrase: &Phrase) -> bool {
    let before = at.checked_sub(1).and_then(|i| words.get(i)).filter(|_| words[at].joined);
    let after = words.get(at + 2);
    phrase.words.get(1) == Some(&"no")
        && (before.is_some_and(|w| w.text.eq_ignore_ascii_case(PLAIN_NO.0))
            || after.is_some_and(|w| PLAIN_NO.1.contains(&w.text)))
}

/// The words of a text; an identifier with underscores is one word.
fn words(text: &str) -> Vec<Word<'_>> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut words = Vec::new();
    for (line, content) in (1..).zip(text.lines()) {
        let mut joined = true;
        let mut rest = content.trim_start().trim_start_matches(['/', '!', '*', '>', '-', '|', '"']);
        while let Some(start) = rest.find(is_word) {
            let (gap, from) = rest.split_at(start);
            joined &= gap.chars().all(|c| " `".contains(c));
            let end = from.find(|c| !is_word(c)).unwrap_or(from.len());
            let (text, after) = from.split_at(end);
            words.push(Word { text, line, joined });
            (rest, joined) = (after, true);
        }
        // A line that ends a sentence, or code, does not go on in the next line.
        if !rest.trim_matches([' ', '`', '\\']).is_empty() {
            words.push(Word { text: ".", line, joined: false });
        }
    }
    words
}

/// A changelog without its released entries.
fn unreleased(text: &str) -> &str {
    let second = text.match_indices("\n## [").map(|(at, _)| at).nth(1);
    second.and_then(|at| text.get(..at)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_found_and_plain_english_passes() {
        let phrases = Phrases::new();
        for (text, want) in [
            ("// A comma is no list.", vec![(1, "is no list")]),
            ("/// What is\n/// told of it.", vec![(1, "is told")]),
            ("// So soon it is tried again.", vec![(1, "So soon")]),
            ("// Whoever writes `x` is no `Service`.", vec![(1, "Whoever"), (1, "is no Service")]),
            ("// There is no list, and there are no pods.", vec![]),
            ("// It is no longer ready.", vec![]),
            ("// So far it is ready, and so many pods are.", vec![]),
            ("let amended = mended_objects; // It is. No doubt.", vec![]),
        ] {
            let found = phrases.find(text);
            let found: Vec<_> = found.iter().map(|(line, phrase, _)| (*line, phrase.as_str())).collect();
            assert_eq!(found, want, "{text}");
        }
    }

    #[test]
    fn released_entries_of_the_changelog_are_left_alone() {
        let text = "# Changelog\n\n## [Unreleased]\n\nnew\n\n## [0.1.0]\n\nold\n";
        assert_eq!(unreleased(text), "# Changelog\n\n## [Unreleased]\n\nnew\n");
        assert_eq!(unreleased("# Changelog\n"), "# Changelog\n");
    }
}
