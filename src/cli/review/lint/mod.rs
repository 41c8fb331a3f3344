//! `roster lint`: what is wrong with manifests, and where.

mod github;
mod junit;
mod lint_table;
mod suppressions;

use std::io::Write;

use clap::{Args, ValueEnum};
use roster_engine::{
    phrase::counted,
    reason::{Reason, Severity},
};
use roster_lint::{FileFinding, FindingCode, LintRun, baseline_of};

use super::{print_note, rendered_places, sarif, source_args::SourceArgs};
use crate::cli::{
    help_end::help_end,
    messages,
    outcome::Outcome,
    output::{Output, OutputFormat},
    printable::printable,
};
use suppressions::{SeverityArgs, SuppressionArgs, write_baseline};

/// Find mistakes in manifests before you apply them, each with its file and line.
///
/// Roster checks three things. Would an API server refuse the object: unknown fields, types, names, ports? Do the
/// objects fit together: selectors, ports, references? Would `roster review` deny an object, or warn about it?
///
/// Directories may have other YAML as well: templates with {{ or ${NAME}, charts, kustomizations, patches, and files
/// without apiVersion and kind are skipped and counted.
#[derive(Debug, Args)]
#[command(
    after_help = help_end!(
    "Exit codes: 0 no errors, 1 there is an error (or a warning, with --warnings-as-errors), 2 usage error, or a \
                  document that is neither JSON nor YAML, which is a finding as well.",
    "roster lint deploy/",
    "roster lint -k overlays/prod              # what kustomize makes of it",
    "roster lint deploy/ -o sarif > lint.sarif",
)
)]
pub(in crate::cli) struct LintArgs {
    #[command(flatten)]
    sources: SourceArgs,
    #[command(flatten)]
    suppressions: SuppressionArgs,
    #[command(flatten)]
    severities: SeverityArgs,
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
        let (accepted, severities) = (self.suppressions.read()?, self.severities.read()?);
        let context_texts = self.sources.read_context()?;
        let context = self.sources.context(&context_texts)?;
        let rendered = self.sources.render()?;
        let files = self.sources.manifests(&rendered)?;
        let mut run = roster_lint::check(files.manifests(), &context.options())?;
        run.report.complete &= context.complete;
        rendered_places::add(&mut run.report, &rendered);
        run.set_severities(&severities);
        run.suppress(accepted);
        run.report.notes.iter().for_each(print_note);
        if run.report.objects.is_empty() && run.report.complete {
            messages::warning("no manifest to check");
        }
        if let Some(path) = &self.suppressions.write_baseline {
            // A baseline accepts findings about objects: these files have to be read first.
            run.unreadable.iter().for_each(|finding| print_note(&finding.note()));
            let baseline = baseline_of(&run.report);
            write_baseline(path, &baseline)?;
            messages::note(&format!("{} written to {}", counted(baseline.len(), "finding"), path.display()));
            return Ok(Outcome::of(run.report.complete, false));
        }
        self.print(&run)?;
        Ok(self.sources.outcome(run.report.complete, run.findings().map(|f| f.severity).max()))
    }

    fn print(&self, run: &LintRun<'_>) -> anyhow::Result<()> {
        let is_table = matches!(self.output, LintFormat::Table | LintFormat::Wide);
        let mut out = Output::stdout(if is_table { OutputFormat::Table } else { OutputFormat::Json });
        let summary = run.summary();
        let serious = || run.findings().filter(|f| f.severity > Severity::Info);
        let document = || run.document(&summary);
        match self.output {
            LintFormat::Table => {
                let hidden = run.findings().filter(|f| !is_listed(f)).count();
                lint_table::print(run.findings().filter(|f| is_listed(f)), &summary, hidden, &mut out)?;
            }
            LintFormat::Wide => {
                lint_table::print_omitted(&run.suppressed, &run.skipped, &mut out)?;
                lint_table::print(run.findings(), &summary, 0, &mut out)?;
            }
            LintFormat::Json => out.document(OutputFormat::Json, &document())?,
            LintFormat::Yaml => out.document(OutputFormat::Yaml, &document())?,
            LintFormat::Sarif => {
                let suppressed = run.suppressed.iter().map(|s| (&s.finding, Some(&s.suppression)));
                let all = run.findings().map(|f| (f, None)).chain(suppressed);
                out.document(OutputFormat::Json, &sarif::log_with_suppressed(all, run.report.complete))?;
            }
            LintFormat::Github => {
                github::print(serious(), &mut out)?;
                writeln!(out, "{}", printable(&summary.text()))?;
            }
            LintFormat::Junit => junit::print(&run.report, &run.unreadable, self.sources.least(), &mut out)?,
        }
        Ok(out.flush()?)
    }
}

/// Whether the table for people has a finding: it matters, or it says that something that matters was not checked.
fn is_listed(finding: &FileFinding<'_>) -> bool {
    finding.severity > Severity::Info || finding.code == FindingCode::Reason(Reason::SelectorNotChecked)
}
