//! `roster convert`: objects in another version, or as another kind.

use std::path::PathBuf;

use clap::{
    Args, ValueEnum,
    builder::{PossibleValuesParser, TypedValueParser},
};
use serde_json::value::RawValue;

use super::{
    Outcome, output,
    output::Format,
    raw,
    table::{DIM, Table},
    texts::Texts,
};
use crate::{
    convert::{self, Converted, Target},
    decode::Document,
};

/// Convert objects to another version or kind, and tell what is lost.
///
/// Endpoints become EndpointSlices as the mirroring controller makes them, but under a label
/// endpointslice.kubernetes.io/managed-by of their own: remove the Endpoints when you apply the slices, or label them
/// endpointslice.kubernetes.io/skip-mirror: "true", or their addresses are published twice. EndpointSlices become one
/// Endpoints object for each Service. Versions of EndpointSlice and of `EndpointPolicy` are converted as API servers do.
/// Other objects stay as they are. What is lost is told on standard error.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 nothing was lost, 1 something was, 2 wrong use, or an object that cannot be read or converted."
)]
pub(super) struct ConvertArgs {
    /// What to convert to: a kind, or a version of EndpointSlice or `EndpointPolicy`.
    #[arg(long, value_name = "KIND|VERSION", value_parser = targets())]
    to: Target,
    /// Read objects from this file, from all *.yaml, *.yml and *.json (also .gz) of this directory and of those
    /// below it, or from standard input (-). Several may be given.
    #[arg(short, long = "filename", value_name = "FILE|DIR|-", required = true)]
    files: Vec<PathBuf>,
    /// Form of the objects.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: Form,
}

/// Form of the objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Form {
    /// YAML documents.
    #[default]
    Yaml,
    /// One JSON document: the object, or a List of several.
    Json,
    /// One line of JSON for each object.
    Ndjson,
}

impl From<Form> for Format {
    fn from(form: Form) -> Self {
        match form {
            Form::Yaml => Self::Yaml,
            Form::Json => Self::Json,
            Form::Ndjson => Self::Ndjson,
        }
    }
}

fn targets() -> impl TypedValueParser<Value = Target> {
    PossibleValuesParser::new(Target::ALL.map(Target::as_str)).try_map(|text| text.parse::<Target>())
}

impl ConvertArgs {
    pub(super) fn run(&self) -> anyhow::Result<Outcome> {
        let texts = Texts::read(&self.files)?;
        let (files, mut complete) = texts.files();
        let all: Vec<(&str, Document<'_>)> =
            files.into_iter().flat_map(|f| f.documents.into_iter().map(move |d| (f.name, d))).collect();
        let objects: Vec<_> = all.iter().map(|(_, d)| d.raw.as_ref()).collect();
        let converted = convert::objects(&objects, self.to);
        for failed in &converted.failed {
            complete = false;
            let place = all.get(failed.index).map(|(name, d)| format!("{name}:{}: ", d.line)).unwrap_or_default();
            output::error(&anyhow::anyhow!("{place}{}: {}", failed.object, failed.why));
        }
        let items: Vec<&RawValue> = converted.items.iter().map(AsRef::as_ref).collect();
        raw::print(&items, self.output.into())?;
        tell(&converted)?;
        Ok(match (complete, converted.lost.is_empty()) {
            (false, _) => Outcome::BadInput,
            (true, false) => Outcome::Findings,
            (true, true) => Outcome::Fine,
        })
    }
}

/// What was lost, on standard error: standard output is for the objects.
fn tell(converted: &Converted) -> anyhow::Result<()> {
    if converted.lost.is_empty() {
        return Ok(());
    }
    let mut table = Table::new(["LOST OF", "FIELD", "MORE", "WHY"]);
    for lost in &converted.lost {
        let more = if lost.more > 0 { format!("+{}", lost.more) } else { String::new() };
        table.push([
            lost.object.to_string().into(),
            lost.field.as_str().into(),
            super::table::Cell::styled(more, DIM),
            lost.why.as_str().into(),
        ]);
    }
    Ok(table.print_beside()?)
}
