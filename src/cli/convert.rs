//! `roster convert`: objects in another version, or as another kind.

use std::path::PathBuf;

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use roster_admission::convert::{Conversion, ConversionTarget, convert_objects};
use roster_manifests::decode::Document;
use serde_json::value::RawValue;

use super::{
    help_end::help_end,
    input_texts::InputTexts,
    messages,
    outcome::Outcome,
    output::{Output, command_formats},
    style::DIM,
    table::{Cell, Table},
};

/// Convert objects to another version or kind, and report losses.
///
/// Endpoints become EndpointSlices as in the mirroring controller, with another label
/// endpointslice.kubernetes.io/managed-by. When you apply the slices, delete the Endpoints, or label them
/// endpointslice.kubernetes.io/skip-mirror: "true". Otherwise their addresses are published twice.
///
/// EndpointSlices become one Endpoints object for each Service. Versions of EndpointSlice and `EndpointPolicy` are
/// converted as in API servers. Other objects are printed unchanged. Lost fields are listed on standard error.
#[derive(Debug, Args)]
#[command(
    after_help = help_end!(
    "Exit codes: 0 nothing was lost, 1 something was lost, 2 usage error, or an object that cannot be read or converted.",
    "roster convert --to EndpointSlice endpoints.yaml",
    "kubectl get endpointslices -o yaml | roster convert --to Endpoints -f -",
)
)]
pub(super) struct ConvertArgs {
    /// What to convert to: a kind, or a version of EndpointSlice or `EndpointPolicy`.
    #[arg(long, value_name = "KIND|VERSION", value_parser = targets())]
    to: ConversionTarget,
    /// Read objects from this file, from every *.yaml, *.yml and *.json (also .gz) in this directory and below it, or
    /// from standard input (-). May be given several times.
    #[arg(short, long = "filename", value_name = "FILE|DIR|-")]
    files: Vec<PathBuf>,
    /// The same as -f.
    #[arg(value_name = "FILE|DIR|-", required_unless_present = "files")]
    paths: Vec<PathBuf>,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: ObjectFormat,
}

command_formats! {
    /// Output format of objects.
    ObjectFormat {
        /// YAML documents.
        Yaml => Yaml,
        /// One JSON document: the object, or a List of several.
        Json => Json,
        /// One line of JSON for each object.
        Ndjson => Ndjson,
    }
}

fn targets() -> impl TypedValueParser<Value = ConversionTarget> {
    PossibleValuesParser::new(ConversionTarget::ALL.map(ConversionTarget::as_str))
        .try_map(|text| text.parse::<ConversionTarget>())
}

impl ConvertArgs {
    pub(super) fn run(&self) -> anyhow::Result<Outcome> {
        let paths: Vec<PathBuf> = self.files.iter().chain(&self.paths).cloned().collect();
        let texts = InputTexts::read(&paths)?;
        let (files, mut complete) = texts.files();
        let all: Vec<(&str, Document<'_>)> =
            files.into_iter().flat_map(|f| f.documents.into_iter().map(move |d| (f.name, d))).collect();
        let objects: Vec<_> = all.iter().map(|(_, d)| d.raw.as_ref()).collect();
        let converted = convert_objects(&objects, self.to);
        for failed in &converted.failed {
            complete = false;
            let place = all.get(failed.index).map(|(name, d)| format!("{name}:{}: ", d.line)).unwrap_or_default();
            messages::error(&anyhow::anyhow!("{place}{}: {}", failed.object, failed.why));
        }
        let items: Vec<&RawValue> = converted.items.iter().map(AsRef::as_ref).collect();
        Output::stdout(self.output.document()).objects(self.output.document(), &items)?;
        report_losses(&converted)?;
        Ok(Outcome::of(complete, !converted.lost.is_empty()))
    }
}

/// Prints what was lost on standard error: standard output is for the objects.
fn report_losses(converted: &Conversion) -> anyhow::Result<()> {
    if converted.lost.is_empty() {
        return Ok(());
    }
    let mut table = Table::new(["OBJECT", "LOST FIELD", "MORE", "REASON"]);
    for lost in &converted.lost {
        let more = if lost.more > 0 { format!("+{}", lost.more) } else { String::new() };
        table.push([
            lost.object.to_string().into(),
            lost.field.as_str().into(),
            Cell::styled(more, DIM),
            lost.why.as_str().into(),
        ]);
    }
    Ok(table.print_to_stderr()?)
}
