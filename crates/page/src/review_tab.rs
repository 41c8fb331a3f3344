//! The tab `Review`: what the admission webhook would answer for the objects, or for one that is about to be written.

use std::path::PathBuf;

use roster_admission::offline_review::OfflineReview;
use roster_engine::{model::defaults::DEFAULT_NAMESPACE, phrase::counted, reason::Severity};
use roster_lint::{
    FileFinding, FileOrigin, FindingEffect, InputFile, LintOptions, ManifestTexts, Report, ReviewedObject,
    SortedManifests, UnreadableFile, review,
};
use roster_manifests::decode::Source;

use crate::{
    PageFault,
    code_note::{code_note, severity_word},
    html::Html,
    limits::{MAX_FINDINGS, MAX_OBJECT, MAX_ROWS},
};

/// The name of the input in findings.
const INPUT: &str = "input";

/// The texts of a review.
pub(crate) struct ReviewTexts<'s> {
    source: Source<'s>,
    /// The objects of the input.
    known: ManifestTexts<'s>,
    /// The object that is about to be written. If there is none, those of the input are.
    written: Option<ManifestTexts<'s>>,
}

impl<'s> ReviewTexts<'s> {
    /// The texts of the input and of the object that is about to be written, which may be empty.
    pub(crate) fn of(text: &'s str, object: &'s str, source: &Source<'s>) -> Self {
        // The review has findings of its own about what an API server refuses.
        let source = Source { finds_refused: false, ..*source };
        let written = (!object.trim().is_empty()).then(|| texts(object, source));
        Self { source, known: texts(text, source), written }
    }

    /// Reviews the objects.
    pub(crate) fn review(&self) -> Result<PageReview<'_>, PageFault> {
        let known = self.known.sorted(PathBuf::new());
        let (reviewed, stored): (SortedManifests<'_>, Vec<InputFile<'_>>) = match &self.written {
            None => (known, Vec::new()),
            Some(written) => (written.sorted(PathBuf::new()), known.manifests.files),
        };
        // The values of an object take many times its text, and an API server stores none that is so long. As JSON, an object may be
        // longer than it was in YAML.
        let mut documents = reviewed.manifests.files.iter().chain(&stored).flat_map(|file| &file.documents);
        if documents.any(|document| document.raw.get().len() > 2 * MAX_OBJECT) {
            return Err(PageFault::ObjectTooLong);
        }
        let options = LintOptions { stored: &stored, ..LintOptions::of(self.source, DEFAULT_NAMESPACE, MAX_FINDINGS) };
        let report = review(reviewed.manifests, &options)?;
        Ok(PageReview { report, unreadable: reviewed.unreadable, is_written: self.written.is_some() })
    }
}

/// The answers of a review.
pub(crate) struct PageReview<'a> {
    report: Report<'a>,
    unreadable: Vec<UnreadableFile<'a>>,
    /// Whether they are for the object that is about to be written.
    is_written: bool,
}

impl PageReview<'_> {
    /// Writes the tab. `object` is the text of the object that is about to be written, and `service` the chosen Service.
    pub(crate) fn write(&self, html: &mut Html, object: &str, service: &str) {
        form(html, object);
        for unreadable in self.unreadable.iter().take(MAX_FINDINGS) {
            html.leaf("p", &[("class", "problem")], unreadable);
        }
        write_notes(html, &self.report);
        let mut answers: Vec<(&ReviewedObject<'_>, &OfflineReview)> = self.report.answers().collect();
        let is_plain = |of: &(&ReviewedObject<'_>, &OfflineReview)| {
            let is_whole = of.0.unchecked_rules(of.1).next().is_none();
            is_whole && of.1.allowed && of.0.answer_findings().next().is_none() && of.1.decision.patch.is_empty()
        };
        let is_chosen = |of: &ReviewedObject<'_>| {
            self.is_written || service.split_once('/') == Some((&of.key.namespace, &of.key.name))
        };
        // Stable: objects stay in their order.
        answers.sort_by_key(|of| (!is_chosen(of.0), is_plain(of), of.1.allowed));
        let (shown, plain): (Vec<_>, Vec<_>) = answers.into_iter().partition(|of| is_chosen(of.0) || !is_plain(of));
        if shown.is_empty() && plain.is_empty() {
            html.leaf(
                "p",
                &[("class", "empty")],
                "The webhook reviews Services, Endpoints and EndpointSlices; there are none.",
            );
        }
        // What is chosen is sorted to the front.
        let of_service = shown.iter().take_while(|of| is_chosen(of.0)).count();
        let (chosen, others) = shown.split_at(of_service);
        section(html, if self.is_written { "What you write" } else { "This Service" }, chosen);
        section(html, "Other objects", others);
        let more = [chosen, others].map(|part| part.len().saturating_sub(MAX_ROWS)).iter().sum();
        if more > 0 {
            html.leaf("p", &[("class", "more")], format_args!("and {} with findings", counted(more, "more object")));
        }
        if !plain.is_empty() {
            html.leaf(
                "p",
                &[("class", "more")],
                format_args!("{} allowed without a finding.", counted(plain.len(), "other object")),
            );
        }
    }
}

/// What is wrong with what is in force, and what was not checked.
fn write_notes(html: &mut Html, report: &Report<'_>) {
    let not_checked = report.not_checked().into_iter().map(|text| (Severity::Warning, text));
    let unlisted = report.unlisted().map(|finding| finding.note());
    let notes = report.notes.iter().chain(&unlisted).map(|note| (note.severity, note.text.clone()));
    for (severity, text) in notes.chain(not_checked).take(MAX_FINDINGS) {
        html.element("p", &[("class", "note")], |html| {
            html.leaf("b", &[("class", severity_word(severity))], severity_word(severity));
            html.text(" ");
            html.text(text);
        });
    }
}

/// The text as manifests.
fn texts<'s>(text: &'s str, source: Source<'s>) -> ManifestTexts<'s> {
    let mut texts = ManifestTexts::new(source);
    if !text.trim().is_empty() {
        texts.add_text(INPUT.to_owned(), text, FileOrigin::Apart);
    }
    texts
}

fn form(html: &mut Html, object: &str) {
    html.leaf(
        "p",
        &[("class", "note")],
        "What Roster's admission webhook would answer, if your cluster has it installed and these objects were written now.",
    );
    html.element("details", &[("id", "review-object")], |html| {
        html.leaf("summary", &[], "Review an object that you are about to write");
        html.element("form", &[("data-fields", "")], |html| {
            html.element("label", &[], |html| {
                html.leaf(
                    "span",
                    &[],
                    "A Service, Endpoints or an EndpointSlice, as YAML; empty for the objects of the input",
                );
                let field = [("name", "object"), ("rows", "8"), ("spellcheck", "false"), ("id", "object")];
                html.text_field(&field, object);
            });
            html.leaf("button", &[("type", "submit"), ("id", "review")], "Review");
        });
    });
}

/// Writes answers below a heading, if there are any.
fn section(html: &mut Html, heading: &'static str, answers: &[(&ReviewedObject<'_>, &OfflineReview)]) {
    if answers.is_empty() {
        return;
    }
    html.leaf("h3", &[], heading);
    answers.iter().take(MAX_ROWS).for_each(|(object, answer)| write_answer(html, object, answer));
}

fn write_answer(html: &mut Html, object: &ReviewedObject<'_>, answer: &OfflineReview) {
    html.element("section", &[("class", "review")], |html| {
        let findings: Vec<&FileFinding<'_>> = object.answer_findings().collect();
        html.element("h4", &[], |html| {
            html.text(&object.key);
            html.text(": ");
            let warnings = findings.iter().filter(|finding| finding.severity == Severity::Warning).count();
            let (class, word) = match (answer.allowed, answer.decision.patch.is_empty()) {
                (false, _) => ("error", "denied"),
                (true, false) => ("warning", "allowed, and changed"),
                (true, true) if warnings > 0 => ("warning", "allowed"),
                (true, true) => ("ok", "allowed"),
            };
            let with = if warnings > 0 { format!(", with {}", counted(warnings, "warning")) } else { String::new() };
            html.leaf("span", &[("class", class)], format_args!("{word}{with}"));
        });
        html.element("ul", &[("class", "causes")], |html| {
            findings
                .iter()
                .take(MAX_FINDINGS)
                .for_each(|finding| html.element("li", &[], |html| write_finding(html, finding)));
        });
        if !answer.decision.patch.is_empty() {
            html.leaf("h5", &[], "The patch");
            // A list of operations always serializes.
            let patch = serde_json::to_string_pretty(&answer.decision.patch).unwrap_or_default();
            html.leaf("pre", &[("tabindex", "0")], patch);
        }
        let unchecked: Vec<_> = object.unchecked_rules(answer).collect();
        if !unchecked.is_empty() {
            html.element("details", &[], |html| {
                html.leaf("summary", &[], format_args!("{} not checked", counted(unchecked.len(), "rule")));
                html.element("ul", &[], |html| {
                    for (rule, why) in &unchecked {
                        html.leaf("li", &[], format_args!("{}: {why}", rule.code()));
                    }
                });
            });
        }
    });
}

fn write_finding(html: &mut Html, finding: &FileFinding<'_>) {
    code_note(html, finding.code, finding.severity);
    html.element("p", &[], |html| {
        // The severity of a warning says it already.
        if finding.effect != FindingEffect::Warned {
            html.leaf("b", &[], finding.effect.word());
            html.text(": ");
        }
        if !finding.field.is_empty() {
            html.leaf("code", &[], &finding.field);
            html.text(": ");
        }
        html.text(&finding.message);
    });
}
