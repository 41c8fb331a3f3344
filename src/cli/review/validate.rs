//! `roster validate`: what is wrong with files, and where.

use std::io::Write;

use clap::{Args, ValueEnum};

use super::{
    file_finding::FileFinding,
    review_documents::{FindingCounts, ValidationDocument},
    review_table, reviewed_input, sarif,
    source_args::SourceArgs,
};
use crate::{
    cli::{
        outcome::Outcome,
        output::{Output, OutputFormat},
    },
    engine::reason::Severity,
};

/// Check files before they are applied: policies, objects, and what rules deny.
///
/// Checks every `EndpointPolicy` against the schema and the validation rules of its version, as an API server does.
/// Services, Pods, Nodes, Endpoints and EndpointSlices must be readable. Also reports what `roster review` denies or
/// warns about. Prints only findings, each with its file and line.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 no errors, 1 there is an error (or a warning, with --warnings-as-errors), 2 usage error, or a \
                  file that is neither JSON nor YAML."
)]
pub(in crate::cli) struct ValidateArgs {
    #[command(flatten)]
    sources: SourceArgs,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: ValidateFormat,
}

/// Output format of a validation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ValidateFormat {
    /// A table for people.
    #[default]
    Table,
    /// A table with all details, including audit annotations.
    Wide,
    /// One JSON document.
    Json,
    /// The same in YAML.
    Yaml,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
}

impl ValidateArgs {
    pub(in crate::cli) fn run(&self) -> anyhow::Result<Outcome> {
        let texts = self.sources.read()?;
        let mut input = reviewed_input::read(&self.sources, &texts)?;
        input.objects.iter_mut().flat_map(|o| &mut o.rule_findings).for_each(FileFinding::set_not_applied);
        let all = || input.objects.iter().flat_map(|o| o.input_findings.iter().chain(&o.rule_findings));
        let shown = || all().filter(|f| f.severity > Severity::Info);
        let is_table = matches!(self.output, ValidateFormat::Table | ValidateFormat::Wide);
        let mut out = Output::stdout(if is_table { OutputFormat::Table } else { OutputFormat::Json });
        let counts = FindingCounts::of(input.objects.len(), all());
        let document = || ValidationDocument { items: all().collect(), summary: counts };
        match self.output {
            ValidateFormat::Table => review_table::print_findings(shown(), &counts, &mut out)?,
            ValidateFormat::Wide => review_table::print_findings(all(), &counts, &mut out)?,
            ValidateFormat::Json => out.document(OutputFormat::Json, &document())?,
            ValidateFormat::Yaml => out.document(OutputFormat::Yaml, &document())?,
            ValidateFormat::Sarif => out.document(OutputFormat::Json, &sarif::log(all(), input.complete))?,
        }
        out.flush()?;
        let worst = all().map(|f| f.severity).max();
        Ok(self.sources.outcome(input.complete, worst))
    }
}
