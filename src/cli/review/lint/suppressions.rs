//! Findings that are not reported: waived in an annotation or a file, or listed in a baseline.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use anyhow::{Context, ensure};
use clap::Args;
use roster_admission::Rule;
use roster_engine::{
    model::json::pointer::Pointer,
    phrase::counted,
    reason::{Finding, Reason, Severity},
};
use roster_lint::{FileFinding, LintRule, Report, ReviewedObject};
use roster_manifests::lint::{
    AnnotationWaivers, Baseline, FindingKey, IGNORE_ANNOTATION, LintFileFault, WaiverFault, Waivers, annotation_waivers,
};
use serde::Serialize;

use crate::cli::{exact_json::to_yaml, input_texts::InputTexts, messages, review::suppression::Suppression};

/// Arguments for findings that are accepted.
#[derive(Debug, Args)]
pub(super) struct SuppressionArgs {
    /// Do not report the findings in this file; see --write-baseline.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Write all errors and warnings into this file, as a baseline for later runs, and end with exit code 0.
    #[arg(long, value_name = "FILE", conflicts_with = "baseline")]
    pub(super) write_baseline: Option<PathBuf>,
    /// Accept the findings that this file names, each with its reason. In an object, the annotation
    /// `roster.dev/ignore: CODE=REASON` does the same.
    #[arg(long, value_name = "FILE")]
    waivers: Option<PathBuf>,
}

/// A finding that is not reported.
#[derive(Serialize)]
pub(super) struct SuppressedFinding<'a> {
    #[serde(flatten)]
    pub(super) finding: FileFinding<'a>,
    pub(super) suppression: Suppression,
}

/// What is known of accepted findings before a run.
#[derive(Default)]
pub(super) struct Suppressions {
    baseline: Baseline,
    waivers: Waivers,
}

impl SuppressionArgs {
    /// Reads the files.
    pub(super) fn read(&self) -> anyhow::Result<Suppressions> {
        let mut all = Suppressions::default();
        if let Some(path) = &self.baseline {
            all.baseline = parse(path, Baseline::read)?;
        }
        if let Some(path) = &self.waivers {
            all.waivers = parse(path, |json| Waivers::read(json, is_code))?;
        }
        Ok(all)
    }
}

/// Reads a file with one document.
fn parse<T>(path: &Path, read: impl Fn(&str) -> Result<T, LintFileFault>) -> anyhow::Result<T> {
    let texts = InputTexts::read(&[path.to_owned()])?;
    let (files, complete) = texts.files();
    let name = path.display();
    ensure!(complete, "{name} cannot be read");
    let mut documents = files.iter().flat_map(|f| &f.documents);
    let (Some(document), None) = (documents.next(), documents.next()) else {
        anyhow::bail!("{name}: has more than one document");
    };
    read(document.raw.get()).map_err(|LintFileFault { pointer, message }| {
        anyhow::anyhow!("{name}:{}: {message}", document.line_of(&pointer))
    })
}

fn is_code(code: &str) -> bool {
    Rule::ALL.iter().any(|r| r.code() == code)
        || Reason::ALL.iter().any(|r| r.code() == code)
        || LintRule::ALL.iter().any(|r| r.code == code)
}

fn key<'k>(finding: &'k FileFinding<'_>) -> FindingKey<'k> {
    FindingKey { file: finding.file, object: &finding.object, code: finding.code.as_str(), field: &finding.field }
}

impl Suppressions {
    /// Takes the accepted findings out of the input.
    pub(super) fn apply<'a>(mut self, input: &mut Report<'a>) -> Vec<SuppressedFinding<'a>> {
        let mut suppressed = Vec::new();
        for object in &mut input.objects {
            let AnnotationWaivers { mut waivers, faults, more } = annotation_waivers(&object.document.raw, is_code);
            // Before: what is wrong with waivers can be accepted as other findings can.
            report(object, Reason::InvalidWaiver, invalid(&faults, more));
            let mut suppression = |finding: &FileFinding<'_>| {
                let key = key(finding);
                if let Some(reason) = waivers.reason(&key) {
                    return Some(Suppression::Annotation { reason: reason.to_owned() });
                }
                if let Some(reason) = self.waivers.reason(&key) {
                    return Some(Suppression::Waiver { reason: reason.to_owned() });
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
            report(object, Reason::UnusedWaiver, unused(&waivers));
        }
        self.warn_of_unused(&input.objects.iter().map(|o| o.file).collect());
        suppressed
    }

    /// Warns of what no finding needs any more, as far as `files` were read.
    fn warn_of_unused(&self, files: &BTreeSet<&str>) {
        if self.waivers.is_exhausted() {
            messages::warning(
                "not checked: whether the waivers accept all findings; too many of them have the same code",
            );
        }
        for waiver in self.waivers.unused() {
            messages::warning(&format!("the waiver of {} ({}) has no finding", waiver.code, waiver.reason));
        }
        let fixed = self.baseline.len_of(files);
        if fixed > 0 {
            let occur = if fixed == 1 { "occurs" } else { "occur" };
            let count = counted(fixed, "finding");
            messages::warning(&format!(
                "{count} in the baseline no longer {occur}; --write-baseline writes one without them"
            ));
        }
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
fn report(object: &mut ReviewedObject<'_>, code: Reason, messages: impl Iterator<Item = String>) {
    let annotations = Pointer::At("/metadata/annotations");
    let pointer = Some(Pointer::Key(&annotations, IGNORE_ANNOTATION).to_string());
    let finding = |message| Finding { pointer: pointer.clone(), ..Finding::new(code, object.key.clone(), message) };
    let found: Vec<Finding> = messages.map(finding).collect();
    object.add_workload_findings(found.iter());
}

/// Writes the errors and warnings of a run as a baseline. Returns their number.
pub(super) fn write_baseline(path: &Path, input: &Report<'_>) -> anyhow::Result<usize> {
    let mut baseline = Baseline::default();
    let findings = input.objects.iter().flat_map(|o| o.input_findings.iter().chain(&o.rule_findings));
    findings.filter(|f| f.severity > Severity::Info).for_each(|f| baseline.add(&key(f)));
    let text = to_yaml(&baseline.document())?;
    #[expect(
        clippy::disallowed_methods,
        reason = "the command line is a shell: it writes the file that it was asked for"
    )]
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(baseline.len())
}
