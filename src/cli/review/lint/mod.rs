//! `roster lint`: what is wrong with manifests, and where.

mod github;
mod junit;
mod lint_documents;
mod lint_table;
mod suppressions;

use std::{collections::BTreeSet, io::Write};

use clap::{Args, ValueEnum};
use roster_engine::{
    model::{ObjectKey, installed::POLICY_KIND},
    phrase::{clip, counted},
    reason::{Reason, Severity},
};
use roster_lint::{FileFinding, FindingCode, Report, ReviewedObject};

use super::{print_note, sarif, source_args::SourceArgs};
use crate::cli::{
    manifest_texts::{ManifestTexts, SkippedFile, UnreadableFile, UnreadablePlace},
    messages,
    outcome::Outcome,
    output::{Output, OutputFormat},
};
use lint_documents::{DocumentCounts, LintDocument, LintSummary};
use suppressions::{SuppressedFinding, SuppressionArgs, write_baseline};

/// Find mistakes in manifests before they are applied, each with its file and line.
///
/// Checks what an API server would refuse (unknown fields, types, names, ports, `EndpointPolicies` by the rules of their
/// version), what does not fit together (a selector that matches no workload, a targetPort that no container has), and what
/// `roster review` denies or warns about. Directories may hold other YAML as well: templates with {{ or ${NAME}, charts,
/// kustomizations and their patches, and files without apiVersion and kind are not checked, but counted.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 no errors, 1 there is an error (or a warning, with --warnings-as-errors), 2 usage error, or a \
                  document that is neither JSON nor YAML, which is a finding as well."
)]
pub(in crate::cli) struct LintArgs {
    #[command(flatten)]
    sources: SourceArgs,
    #[command(flatten)]
    suppressions: SuppressionArgs,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: LintFormat,
}

/// Output format of `roster lint`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum LintFormat {
    /// A table for people.
    #[default]
    Table,
    /// A table with all details: findings of severity info, what is suppressed, what was not checked.
    Wide,
    /// One JSON document.
    Json,
    /// The same in YAML.
    Yaml,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// Annotations of GitHub Actions.
    Github,
    /// `JUnit` XML: a test for each document.
    #[value(help = "JUnit XML: a test for each document")]
    Junit,
}

impl LintArgs {
    pub(in crate::cli) fn run(&self) -> anyhow::Result<Outcome> {
        let accepted = self.suppressions.read()?;
        let context_texts = self.sources.read_context()?;
        let context = self.sources.context(&context_texts)?;
        let rendered = self.sources.render.render(&self.sources.namespace)?;
        let mut texts = ManifestTexts::read(&self.sources.paths())?;
        texts.add_rendered(&rendered);
        let manifests = texts.manifests();
        let mut unreadable: Vec<FileFinding<'_>> = manifests.unreadable.into_iter().map(unreadable_finding).collect();
        let mut input = roster_lint::check(manifests.manifests, &context.options())?;
        input.complete &= context.complete;
        input.notes.iter().for_each(print_note);
        let skipped = manifests.skipped;
        unreadable.extend(input.unlisted());
        let suppressed = accepted.apply(&mut input);
        if input.objects.is_empty() && input.complete {
            messages::warning("no manifest to check");
        }
        if let Some(path) = &self.suppressions.write_baseline {
            // A baseline accepts findings about objects: these files have to be read first.
            unreadable.iter().for_each(|finding| print_note(&finding.note()));
            let count = write_baseline(path, &input)?;
            messages::note(&format!("{} written to {}", counted(count, "finding"), path.display()));
            return Ok(Outcome::of(input.complete, false));
        }
        let result = LintResult { input, unreadable, suppressed, skipped };
        self.print(&result)?;
        Ok(self.sources.outcome(result.input.complete, result.findings().map(|f| f.severity).max()))
    }

    fn print(&self, result: &LintResult<'_>) -> anyhow::Result<()> {
        let is_table = matches!(self.output, LintFormat::Table | LintFormat::Wide);
        let mut out = Output::stdout(if is_table { OutputFormat::Table } else { OutputFormat::Json });
        let summary = result.summary();
        let serious = || result.findings().filter(|f| f.severity > Severity::Info);
        let document =
            || LintDocument { items: result.findings().collect(), suppressed: &result.suppressed, summary: &summary };
        match self.output {
            LintFormat::Table => {
                let hidden = result.findings().filter(|f| !is_listed(f)).count();
                lint_table::print(result.findings().filter(|f| is_listed(f)), &summary, hidden, &mut out)?;
            }
            LintFormat::Wide => {
                lint_table::print_omitted(&result.suppressed, &result.skipped, &mut out)?;
                lint_table::print(result.findings(), &summary, 0, &mut out)?;
            }
            LintFormat::Json => out.document(OutputFormat::Json, &document())?,
            LintFormat::Yaml => out.document(OutputFormat::Yaml, &document())?,
            LintFormat::Sarif => {
                let suppressed = result.suppressed.iter().map(|s| (&s.finding, Some(&s.suppression)));
                let all = result.findings().map(|f| (f, None)).chain(suppressed);
                out.document(OutputFormat::Json, &sarif::log_with_suppressed(all, result.input.complete))?;
            }
            LintFormat::Github => {
                github::print(serious(), &mut out)?;
                writeln!(out, "{}", summary.text())?;
            }
            LintFormat::Junit => junit::print(&result.input, &result.unreadable, self.sources.least(), &mut out)?,
        }
        Ok(out.flush()?)
    }
}

fn unreadable_finding(unreadable: UnreadableFile<'_>) -> FileFinding<'_> {
    let UnreadableFile { file, place: UnreadablePlace { line, column, why, .. } } = unreadable;
    FileFinding::unreadable(file, line, column, why)
}

/// The kind of an object, with its group if it is not one of Kubernetes' own: other groups may have a kind of the same name.
fn kind_of(object: &ReviewedObject<'_>) -> String {
    let (kind, group) = (clip(&object.key.kind), object.api_group());
    let is_custom = group.contains('.') && !group.ends_with(".k8s.io");
    if is_custom { format!("{kind} of {}", clip(&group)) } else { kind.to_owned() }
}

/// Whether the table for people has a finding: it matters, or it says that something that matters was not checked.
fn is_listed(finding: &FileFinding<'_>) -> bool {
    finding.severity > Severity::Info || finding.code == FindingCode::Reason(Reason::SelectorNotChecked)
}

/// The findings of a run.
struct LintResult<'a> {
    input: Report<'a>,
    /// What of the files cannot be read.
    unreadable: Vec<FileFinding<'a>>,
    suppressed: Vec<SuppressedFinding<'a>>,
    skipped: Vec<SkippedFile>,
}

impl<'a> LintResult<'a> {
    /// The files that cannot be read, and the findings in the order of the objects, and of the lines in them.
    fn findings(&self) -> impl Iterator<Item = &FileFinding<'a>> {
        let of_objects = self.input.objects.iter().flat_map(|o| {
            let mut of_object: Vec<_> = o.input_findings.iter().chain(&o.rule_findings).collect();
            of_object.sort_by_key(|f| f.line);
            of_object
        });
        self.unreadable.iter().chain(of_objects)
    }

    fn summary(&self) -> LintSummary {
        let is_error = |f: &&FileFinding<'_>| f.severity == Severity::Error;
        let suppressed = self.suppressed.iter().map(|s| &s.finding).filter(is_error);
        let suppressed: BTreeSet<&ObjectKey> = suppressed.map(|f| &f.object).collect();
        let is_checked = |o: &ReviewedObject<'_>| {
            let is_reported = || o.input_findings.iter().any(|f| is_error(&f)) || suppressed.contains(&o.key);
            o.has_schema || o.unlisted.is_some() || o.answer.is_some() || o.key.kind == POLICY_KIND || is_reported()
        };
        let mut documents = DocumentCounts::default();
        for object in &self.input.objects {
            documents.add((!is_checked(object)).then(|| kind_of(object)));
        }
        LintSummary::of(documents, self.findings(), self.suppressed.len(), &self.skipped)
    }
}
