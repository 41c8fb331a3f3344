//! Findings that are not reported: waived in an annotation or a file, or listed in a baseline.

use std::collections::BTreeSet;

use roster_admission::Rule;
use roster_engine::{
    model::json::pointer::Pointer,
    phrase::counted,
    reason::{Finding, Reason, Severity},
};
use serde::Serialize;

use crate::{
    baseline::Baseline,
    file_finding::FileFinding,
    finding_key::FindingKey,
    report::{Note, Report},
    reviewed_object::ReviewedObject,
    rule::LintRule,
    suppression::Suppression,
    waiver::{AnnotationWaivers, IGNORE_ANNOTATION, WaiverFault, Waivers, annotation_waivers},
};

/// A finding that is not reported.
#[derive(Debug, Serialize)]
pub struct SuppressedFinding<'a> {
    /// The finding.
    #[serde(flatten)]
    pub finding: FileFinding<'a>,
    /// Why it is not reported.
    pub suppression: Suppression,
}

/// What is known of accepted findings before a run.
#[derive(Debug, Default)]
pub struct Suppressions {
    /// Findings of an earlier run.
    pub baseline: Baseline,
    /// Findings that somebody accepts.
    pub waivers: Waivers,
}

/// Whether a finding may have this code.
pub fn is_code(code: &str) -> bool {
    all_codes().any(|known| known == code)
}

/// The codes of all reasons, those of all rules of the webhook, and those of all rules of the linter.
pub fn all_codes() -> impl Iterator<Item = &'static str> {
    let of_reasons = Reason::ALL.iter().map(|r| r.code());
    of_reasons.chain(Rule::ALL.iter().map(|r| r.code())).chain(LintRule::ALL.iter().map(|r| r.code))
}

/// What identifies a finding from one run to the next.
pub(crate) fn key<'k>(finding: &'k FileFinding<'_>) -> FindingKey<'k> {
    FindingKey { file: finding.file, object: &finding.object, code: finding.code.as_str(), field: &finding.field }
}

impl Suppressions {
    /// Takes the accepted findings out of the input.
    pub fn apply<'a>(mut self, report: &mut Report<'a>) -> Vec<SuppressedFinding<'a>> {
        let mut suppressed = Vec::new();
        for object in &mut report.objects {
            let AnnotationWaivers { mut waivers, faults, more } = annotation_waivers(&object.document.raw, is_code);
            // Before: what is wrong with waivers can be accepted as other findings can.
            note(object, Reason::InvalidWaiver, invalid(&faults, more));
            let mut suppression = |finding: &FileFinding<'_>| {
                let key = key(finding);
                if let Some(reason) = waivers.reason(&key) {
                    return Some(Suppression::Annotation { reason: reason.to_owned() });
                }
                // A waiver may name what was rendered, or where it is written.
                let source = finding.source.map(|source| FindingKey { file: source.file, ..key });
                for key in source.iter().chain([&key]) {
                    if let Some(reason) = self.waivers.reason(key) {
                        return Some(Suppression::Waiver { reason: reason.to_owned() });
                    }
                }
                self.baseline.take(&key).then_some(Suppression::Baseline)
            };
            for list in [&mut object.input_findings, &mut object.rule_findings] {
                for finding in std::mem::take(list) {
                    match suppression(&finding) {
                        Some(suppression) => suppressed.push(SuppressedFinding { finding, suppression }),
                        None => list.push(finding),
                    }
                }
            }
            note(object, Reason::UnusedWaiver, unused(&waivers));
        }
        let files = report.objects.iter().map(|o| o.file).collect();
        report.notes.extend(self.unused_notes(&files));
        suppressed
    }

    /// What no finding needs any more, as far as `files` were read.
    fn unused_notes(&self, files: &BTreeSet<&str>) -> Vec<Note> {
        let exhausted = self.waivers.is_exhausted().then(|| {
            "not checked: whether the waivers accept all findings; too many of them have the same code".to_owned()
        });
        let unused = self.waivers.unused();
        let unused = unused.map(|waiver| format!("the waiver of {} ({}) has no finding", waiver.code, waiver.reason));
        let fixed = self.baseline.len_of(files);
        let fixed = (fixed > 0).then(|| {
            let occur = if fixed == 1 { "occurs" } else { "occur" };
            let count = counted(fixed, "finding");
            format!("{count} in the baseline no longer {occur}; --write-baseline writes one without them")
        });
        exhausted.into_iter().chain(unused).chain(fixed).map(Note::warning).collect()
    }
}

/// What is wrong with waivers in the annotation of an object: the first by themselves.
fn invalid(faults: &[WaiverFault], more: usize) -> impl Iterator<Item = String> {
    let more = (more > 0).then(|| format!("and {} that cannot hold", counted(more, "more waiver")));
    faults.iter().map(ToString::to_string).chain(more)
}

/// The waivers in the annotation of an object that no finding needs.
fn unused(waivers: &Waivers) -> impl Iterator<Item = String> {
    waivers.unused().map(|w| format!("the object has no finding {}", w.code))
}

/// Adds findings about the waivers in the annotation of an object.
fn note(object: &mut ReviewedObject<'_>, code: Reason, messages: impl Iterator<Item = String>) {
    let annotations = Pointer::At("/metadata/annotations");
    let pointer = Some(Pointer::Key(&annotations, IGNORE_ANNOTATION).to_string());
    let finding = |message| Finding { pointer: pointer.clone(), ..Finding::new(code, object.key.clone(), message) };
    let found: Vec<Finding> = messages.map(finding).collect();
    object.add_workload_findings(found.iter());
}

/// The errors and warnings of a run, as a baseline.
pub fn baseline_of(report: &Report<'_>) -> Baseline {
    let mut baseline = Baseline::default();
    let findings = report.objects.iter().flat_map(|o| o.input_findings.iter().chain(&o.rule_findings));
    findings.filter(|f| f.severity > Severity::Info).for_each(|f| baseline.add(&key(f)));
    baseline
}
