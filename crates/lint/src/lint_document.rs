//! The findings of a run as a document, and the counts in it.

use std::collections::BTreeMap;

use roster_engine::{phrase::counted, reason::Severity};
use roster_manifests::lint::Skip;
use serde::Serialize;

use crate::{file_finding::FileFinding, suppressions::SuppressedFinding, unreadable_file::SkippedFile};

/// The findings, as a document.
#[derive(Debug, Serialize)]
pub struct LintDocument<'a> {
    /// The findings.
    pub items: Vec<&'a FileFinding<'a>>,
    /// Those that are not reported.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub suppressed: &'a [SuppressedFinding<'a>],
    /// The counts.
    pub summary: &'a LintSummary,
}

/// Most kinds that the summary names.
const MAX_KINDS: usize = 8;

/// How many documents there are, and how many of them are of kinds that Roster does not check.
#[derive(Default)]
pub(crate) struct DocumentCounts {
    all: usize,
    unchecked: BTreeMap<String, usize>,
}

impl DocumentCounts {
    /// Counts a document; `unchecked` is its kind, if Roster does not check that.
    pub(crate) fn add(&mut self, unchecked: Option<String>) {
        self.all += 1;
        if let Some(kind) = unchecked {
            *self.unchecked.entry(kind).or_default() += 1;
        }
    }
}

/// How many documents were checked, and how many findings they have.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LintSummary {
    documents: usize,
    /// How many findings are errors.
    pub errors: usize,
    warnings: usize,
    #[serde(skip_serializing_if = "is_zero")]
    infos: usize,
    #[serde(skip_serializing_if = "is_zero")]
    suppressed: usize,
    /// How many of the documents are of kinds that Roster does not check.
    #[serde(skip_serializing_if = "is_zero")]
    other_kinds: usize,
    /// The same for each of these kinds.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    unchecked_kinds: BTreeMap<String, usize>,
    /// How many documents were not checked, by what they are.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    skipped: BTreeMap<Skip, usize>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl LintSummary {
    pub(crate) fn of<'a>(
        documents: DocumentCounts,
        findings: impl Iterator<Item = &'a FileFinding<'a>>,
        suppressed: usize,
        skipped_files: &[SkippedFile],
    ) -> Self {
        let (mut errors, mut warnings, mut infos, mut skipped) = (0, 0, 0, BTreeMap::new());
        for finding in findings {
            match finding.severity {
                Severity::Error => errors += 1,
                Severity::Warning => warnings += 1,
                Severity::Info => infos += 1,
            }
        }
        for file in skipped_files {
            *skipped.entry(file.why).or_default() += 1;
        }
        let DocumentCounts { all: documents, unchecked: unchecked_kinds } = documents;
        let other_kinds = unchecked_kinds.values().sum();
        Self { documents, errors, warnings, infos, suppressed, other_kinds, unchecked_kinds, skipped }
    }

    /// The summary as a sentence.
    pub fn text(&self) -> String {
        let (errors, warnings) = (counted(self.errors, "error"), counted(self.warnings, "warning"));
        let mut text = format!("{}: {errors}, {warnings}", counted(self.documents, "document"));
        if self.suppressed > 0 {
            text = format!("{text}, {} suppressed", self.suppressed);
        }
        let other_kinds = (self.other_kinds > 0)
            .then(|| format!("{} of other kinds ({})", counted(self.other_kinds, "object"), self.named_kinds()));
        let skipped = self.skipped.iter().map(|(why, count)| why.counted(*count));
        let unchecked: Vec<String> = other_kinds.into_iter().chain(skipped).collect();
        if !unchecked.is_empty() {
            text = format!("{text}; not checked: {}", unchecked.join(", "));
        }
        text
    }

    /// How to check what the kustomizations and charts among the files make of them.
    pub fn render_hint(&self) -> Option<String> {
        let hint = |why: Skip, word: &str, flag: &str| {
            let count = *self.skipped.get(&why)?;
            let them = if count == 1 { "it" } else { "them" };
            Some(format!("{}: check {them} with {flag}", counted(count, word)))
        };
        let hints = [hint(Skip::Kustomization, "kustomization", "-k"), hint(Skip::Chart, "chart", "--chart")];
        let hints: Vec<String> = hints.into_iter().flatten().collect();
        (!hints.is_empty()).then(|| hints.join("; "))
    }

    /// The kinds that are not checked.
    fn named_kinds(&self) -> String {
        let names = self.unchecked_kinds.keys().take(MAX_KINDS);
        let mut names: Vec<String> = names.cloned().collect();
        let more = self.unchecked_kinds.len().saturating_sub(MAX_KINDS);
        if more > 0 {
            names.push(format!("and {}", counted(more, "more kind")));
        }
        names.join(", ")
    }
}
