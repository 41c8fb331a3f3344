//! The JSON, YAML and names of `roster explain`.

use std::io::Write;

use roster_engine::explain::{Explanation, ServedTotals};
use roster_manifests::inventory::whole;
use serde::Serialize;

use super::{explainer::Explainer, node_uses::NodeUses};
use crate::cli::{
    output::{ItemWriter, Output, OutputFormat},
    printable::printable,
};

/// An explanation, and what a node uses of it.
#[derive(Serialize)]
struct ExplainedService<'a> {
    #[serde(flatten)]
    explanation: &'a Explanation,
    #[serde(skip_serializing_if = "Option::is_none")]
    view: Option<NodeUses>,
}

/// Writes every explanation as soon as it is known. Returns whether there is a warning or an error.
pub(super) fn print(explainer: &Explainer<'_>, format: OutputFormat, out: &mut Output) -> anyhow::Result<bool> {
    let mut items = ItemWriter::start(out, format)?;
    let (mut totals, mut attention) = (ServedTotals::default(), false);
    explainer.each(
        |entry, explanation| {
            let finding = explanation.needs_attention();
            let shown = finding || !explainer.problems_only;
            let view = explainer.uses(entry, &explanation);
            let item = ExplainedService { explanation: &explanation, view };
            let text = shown.then(|| ItemWriter::item(format, &item)).transpose();
            text.map(|text| (text, ServedTotals::of(&explanation), finding))
        },
        |item| {
            let (text, part, finding) = item?;
            totals.add(part);
            attention |= finding;
            text.map_or(Ok(()), |text| items.write(&text))
        },
    )?;
    items.end(&whole::last_line(&totals, explainer.index.problems()))?;
    Ok(attention)
}

/// Writes the namespace and name of every Service. Returns whether one has a warning or an error.
pub(super) fn print_names(explainer: &Explainer<'_>, out: &mut Output) -> anyhow::Result<bool> {
    let mut attention = false;
    explainer.each(
        |entry, explanation| (format!("{}/{}", entry.namespace, entry.name), explanation.needs_attention()),
        |(name, finding)| {
            attention |= finding;
            if finding || !explainer.problems_only {
                writeln!(out, "{}", printable(&name))?;
            }
            Ok(())
        },
    )?;
    Ok(attention)
}
