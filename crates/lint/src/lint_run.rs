//! All that a run of the linter finds.

use std::collections::BTreeSet;

use roster_engine::{
    model::{ObjectKey, installed::POLICY_KIND},
    phrase::clip,
    reason::Severity,
};

use crate::{
    file_finding::FileFinding,
    lint_document::{DocumentCounts, LintDocument, LintSummary},
    referring,
    report::Report,
    reviewed_object::ReviewedObject,
    severities::Severities,
    suppressions::{SuppressedFinding, Suppressions},
    unreadable_file::{SkippedFile, UnreadableFile, UnreadablePlace},
};

/// All that a run finds.
pub struct LintRun<'a> {
    /// The objects, each with its findings.
    pub report: Report<'a>,
    /// What of the files cannot be read.
    pub unreadable: Vec<FileFinding<'a>>,
    /// The findings that are not reported.
    pub suppressed: Vec<SuppressedFinding<'a>>,
    /// What was not checked.
    pub skipped: Vec<SkippedFile>,
}

impl<'a> LintRun<'a> {
    pub(crate) fn new(report: Report<'a>, unreadable: Vec<UnreadableFile<'a>>, skipped: Vec<SkippedFile>) -> Self {
        let finding = |unreadable: UnreadableFile<'a>| {
            let UnreadableFile { file, place: UnreadablePlace { line, column, why, .. } } = unreadable;
            FileFinding::unreadable(file, line, column, why)
        };
        let unreadable = unreadable.into_iter().map(finding).chain(report.unlisted()).collect();
        Self { report, unreadable, suppressed: Vec::new(), skipped }
    }

    /// Gives findings the severities that a user gives their codes. Accepted findings are taken out after that.
    pub fn set_severities(&mut self, severities: &Severities) {
        severities.apply(&mut self.report);
    }

    /// Takes the accepted findings out.
    pub fn suppress(&mut self, accepted: Suppressions) {
        self.suppressed = accepted.apply(&mut self.report);
    }

    /// The files that cannot be read, and the findings in the order of the objects, and of the lines in them.
    pub fn findings(&self) -> impl Iterator<Item = &FileFinding<'a>> {
        let of_objects = self.report.objects.iter().flat_map(|o| {
            let mut of_object: Vec<_> = o.input_findings.iter().chain(&o.rule_findings).collect();
            of_object.sort_by_key(|f| f.line);
            of_object
        });
        self.unreadable.iter().chain(of_objects)
    }

    /// How many documents were checked, and how many findings they have.
    pub fn summary(&self) -> LintSummary {
        let is_error = |f: &&FileFinding<'_>| f.severity == Severity::Error;
        let suppressed = self.suppressed.iter().map(|s| &s.finding).filter(is_error);
        let suppressed: BTreeSet<&ObjectKey> = suppressed.map(|f| &f.object).collect();
        let is_checked = |o: &ReviewedObject<'_>| {
            let is_reported = || o.input_findings.iter().any(|f| is_error(&f)) || suppressed.contains(&o.key);
            o.has_schema
                || referring::is_read(o)
                || o.unlisted.is_some()
                || o.answer.is_some()
                || o.key.kind == POLICY_KIND
                || is_reported()
        };
        let mut documents = DocumentCounts::default();
        for object in &self.report.objects {
            documents.add((!is_checked(object)).then(|| kind_of(object)));
        }
        LintSummary::of(documents, self.findings(), self.suppressed.len(), &self.skipped)
    }

    /// The findings as a document.
    pub fn document<'r>(&'r self, summary: &'r LintSummary) -> LintDocument<'r> {
        LintDocument { items: self.findings().collect(), suppressed: &self.suppressed, summary }
    }
}

/// The kind of an object, with its group if it is not one of Kubernetes' own: other groups may have a kind of the same name.
fn kind_of(object: &ReviewedObject<'_>) -> String {
    let (kind, group) = (clip(&object.key.kind), object.api_group());
    let is_custom = group.contains('.') && !group.ends_with(".k8s.io");
    if is_custom { format!("{kind} of {}", clip(group)) } else { kind.to_owned() }
}
