//! The output of a renderer, and the files that its objects come from.

use std::path::Path;

/// The end of the name of what a directory renders to.
const RENDERED: &str = " (rendered)";

/// What one directory renders to.
#[derive(Clone, Debug)]
pub(in crate::cli) struct RenderedUnit {
    /// The name of the text in messages: the directory as the user wrote it, and that it is rendered.
    pub(in crate::cli) name: String,
    /// YAML documents.
    pub(in crate::cli) text: String,
    /// The sources of its documents, by line.
    sources: Vec<RenderedSource>,
    /// The number of lines of the text.
    lines: usize,
}

/// The source of one document of a rendered text.
#[derive(Clone, Debug)]
struct RenderedSource {
    /// The line of the text, from 1, at which the document begins.
    first_line: usize,
    /// The file that the object comes from, if it is known.
    file: Option<String>,
}

impl RenderedUnit {
    pub(super) fn new(name: &Path) -> Self {
        Self { name: format!("{}{RENDERED}", name.display()), text: String::new(), sources: Vec::new(), lines: 0 }
    }

    /// Appends a document.
    pub(super) fn push(&mut self, document: &str, file: Option<String>) {
        if !self.sources.is_empty() {
            self.text.push_str("---\n");
            self.lines += 1;
        }
        self.sources.push(RenderedSource { first_line: self.lines + 1, file });
        self.text.push_str(document);
        if !document.ends_with('\n') {
            self.text.push('\n');
        }
        self.lines += document.lines().count();
    }

    /// The file that the document at a line of the text, from 1, comes from, if it is known.
    pub(super) fn source_at(&self, line: usize) -> Option<&str> {
        let after = self.sources.partition_point(|source| source.first_line <= line);
        self.sources.get(after.checked_sub(1)?)?.file.as_deref()
    }
}

/// Whether this is the name of what a directory renders to.
pub(in crate::cli) fn is_rendered(name: &str) -> bool {
    name.ends_with(RENDERED)
}

/// The documents of YAML as a program prints it. A line `---` is never part of a document.
pub(super) fn documents(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let all = rest?;
        let mut start = 0;
        for line in all.split_inclusive('\n') {
            if line.trim_end() == "---" {
                rest = Some(&all[start + line.len()..]);
                return Some(&all[..start]);
            }
            start += line.len();
        }
        rest = None;
        Some(all)
    })
    .filter(|document| !document.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_end_at_separators_and_have_content() {
        for (text, want) in [
            ("", &[][..]),
            ("a: 1\n", &["a: 1\n"]),
            ("---\na: 1\n---\nb: |\n  ---\n  x\n---\n\n---\nc: 1", &["a: 1\n", "b: |\n  ---\n  x\n", "c: 1"]),
        ] {
            assert_eq!(documents(text).collect::<Vec<_>>(), want, "{text}");
        }
    }

    #[test]
    fn each_line_has_the_source_of_its_document() {
        let mut unit = RenderedUnit::new(Path::new("app"));
        unit.push("a: 1\nb: 2\n", Some("a.yaml".into()));
        unit.push("c: 3", None);
        unit.push("d: 4\n", Some("d.yaml".into()));
        assert_eq!(unit.text, "a: 1\nb: 2\n---\nc: 3\n---\nd: 4\n");
        let found = [0, 1, 2, 4, 6].map(|line| unit.source_at(line));
        assert_eq!(found, [None, Some("a.yaml"), Some("a.yaml"), None, Some("d.yaml")]);
    }
}
