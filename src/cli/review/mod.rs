//! `roster review` and `roster lint`: objects in files, as the webhook would see them.
//!
//! Both review the same objects. `review` prints the answer for each object: allowed or denied, patch, warnings.
//! `lint` prints what is wrong with the files, and where: objects that cannot be read or that an API server would refuse,
//! objects that rules deny, Services that do not fit their workloads.

mod lint;
mod rendered_places;
mod review_documents;
mod review_table;
mod sarif;
mod source_args;

use std::io::Write;

use clap::{Args, ValueEnum};
use serde_json::value::{RawValue, to_raw_value};

use super::{
    help_end::help_end,
    messages,
    outcome::Outcome,
    output::{Output, OutputFormat},
    printable::printable,
};
pub(super) use lint::LintArgs;
use review_documents::ReviewDocument;
use roster_engine::reason::{Reason, Severity};
use roster_lint::{FileFinding, FindingCode, FindingEffect, Note, Report, ReviewedObject, SortedManifests};
use roster_manifests::lint::Skip;
use source_args::SourceArgs;

/// Show the admission webhook's answer for objects, without a cluster.
///
/// Services, Endpoints and EndpointSlices (v1 and v1beta1) are reviewed as at admission: rules first change them, then
/// allow or deny them. Roster also denies objects that an API server would not store, unless they come from a cluster.
/// A recorded `AdmissionReview` gets the answer of each webhook.
///
/// All other objects describe the cluster: Pods, Nodes, Namespaces, Services, slices. If the input lacks a kind, rules
/// about this kind are skipped. Every `EndpointPolicy` in the input is in force. All namespaces are reviewed; in a
/// cluster, the webhook configurations select them.
#[derive(Debug, Args)]
#[command(
    after_help = help_end!(
    "Exit codes: 0 all objects are allowed, 1 an object is denied or does not fit its workloads (or has a \
                  warning, with --warnings-as-errors), 2 usage error or unreadable input.",
    "roster review -f service.yaml",
    "roster review -f deploy/ -o objects       # as the webhook would store them",
)
)]
pub(super) struct ReviewArgs {
    #[command(flatten)]
    sources: SourceArgs,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: ReviewFormat,
}

/// Output format of a review.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ReviewFormat {
    /// A table for people.
    #[default]
    Table,
    /// A table with all details: places, fields, audit annotations.
    Wide,
    /// One JSON document: for each object the decision, the patch, the findings and the changed object.
    Json,
    /// The same in YAML.
    Yaml,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// All objects of the input except those denied, as YAML; objects that rules change are printed as they would be stored.
    Objects,
}

impl ReviewArgs {
    pub(super) fn run(&self) -> anyhow::Result<Outcome> {
        let rendered = self.sources.render()?;
        let context_texts = self.sources.read_context()?;
        let context = self.sources.context(&context_texts)?;
        let files = self.sources.manifests(&rendered)?;
        let SortedManifests { manifests, skipped, unreadable } = files.manifests();
        for file in &unreadable {
            messages::error(&anyhow::anyhow!("{file}"));
        }
        let mut input = roster_lint::review(manifests, &context.options())?;
        input.complete &= context.complete;
        input.notes.iter().for_each(print_note);
        rendered_places::add(&mut input, &rendered);
        // Findings about the input are not part of an answer: they go to standard error.
        for finding in input.objects.iter().flat_map(|o| &o.input_findings).filter(|f| is_printed(f)) {
            input.complete &= finding.effect != FindingEffect::Invalid;
            print_note(&finding.note());
        }
        let unlisted = input.unlisted();
        if let Some(finding) = &unlisted {
            print_note(&finding.note());
        }
        input.complete &= unlisted.is_none();
        if self.output == ReviewFormat::Objects {
            print_objects(&input)?;
        } else {
            self.print(&input)?;
        }
        let skipped = Skip::counts(skipped.iter().map(|file| file.why));
        if !skipped.is_empty() {
            messages::note(&format!("not reviewed: {}", skipped.join(", ")));
        }
        let of_input = input.objects.iter().flat_map(|o| &o.input_findings);
        let of_input = of_input.filter(|f| is_printed(f) || f.effect == FindingEffect::Unfit);
        let worst = input.answer_findings().chain(of_input).map(|f| f.severity).max();
        Ok(self.sources.outcome(input.complete, worst))
    }

    fn print(&self, input: &Report<'_>) -> anyhow::Result<()> {
        let mut out = Output::stdout(if self.is_table() { OutputFormat::Table } else { OutputFormat::Json });
        match self.output {
            ReviewFormat::Table | ReviewFormat::Wide | ReviewFormat::Objects => {
                review_table::print_reviews(input, self.output == ReviewFormat::Wide, &mut out)?;
            }
            ReviewFormat::Json => out.document(OutputFormat::Json, &ReviewDocument::of(input))?,
            ReviewFormat::Yaml => out.document(OutputFormat::Yaml, &ReviewDocument::of(input))?,
            ReviewFormat::Sarif => {
                out.document(OutputFormat::Json, &sarif::log(input.answer_findings(), input.complete))?;
            }
        }
        Ok(out.flush()?)
    }

    fn is_table(&self) -> bool {
        matches!(self.output, ReviewFormat::Table | ReviewFormat::Wide)
    }
}

/// Prints a message on standard error.
fn print_note(note: &Note) {
    // A line end in a name must not begin a message of its own.
    let text = printable(&note.text).into_owned();
    if note.severity == Severity::Error {
        messages::error(&anyhow::Error::msg(text));
    } else {
        messages::warning(&text);
    }
}

/// Whether a finding about the input is printed on standard error.
fn is_printed(finding: &FileFinding<'_>) -> bool {
    let is_repeated = finding.code == FindingCode::Reason(Reason::DuplicateKey);
    finding.severity == Severity::Error || finding.is_of_policy() || is_repeated
}

/// Prints all objects except those denied, so that the next command of a pipeline can apply them. Objects that rules
/// change are printed as they would be stored. Findings go to standard error.
fn print_objects(input: &Report<'_>) -> anyhow::Result<()> {
    let changed: Vec<Option<Box<RawValue>>> = input
        .objects
        .iter()
        .map(|object| object.answer.as_ref().and_then(|a| a.object.as_ref()).map(to_raw_value).transpose())
        .collect::<Result<_, _>>()?;
    let allowed = |object: &ReviewedObject<'_>| object.answer.as_ref().is_none_or(|a| a.allowed);
    let all = input.objects.iter().zip(&changed).filter(|(object, _)| allowed(object));
    let all = all.map(|(object, changed)| changed.as_deref().unwrap_or(&object.document.raw));
    Output::stdout(OutputFormat::Yaml).objects(OutputFormat::Yaml, &all.collect::<Vec<_>>())?;
    let findings = input.objects.iter().flat_map(|o| &o.rule_findings);
    findings.filter(|f| f.severity > Severity::Info).for_each(|finding| print_note(&finding.note()));
    Ok(())
}
