//! `roster convert`: objects in another version, or as another kind.

use std::{io::Write, path::PathBuf};

use anyhow::ensure;
use clap::{
    Args, ValueEnum,
    builder::{PossibleValuesParser, TypedValueParser},
};
use serde::{Serialize, Serializer, ser::SerializeStruct};

use super::{
    Outcome, Output, input, output,
    output::Format,
    raw::Exact,
    table::{DIM, Table},
};
use crate::{
    convert::{self, Converted, Target},
    decode::{self, Document, Source},
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
    /// Read objects from this file, from all *.yaml, *.yml and *.json (also .gz) of this directory, or from
    /// standard input (-). Several may be given.
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

fn targets() -> impl TypedValueParser<Value = Target> {
    PossibleValuesParser::new(Target::ALL.map(Target::as_str)).try_map(|text| text.parse::<Target>())
}

/// A text with objects, and its name.
struct Text {
    name: String,
    json: String,
}

impl ConvertArgs {
    pub(super) fn run(&self) -> anyhow::Result<Outcome> {
        let (texts, mut complete) = self.read()?;
        let mut all: Vec<(&str, Document<'_>)> = Vec::new();
        for Text { name, json } in &texts {
            let documents = decode::documents(json, &Source::file(name))?;
            all.extend(documents.into_iter().map(|d| (name.as_str(), d)));
        }
        let objects: Vec<_> = all.iter().map(|(_, d)| d.raw.as_ref()).collect();
        let converted = convert::objects(&objects, self.to);
        for failed in &converted.failed {
            complete = false;
            let place = all.get(failed.index).map(|(name, d)| format!("{name}:{}: ", d.line)).unwrap_or_default();
            output::error(&anyhow::anyhow!("{place}{}: {}", failed.object, failed.why));
        }
        self.print(&converted)?;
        tell(&converted)?;
        Ok(match (complete, converted.lost.is_empty()) {
            (false, _) => Outcome::BadInput,
            (true, false) => Outcome::Findings,
            (true, true) => Outcome::Fine,
        })
    }

    /// What the files hold, and whether all of them could be read.
    fn read(&self) -> anyhow::Result<(Vec<Text>, bool)> {
        let (mut texts, mut failed) = (Vec::new(), Vec::new());
        for path in input::expand(&self.files)? {
            let read = input::open(&path).and_then(|(name, input)| {
                let json = decode::text(input, &Source::file(&name))?;
                Ok(Text { name, json })
            });
            match read {
                Ok(text) => texts.push(text),
                Err(error) => failed.push(error),
            }
        }
        failed.iter().for_each(output::error);
        ensure!(!texts.is_empty(), "nothing could be read");
        Ok((texts, failed.is_empty()))
    }

    fn print(&self, converted: &Converted) -> anyhow::Result<()> {
        let items = converted.items.iter().map(|raw| Exact { raw, json: self.output != Form::Yaml });
        let mut items: Vec<Exact<'_>> = items.collect();
        let format = match self.output {
            Form::Yaml => Format::Yaml,
            Form::Json => Format::Json,
            Form::Ndjson => Format::Ndjson,
        };
        let mut out = Output::stdout(format);
        match self.output {
            Form::Json if items.len() == 1 => out.document(format, &items.remove(0))?,
            Form::Json => out.document(format, &List(&items))?,
            Form::Ndjson => items.iter().try_for_each(|item| out.document(format, item))?,
            Form::Yaml => {
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        out.write_all(b"---\n")?;
                    }
                    out.document(format, item)?;
                }
            }
        }
        Ok(out.flush()?)
    }
}

/// `v1 List`, as kubectl prints several objects.
struct List<'a>(&'a [Exact<'a>]);

impl Serialize for List<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut list = s.serialize_struct("List", 3)?;
        list.serialize_field("apiVersion", "v1")?;
        list.serialize_field("kind", "List")?;
        list.serialize_field("items", self.0)?;
        list.end()
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
