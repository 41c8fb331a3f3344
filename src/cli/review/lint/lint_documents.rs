//! The JSON and YAML of `roster lint`, and the counts in them.

use std::collections::BTreeMap;

use serde::Serialize;

use super::suppressions::SuppressedFinding;
use crate::{
    cli::{manifest_texts::SkippedFile, review::file_finding::FileFinding},
    engine::{phrase::counted, reason::Severity},
    lint::Skip,
};

/// The findings, as a document.
#[derive(Serialize)]
pub(super) struct LintDocument<'a> {
    pub(super) items: Vec<&'a FileFinding<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) suppressed: &'a [SuppressedFinding<'a>],
    pub(super) summary: &'a LintSummary,
}

/// How many documents there are, and how many of them are of kinds that Roster checks.
#[derive(Clone, Copy)]
pub(super) struct DocumentCounts {
    pub(super) all: usize,
    pub(super) checked: usize,
}

/// How many documents were checked, and how many findings they have.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LintSummary {
    documents: usize,
    pub(super) errors: usize,
    warnings: usize,
    #[serde(skip_serializing_if = "is_zero")]
    infos: usize,
    #[serde(skip_serializing_if = "is_zero")]
    suppressed: usize,
    /// How many of the documents are of kinds that Roster does not check.
    #[serde(skip_serializing_if = "is_zero")]
    other_kinds: usize,
    /// How many documents were not checked, by what they are.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    skipped: BTreeMap<Skip, usize>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl LintSummary {
    pub(super) fn of<'a>(
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
        let other_kinds = documents.all - documents.checked;
        Self { documents: documents.all, errors, warnings, infos, suppressed, other_kinds, skipped }
    }

    /// The summary as a sentence.
    pub(super) fn text(&self) -> String {
        let (errors, warnings) = (counted(self.errors, "error"), counted(self.warnings, "warning"));
        let mut text = format!("{}: {errors}, {warnings}", counted(self.documents, "document"));
        if self.suppressed > 0 {
            text = format!("{text}, {} suppressed", self.suppressed);
        }
        let other_kinds =
            (self.other_kinds > 0).then(|| format!("{} of other kinds", counted(self.other_kinds, "object")));
        let skipped = self.skipped.iter().map(|(why, count)| why.counted(*count));
        let unchecked: Vec<String> = other_kinds.into_iter().chain(skipped).collect();
        if !unchecked.is_empty() {
            text = format!("{text}; not checked: {}", unchecked.join(", "));
        }
        text
    }
}
